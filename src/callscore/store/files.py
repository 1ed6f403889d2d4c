"""JSON Lines: read as a stream, indexed by position, written atomically."""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import accumulate, islice
from operator import le
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from callscore.core.errors import DataError, StoreError, UsageError
from callscore.store.address import StoreAddress
from callscore.store.disk_list import IN_BLOCK, MANY, DiskNumbers, sort_numbers
from callscore.store.remote_files import check_new_place, is_remote, shown

MAX_LINE_BYTES = 50_000_000
BLOCK_BYTES = 1 << 16
"""Bytes read at once; the last line of a block is read to its end."""
_O_TMPFILE: int = getattr(os, "O_TMPFILE", 0)
"""Opens a file without a name; 0 if the system does not support it."""
_OPEN_FILES = "/proc/self/fd"
_OFFSET_BITS = 48
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(msgspec.Struct, frozen=True, gc=False):
    """One non-empty line of a file and its position."""

    path: Path
    number: int
    offset: int
    raw: bytes

    @property
    def place(self) -> str:
        """`file:line`, as errors print it."""
        return f"{shown(self.path)}:{self.number}"


class Block(msgspec.Struct, frozen=True, gc=False):
    """Consecutive lines of a file, including empty ones."""

    path: Path
    number: int
    """The number of the first line."""
    offset: int
    lines: Sequence[bytes]


class RecordFile(msgspec.Struct, frozen=True):
    """A file that is not JSON Lines, and its records as such lines: bytes, or a file with them."""

    path: Path
    lines: bytes | Path


Source = Path | RecordFile
"""A file of JSON Lines, or one of another form with its records."""


def path_of(source: Source) -> Path:
    """The path of a source."""
    return source.path if isinstance(source, RecordFile) else source


def open_lines(source: Source) -> BinaryIO:
    """Open the lines of a source for reading; raises UsageError."""
    lines = source.lines if isinstance(source, RecordFile) else source
    return open_for_reading(lines) if isinstance(lines, Path) else BytesIO(lines)


class LineStart(NamedTuple):
    """Where a line begins."""

    source: int = 0
    """The index of its file."""
    number: int = 1
    offset: int = 0


BEGIN = LineStart()


def lines_of(sources: Sequence[Source], start: LineStart = BEGIN) -> Iterator[Line]:
    """Every non-empty line of the files, in order, from the first or from another one."""
    for block in blocks_of(sources, start):
        yield from lines_in(block)


def lines_in(block: Block) -> Iterator[Line]:
    """Every non-empty line of a block, in order."""
    path, number, offset = block.path, block.number, block.offset
    for raw in block.lines:
        if not raw.isspace():
            yield Line(path, number, offset, raw)
        number += 1
        offset += len(raw)


def blocks_of(sources: Sequence[Source], start: LineStart = BEGIN) -> Iterator[Block]:
    """All lines of the files, in order, in blocks."""
    for source in sources[start.source :]:
        _, number, offset = start
        start = BEGIN
        with open_lines(source) as file:
            try:
                if offset:  # a pipe cannot seek
                    file.seek(offset)
                yield from _blocks(path_of(source), file, number, offset)
            except OSError as error:
                raise _read_error(path_of(source), error) from None


def _blocks(path: Path, file: BinaryIO, number: int, offset: int) -> Iterator[Block]:
    while raw := file.read(BLOCK_BYTES):
        if not raw.endswith(b"\n"):
            # A line that is too long is not read to its end.
            raw += file.readline(MAX_LINE_BYTES + 1)
        if offset == 0 and raw.startswith(BYTE_ORDER_MARK):
            offset, raw = len(BYTE_ORDER_MARK), raw[len(BYTE_ORDER_MARK) :]
        lines = BytesIO(raw).readlines()
        if number == 1 and not raw.startswith(b'{"'):
            from callscore.store.input_records import refuse_other_formats

            refuse_other_formats(path, raw)
        if len(raw) > MAX_LINE_BYTES:
            _refuse_long_lines(path, number, lines)
        yield Block(path, number, offset, lines)
        number += len(lines)
        offset += len(raw)


def _refuse_long_lines(path: Path, number: int, lines: Sequence[bytes]) -> None:
    for raw in lines:
        if len(raw) > MAX_LINE_BYTES:
            raise DataError(
                f"a line of more than {MAX_LINE_BYTES} bytes; expected fewer",
                place=f"{path}:{number}",
            )
        number += 1


