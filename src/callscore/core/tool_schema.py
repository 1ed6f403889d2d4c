"""The schema of a tool as code checks it: every local `$ref` in its place, no form for null alone.

Tools of MCP servers have both: an optional enum is `anyOf` of a `$ref` and null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Tool

FORMS = ("anyOf", "oneOf")
_NULL = {"type": "null"}


def plain_tool(tool: Tool) -> Tool:
    """The tool with its schema as code checks it; a schema inside of itself accepts any value."""
    return msgspec.structs.replace(tool, parameters=_Reader(tool.parameters).plain(tool.parameters))


class _Reader:
    """Reads the parts of one schema, each `$ref` once."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._known: dict[str, dict[str, Any]] = {}

    def plain(self, schema: Any) -> dict[str, Any]:
        """A part of the schema; what is no object accepts any value."""
        if not isinstance(schema, Mapping):
            return {}
        said = {key: self._part(key, value) for key, value in schema.items()}
        reference = said.pop("$ref", None)
        return _with_one_form({**self._named(reference), **said} if reference else said)

    def _named(self, reference: Any) -> dict[str, Any]:
        name = str(reference)
        if name not in self._known:
            self._known[name] = {}
            self._known[name] = self.plain(self._found(name))
        return self._known[name]

    def _found(self, name: str) -> Any:
        value: Any = self._whole
        for part in name.removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if name.startswith("#/") else None

    def _part(self, key: str, value: Any) -> Any:
        if key == "properties" and isinstance(value, Mapping):
            return {name: self.plain(one) for name, one in value.items()}
        if key in (*FORMS, "allOf") and isinstance(value, list):
            return [self.plain(one) for one in value]
        return self.plain(value) if key == "items" and isinstance(value, Mapping) else value


def _with_one_form(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without a choice, if one form is left next to null."""
    for key in FORMS:
        given = schema.get(key)
        forms = given if isinstance(given, list) else []
        left = [form for form in forms if form != _NULL]
        if len(left) == 1:
            rest = {name: value for name, value in schema.items() if name != key}
            return {**rest, **(left[0] if len(forms) == 1 else _or_null(left[0]))}
    return schema


def _or_null(form: Mapping[str, Any]) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if "type" in form:
        named = form["type"]
        more["type"] = [*(named if isinstance(named, list) else [named]), "null"]
    if isinstance(form.get("enum"), list):
        more["enum"] = [*form["enum"], None]
    return {**form, **more}
