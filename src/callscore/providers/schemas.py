"""Whether an API may be held to a schema to the letter."""

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
_UNSUPPORTED = frozenset(("allOf", "not", "if", "oneOf", "patternProperties", "dependentSchemas"))


def fits_strict_mode(schema: JsonObject) -> bool:
    """Whether strict mode takes the schema: every object closed, every property required.

    Providers refuse a request whose schema breaks this, so such a schema is sent as a hint.
    """
    return schema.get("type") == "object" and all(_is_strict(part) for part in _parts(schema))


def fits_output_format(schema: JsonObject) -> bool:
    """Whether an output format takes the schema: as in strict mode, and without any bounds."""
    return fits_strict_mode(schema) and not any(_BOUNDS & part.keys() for part in _parts(schema))


def _is_strict(part: Mapping[str, Any]) -> bool:
    if _UNSUPPORTED & part.keys():
        return False
    if part.get("type") != "object" and "properties" not in part:
        return True
    closed = part.get("additionalProperties") is False
    return closed and set(part.get("required", ())) == set(part.get("properties", ()))


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and every schema inside it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for name in ("properties", "$defs", "definitions"):
        for inner in (schema.get(name) or {}).values():
            yield from _parts(inner)
    for inner in schema.get("anyOf") or ():
        yield from _parts(inner)
    yield from _parts(schema.get("items"))
