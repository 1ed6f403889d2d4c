"""Tool calls as files contain them: plain, or as in chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Reply, ToolCall
from callscore.core.strict_json import DECODE_ERRORS

_KEYS = ("tool_calls", "calls")


def recorded_calls(value: Any) -> tuple[ToolCall, ...]:
    """The calls in a list; an entry that is not a call becomes one without a name, which is
    scored as wrong.
    """
    return tuple(map(_call, value)) if isinstance(value, list) else ()


def _call(entry: Any) -> ToolCall:
    function = entry.get("function", entry) if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping):
        return ToolCall("", "")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolCall(name if isinstance(name, str) else "", arguments)


def with_calls_of_object(reply: Reply) -> Reply:
    """The reply to a step, with the calls of the recorded object, list or call."""
    if not isinstance(reply.text, bytes) or reply.tool_calls:
        return reply
    try:
        value = msgspec.json.decode(reply.text)
    except DECODE_ERRORS:
        return reply
    calls = _calls_in(value)
    if calls is None:
        return reply
    text = value.get("content", value.get("text")) if isinstance(value, dict) else None
    said = text if isinstance(text, str) else ""
    return msgspec.structs.replace(reply, text=said, tool_calls=recorded_calls(calls))


def _calls_in(value: Any) -> list[Any] | None:
    """The list of calls in a recorded value; None if it contains none (a plan)."""
    if isinstance(value, list):
        return value if value and all(map(_is_call, value)) else None
    if not isinstance(value, dict):
        return None
    if _is_call(value):
        return [value]
    found = next((value[key] for key in _KEYS if key in value), None)
    return found if isinstance(found, list) else None


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and (
        "function" in value or {"name", "arguments"} <= value.keys()
    )
