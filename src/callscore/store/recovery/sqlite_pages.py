"""Reads the pages of an SQLite file without SQLite, for damaged files.

Only the parts of the format (sqlite.org/fileformat2.html) that a journal uses: leaf pages of
tables, all pages of indexes, their records with overflow, and the frames of the write-ahead log.
Nothing read here can be trusted; callers must validate it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from callscore.store.connection import log_of

PAGE_BYTES = 4_096
WAL_HEADER = struct.Struct(">8I")
FRAME_HEADER = struct.Struct(">6I")
MAGIC = (0x377F0682, 0x377F0683)
_LEAF_OF_TABLE, _LEAF_OF_INDEX, _INNER_OF_INDEX = 0x0D, 0x0A, 0x02
_HEADER_BYTES = {_LEAF_OF_TABLE: 8, _LEAF_OF_INDEX: 8, _INNER_OF_INDEX: 12}
"""The pages that hold records; an inner page of an index holds some too."""
_CHILD_BYTES = 4
_FILE_HEADER_BYTES = 100
_INT_BYTES = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of an integer by its serial type: SQLite has no integers of 5 and 7 bytes."""
_FLOAT, _ZERO, _ONE, _FIRST_TEXT = 7, 8, 9, 12
_MOST_OVERFLOW = 100_000
"""Pages of one record: a damaged chain may lead back to itself."""

Value = None | int | float | str | bytes
BAD_BYTES = (struct.error, IndexError, ValueError)
"""Exceptions from parsing damaged bytes (UnicodeDecodeError is a ValueError)."""


class SqliteRow(NamedTuple):
    """One record of a table or index."""

    rowid: int | None
    """The row id; None in an index."""
    values: Sequence[Value]


def _map_file(path: Path) -> mmap | bytes:
    """The bytes of a file as a memory map; empty if it is empty or absent."""
    if not path.exists() or not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ)


class LogFrame(NamedTuple):
    """A page in the write-ahead log."""

    offset: int
    page: int
    commits: bool
    """Whether it is the last of a transaction."""


def log_frames(wal: mmap | bytes) -> Iterator[LogFrame]:
    """The frames of the current generation, complete or not; an older one is already in
    the file.
    """
    if len(wal) < WAL_HEADER.size:
        return
    magic, _, size, _, *salts = WAL_HEADER.unpack_from(wal)[:6]
    if magic not in MAGIC or not _is_page_size(size):
        return
    step = FRAME_HEADER.size + size
    for start in range(WAL_HEADER.size, len(wal) - step + 1, step):
        page, commit, *found = FRAME_HEADER.unpack_from(wal, start)[:4]
        if found == salts:
            yield LogFrame(start, page, bool(commit))


class JournalPages:
    """All pages of a journal and of its log, oldest first; later ones are newer versions."""

    def __init__(self, path: Path) -> None:
        self._file = _map_file(path)
        self._wal = _map_file(log_of(path))
        self._size = _page_size(self._file, self._wal)
        self._in_log = list(log_frames(self._wal))
        self._newest = {frame.page: frame.offset for frame in self._in_log}

    def rows(self) -> Iterator[SqliteRow]:
        """Every record that can be read, of any table or index."""
        for start in range(0, len(self._file), self._size):
            page = self._file[start : start + self._size]
            yield from self._rows(page, _FILE_HEADER_BYTES if start == 0 else 0)
        for frame in self._in_log:
            page = self._log_page(frame.offset)
            yield from self._rows(page, _FILE_HEADER_BYTES if frame.page == 1 else 0)

    def _rows(self, page: bytes, header: int) -> Iterator[SqliteRow]:
        kind = page[header] if len(page) > header else 0
        if kind not in _HEADER_BYTES:
            return
        try:
            (cells,) = struct.unpack_from(">H", page, header + 3)
            places = struct.unpack_from(f">{cells}H", page, header + _HEADER_BYTES[kind])
        except struct.error:
            return
        for place in places:
            try:
                yield self._row(page, place, kind)
            except BAD_BYTES:
                continue

    def _row(self, page: bytes, place: int, kind: int) -> SqliteRow:
        if kind == _INNER_OF_INDEX:
            place += _CHILD_BYTES
        length, place = _varint(page, place)
        rowid = None
        if kind == _LEAF_OF_TABLE:
            rowid, place = _varint(page, place)
        held = self._held_in_page(length, kind)
        payload = page[place : place + held]
        if held < length:
            (following,) = struct.unpack_from(">I", page, place + held)
            payload += self._overflow(following, length - held)
        if len(payload) != length:
            raise ValueError
        return SqliteRow(rowid, _record(payload))

    def _held_in_page(self, length: int, kind: int) -> int:
        of_table = kind == _LEAF_OF_TABLE
        most = self._size - 35 if of_table else (self._size - 12) * 64 // 255 - 23
        if length <= most:
            return length
        least = (self._size - 12) * 32 // 255 - 23
        held = least + (length - least) % (self._size - 4)
        return held if held <= most else least

    def _overflow(self, number: int, length: int) -> bytes:
        parts = []
        for _ in range(_MOST_OVERFLOW):
            if length <= 0 or not number:
                break
            page = self._page(number)
            (number,) = struct.unpack_from(">I", page)
            parts.append(page[4 : 4 + length])
            length -= len(parts[-1])
        return b"".join(parts)

    def _page(self, number: int) -> bytes:
        if number in self._newest:
            return self._log_page(self._newest[number])
        start = (number - 1) * self._size
        return self._file[start : start + self._size]

    def _log_page(self, offset: int) -> bytes:
        start = offset + FRAME_HEADER.size
        return self._wal[start : start + self._size]


def _page_size(file: mmap | bytes, wal: mmap | bytes) -> int:
    """The page size of the file, else of its log, else the default."""
    if len(wal) >= WAL_HEADER.size and _is_page_size(size := WAL_HEADER.unpack_from(wal)[2]):
        return int(size)
    if len(file) >= _FILE_HEADER_BYTES:
        (size,) = struct.unpack_from(">H", file, 16)
        if _is_page_size(size):
            return int(size)
    return PAGE_BYTES


def _is_page_size(size: int) -> bool:
    return 512 <= size <= 32_768 and size & (size - 1) == 0


def _varint(page: bytes, place: int) -> tuple[int, int]:
    value = 0
    for step in range(8):
        byte = page[place + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + step + 1
    return value << 8 | page[place + 8], place + 9


def _record(payload: bytes) -> list[Value]:
    end, place = _varint(payload, 0)
    kinds = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values: list[Value] = []
    place = end
    for kind in kinds:
        size = _bytes_of(kind)
        values.append(_value(kind, payload[place : place + size]))
        place += size
    return values


def _bytes_of(kind: int) -> int:
    if kind >= _FIRST_TEXT:
        return (kind - _FIRST_TEXT) // 2
    if kind == _FLOAT:
        return 8
    return 0 if kind in (_ZERO, _ONE) else _INT_BYTES[kind]


def _value(kind: int, raw: bytes) -> Value:
    if kind == 0:
        return None
    if kind in (_ZERO, _ONE):
        return kind - _ZERO
    if kind == _FLOAT:
        number: float = struct.unpack(">d", raw)[0]
        return number
    if kind < _FIRST_TEXT:
        return int.from_bytes(raw, "big", signed=True)
    return raw.decode() if kind % 2 else raw
