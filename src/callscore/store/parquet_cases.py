"""Cases in Parquet: their rows become lines of JSON in a temporary copy, read as every case file.

A column is a key of the case. Row n is line n, so that errors name `file:row`. Cases are read
several times, and by processes: a file on another machine is therefore read once, into such a copy.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError, MissingExtra
from callscore.store.remote_files import (
    RemoteFile,
    download,
    find_files,
    first_line,
    is_remote,
    shown,
)

SUFFIX = ".parquet"
JSON_KEYS = frozenset(Case.__struct_fields__) - {"id", "task", "call_id", "lang", "question"}
"""Keys whose value is not always text: text that is JSON is read as JSON."""
OTHER, HASH = "other", "sha256"
"""Columns of an export: keys of the user as JSON, and the hash of the case."""
ROWS_AT_ONCE = 256
INDEX = "__index_level_"
"""The beginning of the columns in which pandas keeps an index."""


def is_parquet(path: Path) -> bool:
    """Whether a case file is one of Parquet, by its name or as a folder, or is at a URL."""
    return (
        path.suffix.lower() == SUFFIX
        or (path.is_dir() and bool(_parts_in_folder(path)))
        or (":" in str(path) and is_remote(path))
    )


def parquet_lines(cases: Sequence[Path]) -> tuple[Sequence[Path], Mapping[Path, Path]]:
    """The case files, with those in folders, and by file of Parquet its rows as lines."""
    files: list[Path] = []
    lines: dict[Path, Path] = {}
    for path in cases:
        if is_remote(path):
            remote = find_files(path, SUFFIX)
            files += (file.path for file in remote)
            lines |= {file.path: _copy(file.path, file.stamp, file) for file in remote}
        else:
            local = _parts_in_folder(path) or [path]
            files += local
            lines |= {
                file: _copy(file, file.stat().st_mtime_ns) for file in local if _is_table(file)
            }
    return files, lines


def original_of(path: Path) -> Path:
    """The file itself, or the copy of a remote file that was read."""
    return _COPIES[path].original if path in _COPIES else path


def version_of(path: Path) -> str:
    """What changes with a remote file that was read; a web server says no time of a change."""
    copy = _COPIES[path]
    if copy.stamp is not None:
        return str(copy.stamp)
    with copy.original.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == SUFFIX and path.exists()


def _parts_in_folder(folder: Path) -> Sequence[Path]:
    """The parts of a table in a folder, as other programs write it."""
    found = sorted(folder.rglob(f"*{SUFFIX}")) if folder.is_dir() else []
    return [part for part in found if part.is_file()]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """The folder of all copies, which is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="callscore-")


class _Copy(NamedTuple):
    """A file of Parquet on this machine, and its rows as lines."""

    stamp: object
    original: Path
    lines: Path


_COPIES: dict[Path, _Copy] = {}


def _copy(path: Path, stamp: object, remote: RemoteFile | None = None) -> Path:
    """The rows of a file as lines; a file whose stamp has changed is read again."""
    known = _COPIES.get(path)
    if known is None or known.stamp != stamp:
        lines = Path(_folder().name) / f"{len(_COPIES)}-{hash(stamp)}.jsonl"
        original = path
        if remote is not None:
            download(remote, original := lines.with_suffix(SUFFIX))
        _write_lines(original, lines, place=shown(path))
        known = _COPIES[path] = _Copy(stamp, original, lines)
    return known.lines


def _write_lines(path: Path, copy: Path, *, place: str) -> None:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Parquet needs a package: pip install 'callscore[parquet]'") from None
    encode = msgspec.json.Encoder(enc_hook=str).encode
    try:
        with copy.open("wb") as file, pyarrow.parquet.ParquetFile(path) as source:
            names = source.schema_arrow.names
            is_export = {OTHER, HASH} <= set(names)
            for batch in source.iter_batches(ROWS_AT_ONCE):
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    file.write(encode(_record(row, is_export=is_export)) + b"\n")
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        why = f"{first_line(error)}; expected Parquet with one case per row"
        raise DataError(why, place=place) from None


def _record(row: dict[str, Any], *, is_export: bool) -> dict[str, Any]:
    """The row as a case; null is absent, as Parquet cannot tell them apart in structs."""
    record = {
        key: _parse(value) if key in JSON_KEYS and isinstance(value, str) else _without_nulls(value)
        for key, value in row.items()
        if value is not None and not key.startswith(INDEX)
    }
    if is_export:
        del record[HASH]
        own = record.pop(OTHER, None)
        record |= msgspec.json.decode(own, type=dict[str, msgspec.Raw]) if own else {}
    return record


def _parse(text: str) -> msgspec.Raw | str:
    """The text as JSON on one line, unread; the text itself if it is not JSON."""
    try:
        return msgspec.Raw(msgspec.json.format(text.encode(), indent=-1))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
