"""Compares two values of one argument: equal, different, or open: for a judge        C-115

Numbers, booleans, dates, times, enums and identifiers are decided here; arrays element by
element in any order, objects key by key. Only a difference between free texts is open.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from enum import IntEnum
from typing import Any

import msgspec


class Match(IntEnum):
    """The result of a comparison; of several parts the lowest one counts."""

    DIFFERENT = 0
    OPEN = 1
    EQUAL = 2


class AcceptedValues(msgspec.Struct, frozen=True):
    """The accepted values of an argument; if `optional`, the argument may be left out."""

    values: tuple[Any, ...]
    optional: bool = False


_NUMBER = re.compile(
    r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
)
_NO_SCHEMA: Mapping[str, Any] = {}
_NONE = Match.DIFFERENT


def compare(predicted: Any, expected: Any, schema: Mapping[str, Any] = _NO_SCHEMA) -> Match:
    """Typed comparison of one argument value        C-115, Q23"""
    if type(predicted) is type(expected) and predicted == expected:
        return Match.EQUAL
    if isinstance(expected, AcceptedValues):
        return max((compare(predicted, value, schema) for value in expected.values), default=_NONE)
    if isinstance(expected, bool) or isinstance(predicted, bool):
        return _match_if_equal(_boolean(predicted), _boolean(expected))
    if isinstance(expected, Mapping) or isinstance(predicted, Mapping):
        return _compare_objects(predicted, expected, schema)
    if isinstance(expected, list) or isinstance(predicted, list):
        return _compare_arrays(predicted, expected, schema)
    if isinstance(expected, (int, float)) or isinstance(predicted, (int, float)):
        return _match_if_equal(_number(predicted), _number(expected))
    if isinstance(expected, str) and isinstance(predicted, str):
        return _compare_texts(predicted, expected, schema)
    return Match.DIFFERENT


def _match_if_equal(predicted: Any, expected: Any) -> Match:
    equal = predicted is not None and expected is not None and predicted == expected
    return Match.EQUAL if equal else Match.DIFFERENT


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().casefold())
    return value if isinstance(value, bool) else None


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 400 or not _NUMBER.fullmatch(text):
            return None
        plain = text.replace(",", "")
        number = float(plain)
        return int(plain) if plain.lstrip("+-").isdigit() else number
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (int, float)) else None


def _compare_texts(predicted: str, expected: str, schema: Mapping[str, Any]) -> Match:
    mine, theirs = fold_case(predicted), fold_case(expected)
    if mine == theirs:
        return Match.EQUAL
    if not mine or not theirs or "enum" in schema:
        return Match.DIFFERENT
    for typed in (_number, _date_or_time):
        first, second = typed(mine), typed(theirs)
        if first is not None and second is not None:
            return Match.EQUAL if first == second else Match.DIFFERENT
    if schema.get("format") in ("date", "date-time"):
        return Match.DIFFERENT
    if _is_identifier(mine) and _is_identifier(theirs):
        return Match.DIFFERENT
    return Match.OPEN


def fold_case(text: str) -> str:
    """The text as NFC, in lower case, with single spaces        C-115"""
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", " ".join(composed.casefold().split()))


def _date_or_time(text: str) -> datetime | date | time | None:
    """An ISO date, time or both; a time with a zone never equals one without."""
    if len(text) > 40 or not text[:2].isdigit():
        return None
    upper = text.upper()
    for read in (date.fromisoformat, datetime.fromisoformat, time.fromisoformat):
        try:
            return read(upper)
        except ValueError:
            continue
    return None


def _is_identifier(text: str) -> bool:
    """Whether the text is one word with a digit, such as an order number: code compares it."""
    return " " not in text and any(character.isdigit() for character in text)


def _compare_objects(predicted: Any, expected: Any, schema: Mapping[str, Any]) -> Match:
    if not isinstance(predicted, Mapping) or not isinstance(expected, Mapping):
        return Match.DIFFERENT
    missing = [key for key in expected if key not in predicted]
    if predicted.keys() - expected.keys() or not all(_is_optional(expected[k]) for k in missing):
        return Match.DIFFERENT
    properties = schema.get("properties", _NO_SCHEMA)
    return min(
        (compare(value, expected[k], _subschema(properties, k)) for k, value in predicted.items()),
        default=Match.EQUAL,
    )


def _is_optional(value: Any) -> bool:
    return isinstance(value, AcceptedValues) and value.optional


def _subschema(properties: Any, key: str) -> Mapping[str, Any]:
    part = properties.get(key) if isinstance(properties, Mapping) else None
    return part if isinstance(part, Mapping) else _NO_SCHEMA


def _compare_arrays(predicted: Any, expected: Any, schema: Mapping[str, Any]) -> Match:
    """Equal if the elements can be paired: these tools ignore the order of elements."""
    if not isinstance(predicted, list) or not isinstance(expected, list):
        return Match.DIFFERENT
    if len(predicted) != len(expected):
        return Match.DIFFERENT
    items = _subschema(schema, "items")
    left = list(expected)
    unpaired = []
    for element in predicted:
        place = _index_of_equal(element, left, items)
        if place is None:
            unpaired.append(element)
        else:
            del left[place]
    if not unpaired:
        return Match.EQUAL
    towards = [max(compare(one, other, items) for other in left) for one in unpaired]
    back = [max(compare(one, other, items) for one in unpaired) for other in left]
    return min(*towards, *back)


def _index_of_equal(element: Any, among: Sequence[Any], schema: Mapping[str, Any]) -> int | None:
    return next(
        (i for i, other in enumerate(among) if compare(element, other, schema) is Match.EQUAL), None
    )
