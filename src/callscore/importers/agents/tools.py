"""Definitions of tools: OpenAI, Anthropic and Gemini, MCP `tools/list`, OpenAPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from callscore.core.case import Tool
from callscore.importers.agents.messages import decoded
from callscore.importers.agents.openapi import is_openapi, read_operations

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_LISTS = ("result", "tools", "functions", "functionDeclarations", "function_declarations")


def read_tools(value: Any, left_out: list[str] | None = None) -> list[Tool]:
    """The tools in a decoded file or request; empty if it defines none.

    What is no tool that a model could be given here is named in `left_out`.
    """
    skipped = [] if left_out is None else left_out
    return list(read_operations(value, skipped) if is_openapi(value) else _listed(value, skipped))


def _listed(value: Any, left_out: list[str]) -> Iterator[Tool]:
    if isinstance(value, list):
        for one in value:
            yield from _listed(one, left_out)
    elif isinstance(value, Mapping):
        if value.get("nextCursor"):
            left_out.append("further pages of tools/list: the answer has a nextCursor")
        key = next((key for key in _LISTS if isinstance(value.get(key), list | Mapping)), None)
        if key is not None:
            yield from _listed(value[key], left_out)
            return
        inner = value.get("function", value)
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str) and inner["name"]:
            about = inner.get("description")
            schema = _schema(inner) or {"type": "object", "properties": {}}
            yield Tool(inner["name"], about.strip() if isinstance(about, str) else "", schema)
        elif isinstance(value.get("type"), str):
            left_out.append(f"a tool of the type {value['type']}, which the API itself carries out")


def _schema(tool: Mapping[str, Any]) -> Any:
    """The JSON schema of the arguments; traces may have it as text."""
    found = (decoded(tool[key]) for key in _SCHEMAS if tool.get(key))
    return next((schema for schema in found if isinstance(schema, Mapping)), {})
