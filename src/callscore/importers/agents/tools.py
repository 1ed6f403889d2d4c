"""Definitions of tools: OpenAI, Anthropic and Gemini, MCP `tools/list`, OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from callscore.core.case import Tool
from callscore.importers.agents.messages import decoded

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_OTHER_LETTER = re.compile(r"[^A-Za-z0-9]+")
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_LISTS = ("result", "tools", "functions", "functionDeclarations", "function_declarations")
_MAX_REFERENCES = 32


def read_tools(value: Any) -> list[Tool]:
    """The tools in a decoded file or request; empty if it defines none."""
    if isinstance(value, Mapping) and isinstance(value.get("paths"), Mapping):
        return list(_operations(value))
    return list(_listed(value))


def _listed(value: Any) -> Iterator[Tool]:
    if isinstance(value, list):
        for one in value:
            yield from _listed(one)
    elif isinstance(value, Mapping):
        for key in _LISTS:
            if isinstance(value.get(key), (list, Mapping)):
                yield from _listed(value[key])
                return
        inner = value.get("function", value)
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str) and inner["name"]:
            yield _tool(inner["name"], inner.get("description"), _schema(inner))


def _schema(tool: Mapping[str, Any]) -> Any:
    """The JSON schema of the arguments; traces may have it as text."""
    found = (decoded(tool[key]) for key in _SCHEMAS if tool.get(key))
    return next((schema for schema in found if isinstance(schema, Mapping)), {})


def _tool(name: str, description: Any, schema: Any) -> Tool:
    about = description.strip() if isinstance(description, str) else ""
    return Tool(name, about, schema or {"type": "object", "properties": {}})


def _operations(document: Mapping[str, Any]) -> Iterator[Tool]:
    """The operations of an OpenAPI file: parameters and the fields of a JSON body are arguments."""
    for path, item in document["paths"].items():
        if not isinstance(item, Mapping):
            continue
        for method in _METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                name = operation.get("operationId") or _OTHER_LETTER.sub("_", f"{method}{path}")
                about = operation.get("description") or operation.get("summary")
                shared = item.get("parameters") or []
                yield _tool(str(name).strip("_"), about, _arguments(document, operation, shared))


def _arguments(document: Any, operation: Mapping[str, Any], shared: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for given in [*shared, *(operation.get("parameters") or [])]:
        parameter = _resolved(document, given)
        if isinstance(parameter.get("name"), str) and parameter.get("in") in ("path", "query"):
            name = parameter["name"]
            schema = dict(_resolved(document, parameter.get("schema") or {}))
            if parameter.get("description"):
                schema.setdefault("description", parameter["description"])
            properties[name] = schema
            if parameter.get("required"):
                required.append(name)
    body = _resolved(document, operation.get("requestBody") or {})
    content = body.get("content")
    media = content.get("application/json") if isinstance(content, Mapping) else None
    fields = _resolved(document, media.get("schema") or {}) if isinstance(media, Mapping) else {}
    for name, value in (fields.get("properties") or {}).items():
        properties[name] = _resolved(document, value)
    required += [name for name in fields.get("required") or () if name not in required]
    return {"type": "object", "properties": properties, "required": required}


def _resolved(document: Any, value: Any) -> Mapping[str, Any]:
    """The value that a local `$ref` names; empty if it leads nowhere or in a circle."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(value, Mapping):
            return {}
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return value
        value = document
        for part in reference.removeprefix("#/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            value = value.get(key) if isinstance(value, Mapping) else None
    return {}
