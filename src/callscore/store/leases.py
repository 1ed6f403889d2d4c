"""Requests under way, seen by every process with the same store: locks on bytes of one file.

The kernel drops the locks of a process when it ends, however it ends, so a killed one blocks
nobody. A lock costs a system call, not a transaction.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks on this system: then nobody is waited for
    fcntl = None  # type: ignore[assignment]

_COUNTER = struct.Struct("<Q")
_OPENING, _PRESENT = 0, 1
"""Bytes that are locked: while a process enters, and as long as it is there."""
_FIRST_KEY = 64
_KEY_BYTES = 7
_FLOCK = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, process."""


class Leases:
    """The requests that this process has under way, and whether another has one of them."""

    def __init__(self, store: Path) -> None:
        """Enter; where the system has no such locks, every request is free."""
        self._held: set[bytes] = set()
        self._handle: int | None = None
        self._number = b""
        self._alone = True
        if fcntl is not None and hasattr(fcntl, "F_OFD_SETLK"):
            with suppress(OSError):  # a file system without locks
                self._enter(store.with_name(f"{store.name}-leases"))

    def _enter(self, path: Path) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(handle, _OPENING, wait=True)
            self._alone = not _is_locked_by_others(handle, _PRESENT)
            raw = os.pread(handle, _COUNTER.size, 0).ljust(_COUNTER.size, b"\0")
            self._number = _COUNTER.pack((_COUNTER.unpack(raw)[0] + 1) % 2**64)
            os.pwrite(handle, self._number, 0)
            _share(handle, _PRESENT)
            _unlock(handle, _OPENING)
        except OSError:
            os.close(handle)
            raise
        self._handle = handle

    @property
    def alone(self) -> bool:
        """Whether no other process can have written to the store since this one entered."""
        if self._alone and self._handle is not None:
            self._alone = os.pread(self._handle, _COUNTER.size, 0) == self._number
        return self._alone

    def take(self, key: bytes) -> bool:
        """Hold a request; False where another process holds it."""
        if self._handle is not None and not _lock(self._handle, _place(key)):
            return False
        self._held.add(key)
        return True

    def release(self, key: bytes) -> None:
        """Let a request go; one that is not held stays as it is."""
        if key in self._held:
            self._held.discard(key)
            if self._handle is not None:
                _unlock(self._handle, _place(key))

    def close(self) -> None:
        """Let everything go."""
        self._held.clear()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _place(key: bytes) -> int:
    """The byte that stands for a request; two may share one, and then wait for each other."""
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
