"""Checks of expected outcomes, common to all tasks (C-20, C-127)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import itemgetter
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.nearest import instead_of
from callscore.metrics.text import item_id
from callscore.suites.calls.structure import AskedNames, Sources, Structure, no_names_asked

NO_PARTS: frozenset[str] = frozenset()
_KINDS_OF_IDS = (str, int, float)


def documented_keys(
    value: object, keys: Collection[str], case: Case, path: str = "expected_outcome"
) -> None:
    """Check that every documented key is present, unless the case declares it absent."""
    if not isinstance(value, dict):
        raise DataError("expected an object", field=path)
    for key in keys:
        if key not in value and not case.is_absent(key):
            meant = instead_of(key, value.keys() - set(keys))
            raise DataError(
                f'missing; {meant}expected the documented key, or expected_parts.{key} = "absent"',
                field=f"{path}.{key}",
            )


def documented_items(items: list[Any], keys: frozenset[str], case: Case, path: str) -> None:
    """Check that every item of a list is an object with the documented keys."""
    for index, item in enumerate(items):
        if type(item) is not dict or not item.keys() >= keys:
            documented_keys(item, sorted(keys), case, f"{path}[{index}]")


class ItemFields:
    """The documented fields of the items of a list."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._take = itemgetter(*names)

    def of(self, items: list[Any], case: Case, path: str) -> list[tuple[Any, ...]]:
        """The fields of every item; None for those that the case declares absent."""
        try:
            return list(map(self._take, items))
        except (KeyError, TypeError):
            documented_items(items, frozenset(self._names), case, path)
            return [tuple(map(item.get, self._names)) for item in items]


def listed(
    value: Mapping[str, Any],
    key: str,
    case: Case,
    *,
    path: str = "expected_outcome",
    filled: bool = True,
) -> list[Any]:
    """The list under a key; empty if the part is absent, refused if it must not be empty."""
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
        raise DataError(f"{value!r} is no id; expected text or a number", field=f"{place}.{key}")
    return item_id(value)


def absent_parts(case: Case) -> frozenset[str]:
    """The keys that the reference declares absent; only the exact word counts (C-127)."""
    if not case.expected_parts:
        return NO_PARTS
    return frozenset(key for key, value in case.expected_parts.items() if value == "absent")


def structure_of(
    case: Case, sources: Sources, asked_names: AskedNames = no_names_asked
) -> Structure:
    """The structure of replies to this case; `sources` are those of its task."""
    if case.expected_parts:
        sources = msgspec.structs.replace(sources, absent=absent_parts(case))
    return Structure(case.expected_outcome, sources, asked_names)
