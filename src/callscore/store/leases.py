"""Requests in flight, shared between processes: locks on bytes of one file.

The kernel drops the locks of a process when it ends, so a killed process blocks no other. A lock
costs a system call, not a transaction. The file also holds the most that the requests of a process
may cost, which may be billed if it is killed.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # without such locks, no process waits for another
    fcntl = None  # type: ignore[assignment]

_HAS_LOCKS = fcntl is not None and hasattr(fcntl, "F_OFD_SETLK")
_COUNTER = struct.Struct("<Q")
_OPENING, _PRESENT = 0, 1
"""The bytes that are locked while a process joins, and while it is present."""
_SLOTS_AT = 4_096
_SLOT = struct.Struct("<qd")
"""Per process: its run, and what its requests in flight may cost."""
_MOST_SLOTS = 1_024
_FIRST_KEY = 1 << 20
_KEY_BYTES = 7
"""A key is locked as one byte of the file, at its first bytes: places have 63 bits."""
_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


class Leases:
    """The requests that this process has in flight, and whether another process has them."""

    def __init__(self, store: Path, run_id: int = 0) -> None:
        """Join; on a system without such locks, every request is free."""
        self._held: dict[bytes, float] = {}
        self._run_id = run_id
        self._slot: int | None = None
        self._handle: int | None = None
        self._number = b""
        self._alone = True
        if _HAS_LOCKS:
            with suppress(OSError):  # a file system without locks
                self._enter(_file_of(store))

    def _enter(self, path: Path) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(handle, _OPENING, wait=True)
            self._alone = not _is_locked_by_others(handle, _PRESENT)
            raw = os.pread(handle, _COUNTER.size, 0).ljust(_COUNTER.size, b"\0")
            self._number = _COUNTER.pack((_COUNTER.unpack(raw)[0] + 1) % 2**64)
            os.pwrite(handle, self._number, 0)
            _share(handle, _PRESENT)
            self._slot = _free_slot(handle)
            _unlock(handle, _OPENING)
        except OSError:
            os.close(handle)
            raise
        self._handle = handle

    @property
    def is_alone(self) -> bool:
        """Whether no other process can have written to the store since this one joined."""
        if self._alone and self._handle is not None:
            self._alone = os.pread(self._handle, _COUNTER.size, 0) == self._number
        return self._alone

    def take(self, key: bytes, most_usd: float = 0.0) -> bool:
        """Lock a request that may cost this much; False if another process holds it."""
        if self._handle is not None and not _lock(self._handle, _place(key)):
            return False
        self._held[key] = most_usd
        self._note()
        return True

    def release(self, key: bytes) -> None:
        """Release a request; does nothing if it is not held."""
        if key in self._held:
            del self._held[key]
            self._note()
            if self._handle is not None:
                _unlock(self._handle, _place(key))

    def is_held_by_another(self, key: bytes) -> bool:
        """Whether another process has this request in flight."""
        return self._handle is not None and _is_locked_by_others(self._handle, _place(key))

    def close(self) -> None:
        """Release everything."""
        self._held.clear()
        self._note()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _note(self) -> None:
        """Record what is in flight; it must survive the process, not the machine."""
        if self._handle is not None and self._slot is not None and self._run_id:
            slot = _SLOT.pack(self._run_id, math.fsum(self._held.values()))
            os.pwrite(self._handle, slot, self._slot)


@contextmanager
def take_abandoned(store: Path) -> Iterator[Sequence[tuple[float, int]]]:
    """What requests of killed processes may cost, by run; deleted after the block."""
    handle = None
    if _HAS_LOCKS:
        with suppress(OSError):
            handle = os.open(_file_of(store), os.O_RDWR | os.O_CLOEXEC)
    if handle is None:
        yield ()
        return
    try:
        _lock(handle, _OPENING, wait=True)
        found = _abandoned_slots(handle)
        yield list(found.values())
        for slot in found:
            os.pwrite(handle, bytes(_SLOT.size), slot)
    finally:
        os.close(handle)


def _abandoned_slots(handle: int) -> dict[int, tuple[float, int]]:
    """Slots of processes that have ended, and that are not empty."""
    found = {}
    for slot in _slots(os.fstat(handle).st_size):
        run_id, usd = _read_slot(handle, slot)
        if run_id > 0 and 0 < usd < math.inf and _lock(handle, slot):
            found[slot] = (usd, run_id)
    return found


def _free_slot(handle: int) -> int | None:
    """A slot for this process; None if all are taken."""
    for slot in _slots(_SLOTS_AT + _MOST_SLOTS * _SLOT.size):
        if _read_slot(handle, slot)[1] == 0 and _lock(handle, slot):
            return slot
    return None


def _slots(end: int) -> range:
    return range(_SLOTS_AT, min(end, _SLOTS_AT + _MOST_SLOTS * _SLOT.size), _SLOT.size)


def _read_slot(handle: int, slot: int) -> tuple[int, float]:
    run_id, usd = _SLOT.unpack(os.pread(handle, _SLOT.size, slot).ljust(_SLOT.size, b"\0"))
    return run_id, usd


def _file_of(store: Path) -> Path:
    return store.with_name(f"{store.name}-leases")


def _place(key: bytes) -> int:
    """The byte of a request; two requests may share one, and then wait for each other."""
    return _FIRST_KEY + int.from_bytes(key[:_KEY_BYTES], "big")


def _lock(handle: int, byte: int, *, wait: bool = False) -> bool:
    command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
    try:
        fcntl.fcntl(handle, command, _flock(fcntl.F_WRLCK, byte))
    except (BlockingIOError, PermissionError):
        return False
    return True


def _share(handle: int, byte: int) -> None:
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _flock(fcntl.F_RDLCK, byte))


def _unlock(handle: int, byte: int) -> None:
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _flock(fcntl.F_UNLCK, byte))


def _is_locked_by_others(handle: int, byte: int) -> bool:
    found = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, _flock(fcntl.F_WRLCK, byte))
    return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)


def _flock(kind: int, byte: int) -> bytes:
    return _FLOCK.pack(kind, os.SEEK_SET, byte, 1, 0)
