"""Takes one field of an outcome from another one, by the name that tables give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callscore.report.details.decoded_case import (
    QUESTION_FIELDS,
    as_mapping,
    as_objects,
    identifying_key,
)


def with_field_of(
    expected: Mapping[str, Any], given: Mapping[str, Any], field: str
) -> Mapping[str, Any] | None:
    """The expected outcome with a field as in `given`; None if one of them does not have it.

    A field is named as in `compare_fields`, or by the id of a question of a form.
    """
    for name in (field, f"questions {field} · score", f"questions {field}"):
        found = _replace("", expected, given, name)
        if found is not None:
            return found
    return None


def _replace(
    path: str, expected: Mapping[str, Any], given: Mapping[str, Any], wanted: str
) -> dict[str, Any] | None:
    for key, value in expected.items():
        label, other = f"{path}{key}", given.get(key)
        if label == wanted:
            return {**expected, key: other} if key in given else None
        inner: Any = None
        if isinstance(value, dict):
            inner = _replace(f"{label}.", value, as_mapping(other), wanted)
        elif (id_key := identifying_key(value)) is not None:
            inner = _replace_in_list(label, value, other, id_key, wanted)
        if inner is not None:
            return {**expected, key: inner}
    return None


def _replace_in_list(
    label: str, value: Any, other: Any, id_key: str, wanted: str
) -> list[Any] | None:
    by_id = {str(one.get(id_key)): one for one in as_objects(other)}
    for number, entry in enumerate(value):
        if not isinstance(entry, dict):
            continue
        name = f"{label} {entry.get(id_key)}"
        theirs = as_mapping(by_id.get(str(entry.get(id_key))))
        fields = [key for key in entry if key != id_key and key not in QUESTION_FIELDS]
        if wanted == name and len(fields) == 1:
            wanted = f"{name} · {fields[0]}"
        found = _replace(f"{name} · ", entry, theirs, wanted)
        if found is not None:
            return [*value[:number], found, *value[number + 1 :]]
    return None
