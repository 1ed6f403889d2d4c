"""Which schemas an API can enforce strictly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    return fits_output_format(schema) and all(_requires_all(part) for part in _parts(schema))


def fits_output_format(schema: JsonObject) -> bool:
    """Whether an output format accepts the schema, bounds aside: every object closed."""
    return schema.get("type") == "object" and all(_is_closed(part) for part in _parts(schema))


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


def _is_closed(part: Mapping[str, Any]) -> bool:
    if _UNSUPPORTED & part.keys():
        return False
    is_object = part.get("type") == "object" or "properties" in part
    return not is_object or part.get("additionalProperties") is False


def _requires_all(part: Mapping[str, Any]) -> bool:
    return set(part.get("required", ())) == set(part.get("properties", ()))


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and every schema inside it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for name in _OF_SCHEMAS:
        for inner in (schema.get(name) or {}).values():
            yield from _parts(inner)
    for inner in schema.get("anyOf") or ():
        yield from _parts(inner)
    yield from _parts(schema.get("items"))
