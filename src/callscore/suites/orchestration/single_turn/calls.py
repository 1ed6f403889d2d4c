"""Expected calls (two forms), calls of a model (several forms), and the tools it is offered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.case import Malformed, Tool, ToolCall
from callscore.core.errors import DataError
from callscore.suites.orchestration.call.compare import AcceptedValues
from callscore.suites.orchestration.decision.parse import read_calls
from callscore.suites.orchestration.scenario.model import DecodedCall
from callscore.suites.orchestration.spec import spec

_KEYS = ("calls", "actions", "tool_calls")
LEFT_OUT = ""
"""An accepted value that means: the argument may be left out."""
_OTHER_LETTER = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
"""Names of types in BFCL that are none of JSON schema; `any` is no restriction."""


def expected_calls(calls: Any) -> tuple[DecodedCall, ...]:
    """`[{tool: {argument: [accepted, …]}}]`; an empty text makes the argument optional."""
    if not isinstance(calls, list):
        raise DataError("expected a list of calls", field="expected_outcome.calls")
    found = []
    for place, call in enumerate(calls):
        where = f"expected_outcome.calls[{place}]"
        if not isinstance(call, Mapping) or len(call) != 1:
            raise DataError("expected one tool with its arguments", field=where)
        ((name, arguments),) = call.items()
        if not isinstance(arguments, Mapping):
            raise DataError("expected an object of arguments", field=f"{where}.{name}")
        found.append(
            DecodedCall(name, {key: _accepted_values(value) for key, value in arguments.items()})
        )
    return tuple(found)


def _accepted_values(alternatives: Any) -> AcceptedValues:
    """The accepted values, inside objects too; a value that is not a list is the only one."""
    listed = alternatives if isinstance(alternatives, list) else [alternatives]
    values = [value for value in listed if value != LEFT_OUT]
    return AcceptedValues(
        tuple(_nested_values(value) for value in values) or (LEFT_OUT,), LEFT_OUT in listed
    )


def _nested_values(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _accepted_values(inner) for key, inner in value.items()}
    if isinstance(value, list) and any(isinstance(element, Mapping) for element in value):
        return [_nested_values(element) for element in value]
    return value


def expected_actions(actions: Any) -> tuple[DecodedCall, ...]:
    """`[{name, kwargs}]`; only state-changing calls are compared."""
    if not isinstance(actions, list):
        raise DataError("expected a list of actions", field="expected_outcome.actions")
    calls = [_read_action(action) for action in actions]
    if None in calls:
        raise DataError("expected name and kwargs", field="expected_outcome.actions")
    return state_changing_calls([call for call in calls if call is not None])


def _read_action(action: Any) -> DecodedCall | None:
    if not isinstance(action, Mapping):
        return None
    arguments = action.get("kwargs", action.get("arguments"))
    name = action.get("name")
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return None
    return DecodedCall(name, arguments)


def state_changing_calls(calls: Sequence[DecodedCall]) -> tuple[DecodedCall, ...]:
    """The calls that are not read-only; read-only calls are never wrong."""
    rules = spec().single_turn
    return tuple(
        call
        for call in calls
        if call.name not in rules.reading_tools and not call.name.startswith(rules.reading_prefixes)
    )


def predicted_calls(
    output: Mapping[str, Any],
) -> tuple[tuple[DecodedCall, ...], tuple[str, ...]] | Malformed:
    """The calls of an output; each is `{name, arguments|kwargs}`, `{function: …}` or `{tool: {…}}`.

    Their list is named `calls`, `actions` or `tool_calls`.
    """
    listed = next((output[key] for key in _KEYS if key in output), None)
    if not isinstance(listed, list):
        return Malformed("structure", 'no list of calls; expected {"calls": […]}')
    calls, malformed = read_calls([_normalize_call(call) for call in listed])
    return tuple(calls), tuple(malformed)


def _normalize_call(call: Any) -> Any:
    if not isinstance(call, Mapping) or "function" in call:
        return call
    if "kwargs" in call:
        return {"name": call.get("name"), "arguments": call["kwargs"]}
    if len(call) == 1 and "name" not in call:
        ((name, arguments),) = call.items()
        return {"name": name, "arguments": arguments}
    return call


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
