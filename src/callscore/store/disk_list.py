"""A list in a temporary file, for results that do not fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)
BLOCK_BYTES = 1 << 20


class DiskList(Generic[T]):
    """Structs of one type, as JSON lines in a file without a name.

    Values are appended first; then they can be iterated any number of times.
    """

    def __init__(self, kind: type[T]) -> None:
        self._file = tempfile.TemporaryFile(prefix="callscore-")  # noqa: SIM115  closed by __exit__
        self._encode = msgspec.json.Encoder().encode_into
        self._decode = msgspec.json.Decoder(kind).decode
        self._buffer = bytearray()
        self._number = 0
        self._written = 0

    def __enter__(self) -> DiskList[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def add(self, value: T) -> None:
        """Append a value."""
        self.put(value)

    def put(self, value: T) -> int:
        """Append a value; returns its place, for `at`."""
        place = self._written + len(self._buffer)
        self._encode(value, self._buffer, -1)
        self._buffer += b"\n"
        self._number += 1
        if len(self._buffer) > BLOCK_BYTES:
            self._flush()
        return place

    def at(self, place: int) -> T:
        """The value at a place that `put` returned."""
        self._flush()
        self._file.seek(place)
        return self._decode(self._file.readline())

    def _flush(self) -> None:
        if not self._buffer:
            return
        self._file.seek(self._written)
        self._file.write(self._buffer)
        self._written += len(self._buffer)
        self._buffer = bytearray()

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[T]:
        """Every value in order; several iterators can be used at the same time."""
        self._flush()
        at = 0
        while True:
            self._file.seek(at)
            block = self._file.read(BLOCK_BYTES)
            if not block:
                return
            if not block.endswith(b"\n"):
                block += self._file.readline()
            at += len(block)
            yield from map(self._decode, block.splitlines())
