"""The process that holds a run; it may have ended without releasing it."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STARTED_FIELD = 19
"""The field of /proc/<pid>/stat after the name, counted from zero: the start of the process, in
ticks."""


class Holder(msgspec.Struct, frozen=True):
    """The process that holds a run."""

    pid: int
    host: str
    boot_id: str
    started: str
    """Distinguishes a process from a later one with the same number."""
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


def this_process() -> Holder:
    """This process as a holder."""
    pid = os.getpid()
    return Holder(pid, socket.gethostname(), _boot_id(), _started(pid), now())


def is_gone(holder: Holder) -> bool:
    """Whether the holder has certainly ended; unknown on another machine."""
    if holder.host != socket.gethostname():
        return False
    if holder.boot_id != _boot_id():
        return True
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError):  # an impossible process number
        return True
    except PermissionError:
        return False
    return holder.started != _started(holder.pid)


def now() -> str:
    """The wall clock, for display; never used in calculations."""
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
    # The name is in brackets and may contain brackets and spaces.
    fields = status.rpartition(")")[2].split()
    return fields[_STARTED_FIELD] if len(fields) > _STARTED_FIELD else ""
