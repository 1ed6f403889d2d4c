"""Paid replies that could not be written yet: in a file on this machine, until they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from callscore.core.errors import StoreError
from callscore.store.files import make_private_folder

if TYPE_CHECKING:
    from callscore.store.postgres.rows import Paid
    from callscore.store.postgres.url import DatabaseUrl

try:
    import fcntl
except ImportError:  # a file of a living process could be read twice; its rows are written once
    fcntl = None  # type: ignore[assignment]

_encode = msgspec.msgpack.Encoder().encode
_LENGTH = 4


class Spill:
    """The file of one process; it exists only while it has replies."""

    def __init__(self, url: DatabaseUrl) -> None:
        name = f"unwritten-{url.database_digest}-{uuid4().hex}.replies"
        self.path = url.parent / name
        self._file: int | None = None
        self._one_at_a_time = Lock()
        self._unwritten: set[tuple[bytes, int]] = set()

    def add(self, paid: Sequence[Paid]) -> None:
        """Write replies to the file, unless they are in it; returns when they are durable."""
        with self._one_at_a_time:
            self._add(paid)

    def _add(self, paid: Sequence[Paid]) -> None:
        new = [row for row in paid if (row.key, row.worker) not in self._unwritten]
        if not new:
            return
        try:
            if self._file is None:
                make_private_folder(self.path.parent)
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                _lock(self._file)
            raw = b"".join(len(raw).to_bytes(_LENGTH, "big") + raw for raw in map(_encode, new))
            _append(self._file, raw)
        except OSError as error:
            raise StoreError(
                f"{self.path}: cannot be written: {error.strerror}; the database cannot be reached,"
                f" so {len(new)} paid replies are kept nowhere"
            ) from None
        self._unwritten.update((row.key, row.worker) for row in new)

    def discard(self, paid: Sequence[Paid]) -> None:
        """Forget replies that are written; delete the file after the last one."""
        with self._one_at_a_time:
            self._unwritten.difference_update((row.key, row.worker) for row in paid)
            if self._file is not None and not self._unwritten:
                self.path.unlink(missing_ok=True)
                self.close()

    @property
    def unwritten(self) -> int:
        """The number of replies that only the file has."""
        return len(self._unwritten)

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _append(file: int, raw: bytes) -> None:
    """Append all of the bytes or none of them; returns when they are durable."""
    size, left = os.fstat(file).st_size, memoryview(raw)
    try:
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)  # what follows a torn reply could not be read
        raise


def left_behind(url: DatabaseUrl) -> Iterator[tuple[Path, list[Paid]]]:
    """The files for this database of processes that have ended, and their replies.

    A torn end is left out.
    """
    from callscore.store.postgres.rows import Paid

    decode = msgspec.msgpack.Decoder(Paid).decode
    for path in sorted(url.parent.glob(f"unwritten-{url.database_digest}-*.replies")):
        with path.open("rb") as file:
            if not _lock(file.fileno()):
                continue
            found = []
            while len(length := file.read(_LENGTH)) == _LENGTH:
                size = int.from_bytes(length, "big")
                raw = file.read(size)
                if len(raw) < size:
                    break
                try:
                    found.append(decode(raw))
                except msgspec.MsgspecError:
                    raise StoreError(f"{path}: is not a file of unwritten replies") from None
            yield path, found


def _lock(file: int) -> bool:
    """Lock a file while it is open; False if a living process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
