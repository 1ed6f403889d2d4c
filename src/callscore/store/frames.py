"""Records in memory as JSON lines: dicts, and the rows of pandas and polars frames.

Neither library is imported: a frame is recognised by its methods.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from callscore.core.errors import DataError, UsageError

Record = str | os.PathLike[str] | Mapping[str, Any]
_MISSING = frozenset({"NAType", "NaTType"})
"""The types of pandas' missing values."""


def rows_of(records: Any) -> Iterable[Record]:
    """The records of a list, or the rows of a frame, without missing values."""
    if isinstance(records, Mapping):
        raise UsageError("one dict was given; expected a list of them, a frame, or files")
    if hasattr(records, "to_dicts"):  # polars
        return (_filled(row) for row in records.to_dicts())
    if hasattr(records, "to_dict") and hasattr(records, "columns"):  # pandas
        return (_present(row) for row in records.to_dict("records"))
    if not isinstance(records, Iterable):
        kind = type(records).__name__
        raise UsageError(f"{kind} was given; expected a list of dicts, a frame, or files")
    return records


def json_line(record: Mapping[str, Any], place: str) -> bytes:
    """One record as a JSON line; numpy numbers become numbers"""
    if not isinstance(record, Mapping):
        kind = type(record).__name__
        raise DataError(f"is of type {kind}; expected a dict, or the path of a file", place=place)
    try:
        return _ENCODER.encode(record) + b"\n"
    except UnicodeEncodeError:
        import json  # a lone surrogate cannot be encoded; escaped, it is read like one in a file

        return json.dumps(record, default=_plain).encode() + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{error}; expected what JSON can say", place=place) from None


def _plain(value: Any) -> Any:
    """A numpy or pandas object as a built-in type"""
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, Mapping):
        return dict(value)
    # a subclass of str that msgspec does not support, such as numpy.str_
    if isinstance(value, str):
        return str(value)
    for method in ("tolist", "item"):
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    kind = type(value).__name__
    raise TypeError(f"a value of type {kind}")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """A pandas row without its NaN fields; integers that pandas has turned into floats are
    restored
    """
    return {str(name): _whole(value) for name, value in row.items() if not _is_missing(value)}


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, float) and value != value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _filled(value: Any) -> Any:
    """A polars row without its null fields: a polars struct always has every field"""
    if isinstance(value, dict):
        return {name: _filled(inner) for name, inner in value.items() if inner is not None}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def numbered_lines(
    records: Iterable[Record], name: str
) -> Iterator[os.PathLike[str] | str | bytes]:
    """Paths unchanged, everything else as a JSON line"""
    for number, record in enumerate(records, start=1):
        if isinstance(record, (str, os.PathLike)):
            yield record
        else:
            yield json_line(record, f"{name}: record {number}")
