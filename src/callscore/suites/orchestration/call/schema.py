"""Differences of a step, and calls that the schema of their own tool refuses        C-141"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.core.case import Tool
from callscore.core.tool_schema import FORMS
from callscore.suites.orchestration.scenario.model import DecodedCall


class Difference(NamedTuple):
    """One difference from the expected step: its kind in the error taxonomy, and where it is."""

    kind: str
    detail: str


SCHEMA_VIOLATION = "schema_violation"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    """Whether a number is whole; an integer of 400 digits fits no float."""
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_HAS_TYPE: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}


def schema_violations(
    calls: Sequence[DecodedCall], expected: Sequence[DecodedCall], tools: Mapping[str, Tool]
) -> Iterator[Difference]:
    """Required arguments that are missing, values of a wrong type or outside an enum

    They are counted next to the typed comparison, which may still accept the value: `"3"` for 3.
    A call of an unknown tool has no schema, and is an error of its own. What the expected calls
    violate as well is a fault of the data.
    """
    of_data = set(_problems_of(expected, tools))
    for problem in _problems_of(calls, tools):
        if problem not in of_data:
            yield Difference(SCHEMA_VIOLATION, problem)


def _problems_of(calls: Sequence[DecodedCall], tools: Mapping[str, Tool]) -> Iterator[str]:
    for place, call in enumerate(calls):
        tool = tools.get(call.name)
        if tool is not None:
            yield from _problems(call.arguments, tool.parameters, f"calls[{place}]")


def _problems(value: Any, schema: Any, path: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield f"{path}: {str(value)[:80]!r} is not one of the allowed values"
    elif any(_fits_none(value, schema.get(key)) for key in FORMS):
        yield f"{path}: fits none of the forms of the schema"
    elif not _has_type(value, schema.get("type")):
        yield f"{path}: expected {_type_names(schema['type'])}, not {type(value).__name__}"
    elif isinstance(value, Mapping):
        yield from _object_problems(value, schema, path)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _problems(item, schema.get("items"), f"{path}[{place}]")


def _object_problems(
    value: Mapping[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[str]:
    required, properties = schema.get("required"), schema.get("properties")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            yield f"{path}.{name}: required, and missing"
    if isinstance(properties, Mapping):
        for name, item in value.items():
            yield from _problems(item, properties.get(name), f"{path}.{name}")


def _fits_none(value: Any, forms: Any) -> bool:
    return isinstance(forms, list) and all(any(_problems(value, form, "")) for form in forms)


def _has_type(value: Any, named: Any) -> bool:
    """Whether a value has one of the named types; an unknown name allows anything."""
    names = named if isinstance(named, list) else [named]
    checks = [_HAS_TYPE.get(name) if isinstance(name, str) else None for name in names]
    return any(check is None or check(value) for check in checks)


def _type_names(named: Any) -> str:
    return " or ".join(map(str, named)) if isinstance(named, list) else str(named)
