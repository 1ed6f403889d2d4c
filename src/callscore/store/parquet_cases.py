"""Cases in Parquet: their rows become lines of JSON in a temporary copy, read as every case file.

A column is a key of the case. Row n is line n, so that errors name `file:row`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError, MissingExtra, UsageError

SUFFIX = ".parquet"
JSON_KEYS = frozenset(Case.__struct_fields__) - {"id", "task", "call_id", "lang", "question"}
"""Keys whose value is not always text: text that is JSON is read as JSON."""
OTHER, HASH = "other", "sha256"
"""Columns of an export: keys of the user as JSON, and the hash of the case."""
ROWS_AT_ONCE = 256
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/+(?P<rest>.*)")
INDEX = "__index_level_"
"""The beginning of the columns in which pandas keeps an index."""


def local_path(path: Path) -> Path:
    """The file or folder of cases that a `file://` URL names, or the path itself.

    Raises UsageError for a URL of another machine: cases are read several times, and by processes.
    """
    found = _URL.match(path.as_posix())  # a path has one slash where the URL has two
    if found is None:
        return path
    if found["scheme"] != "file":
        raise UsageError(
            f"{found['scheme']}://{found['rest']}: is not on this machine; expected a path or a "
            "file:// URL: copy or mount it first"
        )
    return Path("/", unquote(found["rest"]))


def is_parquet(path: Path) -> bool:
    """Whether a case file, by its name, or a file in a folder is one of Parquet."""
    return path.suffix.lower() == SUFFIX or (path.is_dir() and bool(_parts(path)))


def parquet_lines(cases: Sequence[Path]) -> tuple[Sequence[Path], Mapping[Path, Path]]:
    """The case files, with those in folders, and by file of Parquet its rows as lines."""
    files = [found for path in cases for found in _parts(path) or [path]]
    rows = [path for path in files if path.suffix.lower() == SUFFIX]
    return files, {path: _copy(path, path.stat().st_mtime_ns) for path in rows if path.exists()}


def _parts(folder: Path) -> Sequence[Path]:
    """The parts of a table in a folder, as other programs write it."""
    found = sorted(folder.rglob(f"*{SUFFIX}")) if folder.is_dir() else []
    return [part for part in found if part.is_file()]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """The folder of all copies, which is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="callscore-")


@cache
def _copy(path: Path, changed: int) -> Path:
    """The rows of a file as lines; a file that was changed is read again."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Parquet needs a package: pip install 'callscore[parquet]'") from None
    copy = Path(_folder().name) / f"{_copy.cache_info().misses}.jsonl"
    encode = msgspec.json.Encoder(enc_hook=str).encode
    try:
        with copy.open("wb") as file, pyarrow.parquet.ParquetFile(path) as source:
            names = source.schema_arrow.names
            is_export = {OTHER, HASH} <= set(names)
            for batch in source.iter_batches(ROWS_AT_ONCE):
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    file.write(encode(_record(row, is_export=is_export)) + b"\n")
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        why = str(error).partition("\n")[0]
        raise DataError(f"{why}; expected Parquet with one case per row", place=str(path)) from None
    return copy


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
