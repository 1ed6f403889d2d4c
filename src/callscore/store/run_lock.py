"""Who holds a run: a process that may be gone without having said so."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STARTED_FIELD = 19
"""Of /proc/<pid>/stat after the name, counted from zero: when the process began, in ticks."""


class Holder(msgspec.Struct, frozen=True):
    """The process that works on a run."""

    pid: int
    host: str
    boot_id: str
    started: str
    """Tells a process from a later one with the same number."""
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


def this_process() -> Holder:
    """Ourselves, as the holder of a run."""
    pid = os.getpid()
    return Holder(pid, socket.gethostname(), _boot_id(), _started(pid), now())


def is_gone(holder: Holder) -> bool:
    """Whether the holder has certainly ended; on another machine nobody can know."""
    if holder.host != socket.gethostname():
        return False
    if holder.boot_id != _boot_id():
        return True
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError):  # no process ever had such a number
        return True
    except PermissionError:
        return False
    return holder.started != _started(holder.pid)


def now() -> str:
    """The wall clock, for people to read; nothing is ever calculated from it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name stands in brackets and may itself hold brackets and spaces.
    fields = status.rpartition(")")[2].split()
    return fields[_STARTED_FIELD] if len(fields) > _STARTED_FIELD else ""
