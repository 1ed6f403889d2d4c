"""Lists in temporary files, for what does not fit into memory."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, Generic, Literal, TypeVar, overload
from weakref import finalize

import msgspec

from callscore.core.blocks import part_size

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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


IN_BLOCK = 4_096
"""Texts or numbers that are written and read together."""
MANY = 1 << 16
"""More are in a file."""


class DiskNumbers(Sequence[int]):
    """Whole numbers of 64 bits, in a temporary file except for at most `most`.

    They are appended first; the file is read in blocks, which suits access in order. In another
    process they are in memory.
    """

    def __init__(
        self, numbers: Iterable[int] = (), most: int = MANY, typecode: Literal["q", "Q"] = "q"
    ) -> None:
        self._most, self._typecode = most, typecode
        self._last = array(typecode)
        self._file: BinaryIO | None = None
        self._in_file = 0
        self._first, self._read = 0, array(typecode)
        """The block that was read last, and the index of its first number."""
        self.extend(numbers)

    def extend(self, numbers: Iterable[int]) -> None:
        """Append numbers."""
        self._last.extend(numbers)
        if len(self._last) > self._most:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="callscore-")  # noqa: SIM115  below
                finalize(self, self._file.close)
            self._file.seek(8 * self._in_file)
            self._file.write(self._last)
            self._in_file += len(self._last)
            self._last = array(self._typecode)

    def __reduce__(self) -> tuple[object, ...]:
        return array, (self._typecode, self[:])

    def __len__(self) -> int:
        return self._in_file + len(self._last)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> array[int]: ...
    def __getitem__(self, at: int | slice) -> int | array[int]:
        if isinstance(at, slice):
            begin, end, _ = at.indices(len(self))
            in_file = self._from_file(begin, min(end, self._in_file))
            return in_file + self._last[max(begin - self._in_file, 0) : max(end - self._in_file, 0)]
        if at >= self._in_file:
            return self._last[at - self._in_file]
        if not 0 <= at - self._first < len(self._read):
            self._first = at - at % IN_BLOCK
            self._read = self._from_file(self._first, min(self._first + IN_BLOCK, self._in_file))
        return self._read[at - self._first]

    def _from_file(self, begin: int, end: int) -> array[int]:
        numbers = array(self._typecode)
        if self._file is not None and begin < end:
            self._file.seek(8 * begin)
            numbers.frombytes(self._file.read(8 * (end - begin)))
        return numbers


SORTED_AT_ONCE = 1 << 17
"""Numbers that are sorted together."""


def sort_numbers(
    keys: Sequence[int], values: Sequence[int], at_once: int = SORTED_AT_ONCE
) -> tuple[DiskNumbers, DiskNumbers]:
    """Keys in ascending order, and the value of each; equal keys keep their order.

    One range of keys after another is sorted, so that memory hardly grows with their number; only
    tests sort fewer `at_once`.
    """
    import numpy as np

    def parts(numbers: Sequence[int]) -> Iterator[npt.NDArray[np.int64]]:
        for at in range(0, len(numbers), at_once):
            yield np.asarray(numbers[at : at + at_once], np.int64)

    in_order, of_each = DiskNumbers(), DiskNumbers()
    lowest = min(int(part.min()) for part in parts(keys))
    highest = max(int(part.max()) for part in parts(keys))
    ranges = max(1, -(-len(keys) // part_size(len(keys), at_once)))
    width = (highest - lowest) // ranges + 1
    for low in range(lowest, highest + 1, width):
        found = []
        for part, given in zip(parts(keys), parts(values), strict=True):
            chosen = (part >= low) & (part <= min(low + width - 1, highest))
            found.append((part[chosen], given[chosen]))
        some, their_values = (np.concatenate(side) for side in zip(*found, strict=True))
        order = np.argsort(some, kind="stable")
        in_order.extend(array("q", some[order].tobytes()))
        of_each.extend(array("q", their_values[order].tobytes()))
    return in_order, of_each


class DiskTexts(Sequence[str]):
    """Texts, in a temporary file except for the last ones; threads can share them."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._last: list[str] = []
        self._starts = array("Q", [0])
        """Where each block begins in the file, and the last one ends."""
        self._file = tempfile.TemporaryFile(prefix="callscore-")  # noqa: SIM115  see finalize
        finalize(self, self._file.close)
        self._lock = Lock()
        self._read: tuple[int, list[str]] = (-1, [])
        """The block that was read last, and its number."""
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        """Append a text."""
        self._last.append(text)
        if len(self._last) == IN_BLOCK:
            with self._lock:
                self._file.seek(self._starts[-1])
                self._file.write(msgspec.json.encode(self._last))
                self._starts.append(self._file.tell())
                self._last = []

    def __len__(self) -> int:
        return (len(self._starts) - 1) * IN_BLOCK + len(self._last)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        block, place = divmod(range(len(self))[at], IN_BLOCK)
        return self._block(block)[place]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self._block, range(len(self._starts))))

    def _block(self, number: int) -> list[str]:
        with self._lock:
            if number == len(self._starts) - 1:
                return self._last
            if number != self._read[0]:
                begin, end = self._starts[number : number + 2]
                self._file.seek(begin)
                texts = msgspec.json.decode(self._file.read(end - begin), type=list[str])
                self._read = (number, texts)
            return self._read[1]
