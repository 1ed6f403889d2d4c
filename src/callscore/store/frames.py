"""Records in memory: dicts, and the rows of pandas and polars frames, as lines of JSON.

Neither library is imported: a frame is known by its methods.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from callscore.core.errors import DataError, UsageError

Record = str | os.PathLike[str] | Mapping[str, Any]
_MISSING = frozenset({"NAType", "NaTType"})
"""The types of what pandas puts where nothing is."""


def rows_of(records: Any) -> Iterable[Record]:
    """The records of a list, or the rows of a frame, without what is missing in them."""
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
    """One record as a line of JSON; numbers of numpy are numbers"""
    if not isinstance(record, Mapping):
        kind = type(record).__name__
        raise DataError(f"is of type {kind}; expected a dict, or the path of a file", place=place)
    try:
        return _ENCODER.encode(record) + b"\n"
    except UnicodeEncodeError:
        import json  # a lone surrogate has no bytes; escaped, it is read like the one in a file

        return json.dumps(record, default=_plain).encode() + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{error}; expected what JSON can say", place=place) from None


def _plain(value: Any) -> Any:
    """What an object of numpy or pandas says in Python's own types"""
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):  # a kind of text that msgspec does not know, as numpy.str_
        return str(value)
    for method in ("tolist", "item"):
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    kind = type(value).__name__
    raise TypeError(f"a value of type {kind}")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of pandas: NaN is a missing field, and beside one a whole number has become a float"""
    return {str(name): _whole(value) for name, value in row.items() if not _is_missing(value)}


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, float) and value != value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _filled(value: Any) -> Any:
    """A row of polars: every struct has every field, and null is what a record did not have"""
    if isinstance(value, dict):
        return {name: _filled(inner) for name, inner in value.items() if inner is not None}
    return [_filled(inner) for inner in value] if isinstance(value, list) else value


def numbered_lines(
    records: Iterable[Record], name: str
) -> Iterator[os.PathLike[str] | str | bytes]:
    """Paths as they are, everything else as a line of JSON"""
    for number, record in enumerate(records, start=1):
        if isinstance(record, (str, os.PathLike)):
            yield record
        else:
            yield json_line(record, f"{name}: record {number}")
