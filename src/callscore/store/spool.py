"""Values kept in a temporary file: written once, read from the first as often as needed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)
BLOCK_BYTES = 1 << 20


class Spool(Generic[T]):
    """Structs of one type, one JSON line each, in a file that only this process can open."""

    def __init__(self, kind: type[T]) -> None:
        self._file = tempfile.TemporaryFile(prefix="callscore-")  # noqa: SIM115  closed by __exit__
        self._encode = msgspec.json.Encoder().encode_into
        self._decode = msgspec.json.Decoder(kind).decode
        self._buffer = bytearray()
        self._number = 0
        self._written = 0

    def __enter__(self) -> Spool[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def add(self, value: T) -> None:
        """Write one more value; all are added before the first is read."""
        self.put(value)

    def put(self, value: T) -> int:
        """The same; the place of the value, for `at`."""
        place = self._written + len(self._buffer)
        self._encode(value, self._buffer, -1)
        self._buffer += b"\n"
        self._number += 1
        if len(self._buffer) > BLOCK_BYTES:
            self._flush()
        return place

    def at(self, place: int) -> T:
        """The value that `put` wrote at a place."""
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
        """Every value in order; several readers may read at the same time."""
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
