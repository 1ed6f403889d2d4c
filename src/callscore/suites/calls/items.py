"""Items of expected outcomes and of replies: checked, matched by id, their values and verdicts.

C-19 (ids), C-20 and C-127 (expected items), C-26 (numbers), C-59 (empty values).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError, similar_key_hint
from callscore.core.judging import Item, Verdict, Verdicts
from callscore.metrics.text import item_id, n2

NO_PARTS: frozenset[str] = frozenset()
CANNOT_TELL = "cannot_tell"
"""The verdict of a judge that abstains."""
_KINDS_OF_IDS = (str, int, float)
PLACEHOLDERS = frozenset(
    n2(word)
    for word in (
        "n/a",
        "na",
        "none",
        "null",
        "nil",
        "unknown",
        "not mentioned",
        "not provided",
        "not applicable",
    )
)
LONGEST_PLACEHOLDER = max(map(len, PLACEHOLDERS))
LONGEST_LOOK = 4 * LONGEST_PLACEHOLDER
"""Characters that are checked before a text is normalised."""

LONGEST_OPENING = 4
_BEGINNINGS = tuple(sorted({word[:LONGEST_OPENING].split()[0] for word in PLACEHOLDERS}))
_OPENINGS = frozenset(word[0] for word in PLACEHOLDERS)
_FILLED = frozenset(
    char for char in map(chr, range(128)) if char.isalnum() and char.lower() not in _OPENINGS
)
"""Letters and digits that begin no placeholder."""


class MatchedItems(msgspec.Struct, frozen=True, gc=False):
    """The usable items of a reply by id; conflicting ones count as missing."""

    by_id: Mapping[str, Mapping[str, Any]]
    flags: tuple[str, ...] = ()


def match_items(
    items: Sequence[Mapping[str, Any]], id_key: str, expected: Collection[str]
) -> MatchedItems:
    """The items whose id is expected; repeats that differ are dropped and flagged."""
    by_id: dict[str, Mapping[str, Any]] = {}
    conflicting: list[str] = []
    flags: tuple[str, ...] = ()
    for item in items:
        key = item.get(id_key)
        if type(key) is int:
            key = str(key)
        elif type(key) is not str or key not in expected:  # an expected id is in its normal form
            key = item_id(key)
        if key not in expected:
            flags = ("unexpected_item",)
        elif key not in by_id:
            by_id[key] = item
        elif not _is_identical({**by_id[key], id_key: key}, {**item, id_key: key}):
            conflicting.append(key)
    if conflicting:
        dropped = set(conflicting)
        by_id = {key: item for key, item in by_id.items() if key not in dropped}
        flags = (*flags, "conflicting_duplicate")
    return MatchedItems(by_id, flags)


def _is_identical(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two items with one id are equal; true equals 1 in Python, not in JSON   C-19"""
    return one == other and all(
        isinstance(value, bool) == isinstance(other[key], bool) for key, value in one.items()
    )


def number(value: object) -> float | None:
    """A usable JSON number; None for text, booleans and null        C-26

    An integer beyond the range of floats is infinite.
    """
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value if type(value) is float else None


def is_empty(value: Any) -> bool:
    """null, [], {}, a text without a letter or digit, or a placeholder        C-59

    0 and false are values. `-`, `–` and `?` need no entry: they have neither letter nor digit.
    """
    if not isinstance(value, str):
        return value is None or value == [] or value == {}
    if not value or value[0] in _FILLED:
        return not value
    opening = value[:LONGEST_OPENING]
    if opening[1:2].isdigit():  # no placeholder has one
        return False
    if opening[0].isalnum() and opening.isascii() and not opening.lower().startswith(_BEGINNINGS):
        return False
    if sum(map(str.isalnum, value[:LONGEST_LOOK])) > LONGEST_PLACEHOLDER:
        return False
    return not any(map(str.isalnum, value)) or n2(value) in PLACEHOLDERS


def check_keys(
    value: object, keys: Collection[str], case: Case, path: str = "expected_outcome"
) -> None:
    """Check that every documented key is present, unless the case declares it absent."""
    if not isinstance(value, dict):
        raise DataError("expected an object", field=path)
    for key in keys:
        if key not in value and not case.is_absent(key):
            meant = similar_key_hint(key, value.keys() - set(keys))
            raise DataError(
                f'missing; {meant}expected the documented key, or expected_parts.{key} = "absent"',
                field=f"{path}.{key}",
            )


def check_items(items: list[Any], keys: frozenset[str], case: Case, path: str) -> None:
    """Check that every item of a list is an object with the documented keys."""
    for index, item in enumerate(items):
        if type(item) is not dict or not item.keys() >= keys:
            check_keys(item, sorted(keys), case, f"{path}[{index}]")


class ItemFields:
    """The documented fields of the items of a list."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._take = itemgetter(*names)

    def read(self, items: list[Any], case: Case, path: str) -> list[tuple[Any, ...]]:
        """The fields of every item; None for those that the case declares absent."""
        try:
            return list(map(self._take, items))
        except (KeyError, TypeError):
            check_items(items, frozenset(self._names), case, path)
            return [tuple(map(item.get, self._names)) for item in items]


def expected_list(
    value: Mapping[str, Any],
    key: str,
    case: Case,
    *,
    path: str = "expected_outcome",
    filled: bool = True,
) -> list[Any]:
    """The list under a key; empty if the case declares it absent.

    Raises DataError if it is not a list, or if it is empty and `filled` is set.
    """
    if case.expected_parts and case.is_absent(key):
        return []
    items = value.get(key)
    if not isinstance(items, list):
        raise DataError("expected an array", field=f"{path}.{key}")
    if filled and not items:
        raise DataError("the list is empty; expected at least one item", field=f"{path}.{key}")
    return items


def expected_id(value: object, key: str, path: str, index: int | None = None) -> str:
    """The id of an expected item; without one no reply could be matched to it (C-19)."""
    if type(value) not in _KINDS_OF_IDS:
        place = path if index is None else f"{path}[{index}]"
        raise DataError(
            f"{value!r} is not an id; expected text or a number", field=f"{place}.{key}"
        )
    return item_id(value)


def absent_parts(case: Case) -> frozenset[str]:
    """The keys that the reference declares absent, with exactly this word (C-127)."""
    if not case.expected_parts:
        return NO_PARTS
    return frozenset(key for key, value in case.expected_parts.items() if value == "absent")


def verdict_words(verdicts: Iterable[Verdict], flags: set[str]) -> list[str]:
    """The words of verdicts; an abstention among them is flagged."""
    words = [verdict.verdict for verdict in verdicts if verdict.verdict is not None]
    if CANNOT_TELL in words:
        flags.add("abstained")
    return words


def is_confirmed(verdicts: Verdicts, item: Item, good: str, flags: set[str]) -> bool | None:
    """Whether every verdict on an item is the good word; None if there is none.

    An abstention counts against the reply.
    """
    words = verdict_words(verdicts.get(item, ()), flags)
    return all(word == good for word in words) if words else None
