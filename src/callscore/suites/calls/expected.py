"""Checks that every task makes on its expected outcome (C-20, C-127)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.structure import Sources


def documented_keys(
    value: object, keys: Collection[str], case: Case, path: str = "expected_outcome"
) -> None:
    """Every documented key is there, unless the case declares it absent."""
    if not isinstance(value, Mapping):
        raise DataError("expected an object", field=path)
    for key in keys:
        if key not in value and not case.is_absent(key):
            raise DataError(
                f'missing; expected the documented key, or expected_parts.{key} = "absent"',
                field=f"{path}.{key}",
            )


def listed(
    value: Mapping[str, Any],
    key: str,
    case: Case,
    *,
    path: str = "expected_outcome",
    filled: bool = True,
) -> list[Any]:
    """The list under a key; empty where the part is absent, refused where it must be filled."""
    if case.is_absent(key):
        return []
    items = value.get(key)
    if not isinstance(items, list):
        raise DataError("expected an array", field=f"{path}.{key}")
    if filled and not items:
        raise DataError("the list is empty; expected at least one item", field=f"{path}.{key}")
    return items


def absent_parts(case: Case) -> frozenset[str]:
    """The keys that the reference declares absent: the exact word only (C-127)."""
    parts = case.expected_parts or {}
    return frozenset(key for key, value in parts.items() if value == "absent")


def sources_of(
    case: Case, settings: Settings, sample_items: Mapping[str, Collection[str]], id_key: str = ""
) -> Sources:
    """What the shape of this case's answers is compiled with."""
    return Sources(
        sample_items=sample_items,
        id_keys=dict.fromkeys(sample_items, id_key) if id_key else {},
        open_maps=settings.open_maps,
        absent=absent_parts(case),
    )