def open_for_reading(path: Path) -> BinaryIO:
    """Open a file for reading; raises UsageError."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: is a folder; expected a JSONL file") from None
    except OSError as error:
        raise _read_error(path, error) from None


def _read_error(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be read: {error.strerror}")


class LinesByKey:
    """The positions of the lines of each key: files in any order are never held in memory.

    A key is a small integer (the position of a case). Keys and positions are sorted once. They take
    16 bytes per line, in a temporary file if there are many.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._numbers: dict[Path, int] = {}
        for number, source in enumerate(sources):
            self._numbers[path_of(source)] = number
        self._keys: array[int] | DiskNumbers = array("q")
        self._places: array[int] | DiskNumbers = array("q")
        self._most = MANY
        self._readers: dict[int, _Reader] = {}
        self._first, self._window = 0, (self._keys, self._places)
        """What is in memory of both, and the index where it begins."""
        self._after = 0
        """Index in it after the last lookup: keys in ascending order need no search."""
        self._last = 0
        """The key that was added last."""
        self._sorted = True

    def add(self, key: int, line: Line) -> None:
        """Record that this line belongs to this key."""
        self._sorted = self._sorted and self._last <= key
        self._last = key
        self._keys.extend((key,))
        self._places.extend((self._numbers[line.path] << _OFFSET_BITS | line.offset,))
        if len(self._keys) > self._most:
            self._to_disk()

    def add_block(self, keys: Sequence[int], block: Block) -> None:
        """Record to which key each line of a block belongs."""
        self._sorted = self._sorted and self._last <= keys[0] and sorted(keys) == keys
        self._last = keys[-1]
        self._keys.extend(keys)
        place = self._numbers[block.path] << _OFFSET_BITS | block.offset
        self._places.extend(islice(accumulate(map(len, block.lines), initial=place), len(keys)))
        if len(self._keys) > self._most:
            self._to_disk()

    def _to_disk(self) -> None:
        self._keys, self._places = DiskNumbers(self._keys), DiskNumbers(self._places)
        self._first, self._window, self._after = 0, (array("q"), array("q")), 0
        self._most = sys.maxsize

    def renumber(self, keys: array[int]) -> None:
        """Replace the keys of all lines, in the order in which they were added."""
        self._use(keys, self._places[:])
        self._sorted = all(map(le, keys, islice(keys, 1, None)))

    def _use(self, keys: array[int], places: array[int]) -> None:
        self._keys, self._places = keys, places
        self._first, self._window, self._after, self._most = 0, (keys, places), 0, MANY
        if len(keys) > MANY:
            self._to_disk()

    def lines(self, key: int) -> list[Line]:
        """The lines of a key, in the order in which they were added; they carry no line number."""
        if not self._sorted:
            self._sort()
        if self._after == len(self._window[0]) < len(self._keys):
            self._after = self._load(self._first + self._after)
        (keys, places), at = self._window, self._after
        if (at < len(keys) and keys[at] < key) or (keys[at - 1] >= key if at else self._first):
            if len(keys) == len(self._keys):
                at = bisect_left(keys, key)
            else:
                at = self._load(bisect_left(self._keys, key))
                keys, places = self._window
        found = []
        while at < len(keys) and keys[at] == key:
            found.append(self._read(places[at]))
            at += 1
            if at == len(keys) < len(self._keys):
                at = self._load(self._first + at)
                keys, places = self._window
        self._after = at
        return found

    def _load(self, first: int) -> int:
        """Read keys and places from an index on; returns the place of that in the window."""
        end = first + IN_BLOCK
        self._first, self._window = first, (self._keys[first:end], self._places[first:end])
        return 0

    def between(self, first: int, end: int) -> LinesByKey:
        """The lines of the keys from `first` to before `end`, as an index of its own in memory."""
        if not self._sorted:
            self._sort()
        part = LinesByKey(self._sources)
        begin, after = bisect_left(self._keys, first), bisect_left(self._keys, end)
        keys, places = self._keys[begin:after], self._places[begin:after]
        part._keys, part._places = part._window = keys, places
        return part

    def held(self) -> LinesByKey:
        """The same lines in memory, for a machine without the files."""
        if not self._sorted:
            self._sort()
        parts = [bytearray() for _ in self._sources]
        places = array("q")
        for place in self._places[:]:
            number = place >> _OFFSET_BITS
            places.append(number << _OFFSET_BITS | len(parts[number]))
            raw = self._read(place).raw
            parts[number] += raw if raw.endswith(b"\n") else raw + b"\n"
        sources = zip(map(path_of, self._sources), map(bytes, parts), strict=True)
        copy = LinesByKey([RecordFile(path, lines) for path, lines in sources])
        copy._keys, copy._places = copy._window = self._keys[:], places
        return copy

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers.values():
            reader.file.close()
        self._readers.clear()

    def _sort(self) -> None:
        keys, places = self._keys, self._places
        if len(keys) > MANY:
            self._keys, self._places = sort_numbers(keys, places)
            self._first, self._window, self._after = 0, (array("q"), array("q")), 0
        else:
            order = sorted(range(len(keys)), key=keys.__getitem__)
            self._use(array("q", (keys[i] for i in order)), array("q", (places[i] for i in order)))
        self._sorted = True

    def _read(self, place: int) -> Line:
        number, offset = place >> _OFFSET_BITS, place & _OFFSET_MASK
        reader = self._readers.get(number)
        if reader is None:
            source = self._sources[number]
            reader = self._readers[number] = _Reader(path_of(source), open_lines(source))
        try:
            if reader.at != offset:
                reader.file.seek(offset)
            raw = reader.file.readline()
        except OSError as error:
            raise _read_error(reader.path, error) from None
        reader.at = offset + len(raw)
        return Line(reader.path, 0, offset, raw)


