"""The JSON schema of a reply, from the shape that also checks its structure (C-130)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.case import JsonObject
from callscore.suites.calls.structure import Shape

ANY_SCALAR: JsonObject = {"type": ["string", "number", "boolean", "null"]}
"""The schema of a value whose name the framework does not document."""

NamesByPath = Mapping[str, Sequence[str]]


def schema_of(
    shape: Shape, documented: JsonObject, asked: NamesByPath, path: str = ""
) -> JsonObject:
    """The schema of a shape, with the types of the documented schema if it has the name.

    If names are content (`asked`, by path), only the requested ones are allowed.
    """
    if shape.kind == "array":
        assert shape.item is not None  # every array shape has one
        items = schema_of(shape.item, documented.get("items", ANY_SCALAR), asked, f"{path}[]")
        return {"type": "array", "items": items}
    if shape.kind == "scalar":
        return ANY_SCALAR if documented.get("type") in ("object", "array") else documented
    names = asked.get(path) or _in_order(shape, documented)
    requested = [name for name in names if name not in shape.unchecked]
    properties = {name: _member(name, shape, documented, asked, path) for name in requested}
    optional = frozenset() if path in asked else shape.allowed - shape.required
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in requested if name not in optional],
        "properties": properties,
    }


def _in_order(shape: Shape, documented: JsonObject) -> Sequence[str]:
    known = documented.get("properties", {})
    return [*(name for name in known if name in shape.allowed), *sorted(shape.allowed - {*known})]


def _member(
    name: str, shape: Shape, documented: JsonObject, asked: NamesByPath, path: str
) -> JsonObject:
    inner = documented.get("properties", {}).get(name) or documented.get("additionalProperties")
    inner = inner if isinstance(inner, Mapping) else ANY_SCALAR
    below = f"{path}.{name}" if path else name
    return schema_of(shape.containers.get(name, _SCALAR), inner, asked, below)


_SCALAR = Shape("scalar")


def form_of(schema: JsonObject) -> Any:
    """The form of the reply as an example: every name, and `...` for its value."""
    if schema["type"] == "object":
        return {name: form_of(inner) for name, inner in schema["properties"].items()}
    return [form_of(schema["items"])] if schema["type"] == "array" else "..."


def is_documented(schema: JsonObject, documented: JsonObject) -> bool:
    """Whether a reply has the documented names; names that are content may be any."""
    if documented.get("type") == "array":
        return is_documented(schema.get("items", {}), documented["items"])
    if "properties" not in documented:
        return documented.get("type") == "object" or "properties" not in schema
    members = schema.get("properties", {})
    return members.keys() == documented["properties"].keys() and all(
        is_documented(members[name], inner) for name, inner in documented["properties"].items()
    )
