"""Tools of single-turn cases as the APIs of models take them: names, JSON schemas, calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.case import Tool, ToolCall

_OTHER_LETTER = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
"""Names of types in BFCL that are none of JSON schema; `any` is no restriction."""


def read_tools(tools: Any) -> dict[str, Tool]:
    """The tools of `config.tools` by name: plain, or as in chat completions."""
    found = {}
    for entry in tools if isinstance(tools, list) else ():
        tool = entry.get("function", entry) if isinstance(entry, Mapping) else None
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
            parameters, about = tool.get("parameters"), tool.get("description")
            schema = parameters if isinstance(parameters, Mapping) else {}
            description = about if isinstance(about, str) else ""
            found[tool["name"]] = Tool(tool["name"], description, schema)
    return found


def offered_tools(tools: Mapping[str, Tool]) -> tuple[Tool, ...]:
    """The tools as they are sent: names that every API accepts, types of JSON schema."""
    return tuple(
        Tool(_api_name(tool.name), tool.description, _schema(tool.parameters))
        for tool in tools.values()
    )


def calls_by_tool_name(
    calls: Sequence[ToolCall], tools: Mapping[str, Tool]
) -> list[dict[str, str]]:
    """The calls of a reply, under the names that the tools have in the case."""
    names = {_api_name(name): name for name in tools}
    return [
        {"name": names.get(call.name, call.name), "arguments": call.arguments or "{}"}
        for call in calls
    ]


def _api_name(name: str) -> str:
    return _OTHER_LETTER.sub("_", name)[:_MAX_NAME]


def _schema(value: Any) -> Any:
    """The schema with the names of JSON schema for types, at any depth."""
    if isinstance(value, list):
        return [_schema(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    changed = {key: _schema(one) for key, one in value.items()}
    kind = value.get("type")
    if kind == "any":
        del changed["type"]
    elif isinstance(kind, str) and kind in _TYPES:
        changed["type"] = _TYPES[kind]
    return changed
