"""Matches the items of a reply to the expected ones, by id only (C-19)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from callscore.metrics.text import item_id


class Matched(msgspec.Struct, frozen=True, gc=False):
    """The usable items of a reply by id; conflicting ones count as missing."""

    by_id: Mapping[str, Mapping[str, Any]]
    flags: tuple[str, ...] = ()


def match(items: Sequence[Mapping[str, Any]], id_key: str, expected: Collection[str]) -> Matched:
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
    return Matched(by_id, flags)


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
