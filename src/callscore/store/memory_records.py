"""Records in memory as JSON lines: dicts, and the rows of pandas and polars data frames.

Neither library is imported: a data frame is recognised by its methods.
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


def record_rows(records: Any) -> Iterable[Record]:
    """The records of a list, or the rows of a data frame without their missing values."""
    if isinstance(records, Mapping):
        raise UsageError("one dict was given; expected a list of dicts, a data frame, or files")
    if hasattr(records, "to_dicts"):  # polars
        return (_drop_nulls(row) for row in records.to_dicts())
    if hasattr(records, "to_dict") and hasattr(records, "columns"):  # pandas
        return (_drop_missing(row) for row in records.to_dict("records"))
    if not isinstance(records, Iterable):
        kind = type(records).__name__
        raise UsageError(f"{kind} was given; expected a list of dicts, a data frame, or files")
    return records


def json_line(record: Mapping[str, Any], place: str) -> bytes:
    """One record as a JSON line; numbers of numpy become plain numbers."""
    if not isinstance(record, Mapping):
        kind = type(record).__name__
        raise DataError(f"is of type {kind}; expected a dict, or the path of a file", place=place)
    try:
        return _ENCODER.encode(record) + b"\n"
    except UnicodeEncodeError:
        import json  # a lone surrogate cannot be encoded; escaped, it is read like one in a file

        return json.dumps(record, default=_to_builtin).encode() + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{error}; expected values that JSON supports", place=place) from None


def _to_builtin(value: Any) -> Any:
    """A numpy or pandas object as a built-in type."""
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


_ENCODER = msgspec.json.Encoder(enc_hook=_to_builtin)


def _drop_missing(row: Mapping[str, Any]) -> dict[str, Any]:
    """A pandas row without its missing values; integers that pandas made floats are restored."""
    return {
        str(name): _restore_integer(value) for name, value in row.items() if not _is_missing(value)
    }


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, float) and value != value


def _restore_integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _drop_nulls(value: Any) -> Any:
    """A polars row without its null fields: a struct of polars always has every field."""
    if isinstance(value, dict):
        return {name: _drop_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_drop_nulls(inner) for inner in value] if isinstance(value, list) else value


def numbered_lines(
    records: Iterable[Record], name: str
) -> Iterator[os.PathLike[str] | str | bytes]:
    """Paths unchanged, and every record as a JSON line; errors name the number of the record."""
    for number, record in enumerate(records, start=1):
        if isinstance(record, (str, os.PathLike)):
            yield record
        else:
            yield json_line(record, f"{name}: record {number}")
