"""Tool calls as files hold them: plain, or in the wrapping of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Reply, ToolCall

_KEYS = ("tool_calls", "calls")


def recorded_calls(value: Any) -> tuple[ToolCall, ...]:
    """The calls in a list; what is none stays one without a name, and costs its own step."""
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
    """The answer to a step, its calls taken out of an object that holds them."""
    if not isinstance(reply.text, bytes) or reply.tool_calls:
        return reply
    try:
        value = msgspec.json.decode(reply.text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return reply
    key = next((k for k in _KEYS if isinstance(value, dict) and k in value), None)
    if key is None or not isinstance(value[key], list):
        return reply
    text = value.get("content", value.get("text"))
    return msgspec.structs.replace(
        reply,
        text=text if isinstance(text, str) else "",
        tool_calls=recorded_calls(value[key]),
    )
