"""Which schemas an API can enforce strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callscore.core.case import JsonObject

_BOUNDS = frozenset(
    (
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    )
)
_OF_SCHEMAS = ("properties", "$defs", "definitions")
"""Keywords whose value maps names to schemas."""
_UNSUPPORTED = frozenset(("allOf", "not", "if", "oneOf", "patternProperties", "dependentSchemas"))


def fits_strict_mode(schema: JsonObject) -> bool:
    """Whether strict mode accepts the schema: every object closed, every property required.

    Providers refuse a request with any other schema, so such a schema is sent as a hint.
    """
    return schema.get("type") == "object" and _fits(schema, requires_all=True)


def fits_output_format(schema: JsonObject) -> bool:
    """Whether an output format accepts the schema, bounds aside: every object closed."""
    return schema.get("type") == "object" and _fits(schema)


def without_bounds(schema: Any) -> Any:
    """The schema without limits on values and lengths, which an output format would refuse."""
    if isinstance(schema, list):
        return [without_bounds(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _without_bounds_of_members(value) if key in _OF_SCHEMAS else without_bounds(value)
        for key, value in schema.items()
        if key not in _BOUNDS
    }


def _without_bounds_of_members(members: Any) -> Any:
    """The same for schemas by name; a name may equal that of a bound."""
    if not isinstance(members, Mapping):
        return members
    return {name: without_bounds(inner) for name, inner in members.items()}


def _fits(part: Mapping[str, Any], *, requires_all: bool = False) -> bool:
    """Whether every object in a schema is closed, and requires all its properties."""
    if not _UNSUPPORTED.isdisjoint(part):
        return False
    properties = part.get("properties", ())
    is_object = part.get("type") == "object" or "properties" in part
    if is_object and part.get("additionalProperties") is not False:
        return False
    if requires_all and set(part.get("required", ())) != set(properties):
        return False
    inner = [part.get("items"), *(part.get("anyOf") or ())]
    for name in _OF_SCHEMAS:
        inner += (part.get(name) or {}).values()
    return all(
        _fits(each, requires_all=requires_all) for each in inner if isinstance(each, Mapping)
    )
