"""OpenAPI files as tools: every operation with its parameters and the fields of its body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.core.case import Tool

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_OTHER_LETTER = re.compile(r"[^A-Za-z0-9]+")
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
_OF_SCHEMA = ("type", "enum", "items", "format", "default", "minimum", "maximum", "pattern")
"""What a parameter of version 2 says itself, and not in a schema."""
_MAX_DEPTH = 24
_WHOLE = "body"
"""The argument that has a body without fields, such as a list."""


def is_openapi(value: Any) -> bool:
    """Whether the value is an OpenAPI file."""
    return isinstance(value, Mapping) and isinstance(value.get("paths"), Mapping)


def read_operations(document: Mapping[str, Any], left_out: list[str]) -> Iterator[Tool]:
    """The operations of the file; what no model can pass is named in `left_out`."""
    for path, item in document["paths"].items():
        if not isinstance(item, Mapping):
            continue
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                given = operation.get("operationId") or _OTHER_LETTER.sub("_", f"{method}{path}")
                name = str(given).strip("_")
                about = operation.get("description") or operation.get("summary")
                schema = _Operation(document, name, left_out).schema(item, operation)
                yield Tool(name, about.strip() if isinstance(about, str) else "", schema)


class _Operation:
    """The arguments of one operation."""

    def __init__(self, document: Mapping[str, Any], name: str, left_out: list[str]) -> None:
        self._document, self._name, self._left_out = document, name, left_out
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def schema(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of path and query, and the fields of the body, as one object."""
        for given in [*(item.get("parameters") or ()), *(operation.get("parameters") or ())]:
            self._add_parameter(self._found(given))
        body = self._found(operation.get("requestBody") or {})
        content = body.get("content")
        if isinstance(content, Mapping) and content:
            self._add_body(content, is_required=bool(body.get("required")))
        return {"type": "object", "properties": self._properties, "required": self._required}

    def _add_parameter(self, parameter: Mapping[str, Any]) -> None:
        name, place = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str):
            return
        if place == "body":  # version 2
            schema = self._plain(parameter.get("schema") or {})
            self._add_fields(schema, is_required=bool(parameter.get("required")))
        elif place in ("path", "query", "formData"):
            of_version_2 = {key: parameter[key] for key in _OF_SCHEMA if key in parameter}
            schema = dict(self._plain(parameter.get("schema") or of_version_2))
            if parameter.get("description"):
                schema.setdefault("description", parameter["description"])
            self._properties[name] = schema
            if parameter.get("required") and name not in self._required:
                self._required.append(name)
        else:
            self._left_out.append(f"{self._name}: the {place} parameter {name}")

    def _add_body(self, content: Mapping[str, Any], *, is_required: bool) -> None:
        json_like = [kind for kind in content if kind.partition(";")[0].endswith("json")]
        kind = next((kind for kind in [*json_like, *_FORMS] if kind in content), None)
        media = content[kind] if kind is not None else None
        if not isinstance(media, Mapping):
            self._left_out.append(f"{self._name}: a body of the type {', '.join(content)}")
            return
        self._add_fields(self._plain(media.get("schema") or {}), is_required=is_required)

    def _add_fields(self, schema: Mapping[str, Any], *, is_required: bool) -> None:
        fields = schema.get("properties")
        if isinstance(fields, Mapping) and fields:
            self._properties.update(fields)
            required = schema.get("required")
            self._required += [
                name
                for name in (required if isinstance(required, list) else ())
                if name not in self._required
            ]
        elif schema:
            self._properties[_WHOLE] = schema
            self._required += [_WHOLE] * is_required

    def _found(self, value: Any) -> Mapping[str, Any]:
        """The object that a local `$ref` names; empty if it leads nowhere or in a circle."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(value, Mapping):
                return {}
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            value = self._document
            for part in reference.removeprefix("#/").split("/"):
                key = part.replace("~1", "/").replace("~0", "~")
                value = value.get(key) if isinstance(value, Mapping) else None
        return {}

    def _plain(self, schema: Any, inside: Sequence[str] = ()) -> Mapping[str, Any]:
        """The schema with every `$ref` put in its place and `allOf` as one object.

        A schema that contains itself accepts any value from there on.
        """
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if reference in inside or len(inside) > _MAX_DEPTH:
            return {}
        within = (*inside, reference) if isinstance(reference, str) else inside
        plain = {key: self._value(key, one, within) for key, one in self._found(schema).items()}
        parts = plain.pop("allOf", None)
        return _merged([*parts, plain]) if isinstance(parts, list) else plain

    def _value(self, key: str, value: Any, inside: Sequence[str]) -> Any:
        if key in ("properties", "patternProperties") and isinstance(value, Mapping):
            return {name: self._plain(one, inside) for name, one in value.items()}
        if key in ("allOf", "anyOf", "oneOf", "prefixItems") and isinstance(value, list):
            return [self._plain(one, inside) for one in value]
        if key in ("items", "additionalProperties", "not") and isinstance(value, Mapping):
            return self._plain(value, inside)
        return value


def _merged(parts: Sequence[Any]) -> dict[str, Any]:
    """Several objects as one, with the fields of all."""
    whole: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for part in parts:
        given = part if isinstance(part, Mapping) else {}
        properties.update(given.get("properties") or {})
        required += [name for name in given.get("required") or () if name not in required]
        whole |= {key: one for key, one in given.items() if key not in ("properties", "required")}
    if properties:
        whole["properties"] = properties
    if required:
        whole["required"] = required
    return whole