class _Reader:
    """A file from which single lines are read, and its position.

    Lines in order are read without seeking.
    """

    __slots__ = ("at", "file", "path")

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.file = file
        self.at = 0


def with_line_number(line: Line) -> Line:
    """The line with its line number; slow, so used for error messages only."""
    with open_for_reading(line.path) as file:
        number = file.read(line.offset).count(b"\n") + 1
    return msgspec.structs.replace(line, number=number)


def check_targets(targets: Iterable[Path | None], inputs: Iterable[StoreAddress]) -> None:
    """Refuse files that cannot be written, before any work: inputs, folders, one file
    given twice.
    """
    taken = {path.resolve(): "is read by this command" for path in inputs if isinstance(path, Path)}
    for target in targets:
        if target is None or is_special(target):
            continue
        place = target.resolve()
        if place in taken:
            raise UsageError(f"{target}: {taken[place]}; expected another file to write to")
        taken[place] = "is written by two options"
        temporary = _new_temporary(target)
        os.close(temporary.handle)
        if temporary.has_name:
            temporary.path.unlink()


def check_new_folder(path: Path) -> None:
    """Refuse a folder that exists: its files would mix with those of another report."""
    if is_remote(path):
        check_new_place(path)
    elif path.exists():
        raise UsageError(f"{path}: exists; expected the name of a new folder")


class _Temporary(NamedTuple):
    """A new file in the target folder: renaming is atomic within a file system."""

    handle: int
    path: Path
    """Its name, or the one it gets briefly when it is complete."""
    has_name: bool


def make_private_folder(path: Path) -> None:
    """Create a folder, and those around it that do not exist, for its owner only."""
    if not path.is_dir():
        if path.parent != path:
            make_private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def _new_temporary(path: Path, mode: int = 0o666) -> _Temporary:
    """A file without a name if possible: a killed process then leaves none behind."""
    try:
        if path.is_dir():
            raise StoreError(f"{path}: cannot be written: is a folder")
        name = path.parent / f".{path.name[:20]}.{os.urandom(8).hex()}"
        # The umask decides who may read it.
        if _O_TMPFILE and Path(_OPEN_FILES).is_dir():
            with suppress(OSError):  # the file system does not support unnamed files
                handle = os.open(path.parent, os.O_WRONLY | _O_TMPFILE, mode)
                return _Temporary(handle, name, has_name=False)
        # Always a new file, whatever has this name.
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
    return _Temporary(handle, name, has_name=True)


def _link(temporary: _Temporary) -> None:
    folder = os.open(_OPEN_FILES, os.O_RDONLY)
    try:
        # With a folder as the source, the link refers to the open file, not to its entry there.
        os.link(str(temporary.handle), temporary.path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


@contextmanager
def atomic_write(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only when it is complete.

    Only its owner may read a private file; else the umask decides.

    A pipe or a device is written to, not replaced. A symbolic link is replaced, so that its target
    is not overwritten (S-05).
    """
    try:
        with path.open("wb") if is_special(path) else _replace_file(path, private) as file:
            yield file
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def _replace_file(path: Path, private: bool) -> Iterator[BinaryIO]:
    temporary = _new_temporary(path, 0o600 if private else 0o666)
    try:
        with os.fdopen(temporary.handle, "wb") as file:
            yield file
            file.flush()
            with suppress(FileNotFoundError):  # keep the permissions of the file that is replaced
                if not private:
                    os.fchmod(temporary.handle, path.stat().st_mode & 0o777)
            os.fsync(temporary.handle)
            if not temporary.has_name:
                _link(temporary)
        temporary.path.replace(path)
        _sync_folder(path.parent)
    finally:
        with suppress(FileNotFoundError):
            temporary.path.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name durable too, if the system can sync folders."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_special(path: Path) -> bool:
    """Whether the path is a pipe or a device, which cannot be replaced."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except OSError:  # an impossible name, such as one of 300 letters; opening it raises the error
        return False
