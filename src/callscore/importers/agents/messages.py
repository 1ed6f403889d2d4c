"""Messages with tool calls, in the forms of model APIs, as events of one conversation.

Read are the messages of OpenAI (chat completions, Responses), Anthropic, Gemini, LangChain, and the
`gen_ai` messages of OpenTelemetry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

_ROLES = {"human": "user", "customer": "user", "ai": "assistant", "model": "assistant",
          "agent": "assistant", "bot": "assistant", "developer": "system"}  # fmt: skip
_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant", "AIMessageChunk": "assistant",
            "ToolMessage": "tool", "SystemMessage": "system"}  # fmt: skip
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "toolCall", "server_tool_use"})
_RESULTS = frozenset(
    {"tool_result", "tool_call_response", "function_call_output", "tool_call_result"}
)
_HAND_OFF = re.compile(r"(?:transfer|hand_?off|delegate)_to_(\w+)", re.IGNORECASE)


class TracedCall(msgspec.Struct):
    """A tool call and its result; `has_result` tells an empty result from none."""

    name: str
    arguments: Any
    id: str = ""
    result: Any = None
    has_result: bool = False

    @property
    def hand_off(self) -> str:
        """The agent to which the call hands over; empty for other tools."""
        found = _HAND_OFF.fullmatch(self.name)
        return found[1] if found else ""


class Event(msgspec.Struct):
    """What one side said, and the tools that it called."""

    role: Literal["system", "user", "assistant"]
    text: str = ""
    calls: list[TracedCall] = []
    agent: str = ""


def read_events(messages: Sequence[Any]) -> list[Event]:
    """The events of a list of messages; results are put next to their calls."""
    events: list[Event] = []
    for message in messages:
        if isinstance(message, str):
            events.append(Event("user", message))
        elif isinstance(message, Mapping):
            _add_message(events, _unwrap(message))
    return [event for event in events if event.text.strip() or event.calls]


def _unwrap(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a message that LangChain serialised with its class."""
    inner = message.get("kwargs", message.get("data"))
    if not isinstance(inner, Mapping):
        return message
    path = message.get("id")
    name = str(path[-1]) if isinstance(path, list) and path else ""
    role = _CLASSES.get(name, message.get("type"))
    return {**inner, "role": role}


def _add_message(events: list[Event], message: Mapping[str, Any]) -> None:
    kind = message.get("type")
    if kind in _CALLS:
        _last_assistant(events).calls.append(_call(message))
        return
    if kind in _RESULTS:
        _add_result(events, message)
        return
    given = str(message.get("role") or kind or "").lower()
    role = _ROLES.get(given, given)
    is_result = role in ("tool", "function")
    if is_result and not any(_part_kind(part) == "result" for part in _parts(message)):
        _add_result(events, message)
        return
    event = Event(
        "user" if role == "user" else "system" if role == "system" else "assistant",
        agent=str(message.get("name") or "") if role == "assistant" else "",
    )
    texts = []
    for part in _parts(message):
        kind_of_part = _part_kind(part)
        if kind_of_part == "call":
            event.calls.append(_call(part))
        elif kind_of_part == "result":
            _add_result(events, part)
        elif text := _text(part):
            texts.append(text)
    event.calls += [_call(call) for call in _listed_calls(message)]
    event.text = "\n".join(texts)
    if not is_result:
        events.append(event)


def _last_assistant(events: list[Event]) -> Event:
    """The event that a call on its own belongs to: the assistant's turn in progress."""
    if not events or events[-1].role != "assistant" or _is_answered(events[-1]):
        events.append(Event("assistant"))
    return events[-1]


def _is_answered(event: Event) -> bool:
    return any(call.has_result for call in event.calls)


def _parts(message: Mapping[str, Any]) -> Iterator[Any]:
    content = message.get("parts", message.get("content"))
    yield from content if isinstance(content, list) else [content]


def _part_kind(part: Any) -> str:
    if not isinstance(part, Mapping):
        return "text"
    if part.get("type") in _CALLS or "functionCall" in part or "function_call" in part:
        return "call"
    is_result = "functionResponse" in part or "function_response" in part
    return "result" if is_result or part.get("type") in _RESULTS else "text"


def _listed_calls(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("tool_calls", "toolCalls"):
        calls = message.get(key)
        if isinstance(calls, list) and calls:
            yield from (call for call in calls if isinstance(call, Mapping))
            return


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    found = part.get("text", part.get("content")) if isinstance(part, Mapping) else None
    return found if isinstance(found, str) and part.get("type") != "reasoning" else ""


def _call(part: Mapping[str, Any]) -> TracedCall:
    inner: Any = part
    for key in ("functionCall", "function_call", "function"):
        if isinstance(inner.get(key), Mapping):
            inner = inner[key]
    name = inner.get("name") or inner.get("function") or ""
    keys = ("arguments", "args", "input", "parameters", "input_parameters")
    arguments: Any = next((inner[key] for key in keys if inner.get(key) is not None), {})
    called_by = part.get("call_id") or part.get("id") or inner.get("id") or ""
    return TracedCall(str(name), decoded(arguments), str(called_by))


def _add_result(events: Sequence[Event], part: Mapping[str, Any]) -> None:
    """Put a result next to its call: by id, else by name, else to the first that waits."""
    inner: Any = part
    for key in ("functionResponse", "function_response"):
        inner = part[key] if isinstance(part.get(key), Mapping) else inner
    keys = ("tool_call_id", "tool_use_id", "call_id", "id")
    wanted = next((str(inner[key]) for key in keys if inner.get(key)), "")
    waiting = [call for event in events for call in event.calls if not call.has_result]
    named = [call for call in waiting if wanted and call.id == wanted]
    named += [call for call in waiting if not call.id and call.name == inner.get("name")]
    found = next(iter(named or waiting), None)
    if found is not None:
        keys = ("response", "result", "output", "content")
        value = next((inner[key] for key in keys if inner.get(key) is not None), None)
        found.result, found.has_result = decoded(_joined(value)), True


def _joined(value: Any) -> Any:
    """The text of a result that is a list of text parts; other values as they are."""
    if isinstance(value, list) and value and all(_text(part) for part in value):
        return "\n".join(map(_text, value))
    return value


def decoded(value: Any) -> Any:
    """The value of a JSON text; a text that is not JSON stays a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}")
    except (ValueError, RecursionError):
        return value
