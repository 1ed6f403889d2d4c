"""Messages with tool calls, in the forms of model APIs, as events of one conversation.

Read are the messages of OpenAI (chat completions, Responses), Anthropic, Gemini, LangChain, the
Vercel AI SDK, Inspect, and the `gen_ai` messages of OpenTelemetry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.importers.agents.loose_json import as_list, as_object, as_word, objects_in
from callscore.importers.agents.spent import Spent

_ROLES = {"human": "user", "customer": "user", "ai": "assistant", "model": "assistant",
          "agent": "assistant", "bot": "assistant", "aimessagechunk": "assistant",
          "developer": "system", "message": ""}  # fmt: skip
_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant", "AIMessageChunk": "assistant",
            "ToolMessage": "tool", "SystemMessage": "system"}  # fmt: skip
_SERIALISED = frozenset({*_CLASSES.values(), "human", "ai", "AIMessageChunk"})
"""The roles of messages that LangChain serialises."""
_CALLS = frozenset(
    {"tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call", "mcp_call",
     "toolCall", "server_tool_use", "server_tool_call"}
)  # fmt: skip
_RESULTS = frozenset(
    {"tool_result", "tool-result", "tool_call_response", "tool_call_result",
     "function_call_output", "custom_tool_call_output", "server_tool_call_response"}
)  # fmt: skip
_SPOKEN = ("", "text", "input_text", "output_text", "refusal")
_REASONING = frozenset({"reasoning", "thinking", "redacted_thinking"})
_ARGUMENTS = ("arguments", "args", "input", "parameters", "input_parameters", "server_tool_call")
_CALL_IDS = ("tool_call_id", "tool_use_id", "toolCallId", "call_id", "id")
_RETURNED = ("response", "result", "output", "content", "server_tool_call_response")
_HAND_OFF = re.compile(r"(?:transfer|hand_?off|delegate)_to_(\w+)", re.IGNORECASE)
_AGENT = ("agent_name", "agent", "to_agent", "agent_id", "destination")
_NO_AGENT = re.compile(
    r"(?:(?:a_|live_|real_)?(?:human|person)(?:_agents?)?|agents?|(?:phone_?)?number|operator|"
    r"representative|queue|voicemail|supervisor)",
    re.IGNORECASE,
)
"""Targets of a transfer that are a person or a telephone line, not another agent."""
UNREADABLE = "arguments that are not a JSON object"
LOOSE = "tool results without a call"


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
        if found is None:
            return ""
        given: Mapping[str, Any] = self.arguments if isinstance(self.arguments, Mapping) else {}
        named = next((given[key] for key in _AGENT if isinstance(given.get(key), str)), "")
        if found[1].lower() == "agent" and named:
            return str(named)
        return "" if _NO_AGENT.fullmatch(found[1]) else found[1]


class Event(msgspec.Struct):
    """What one side said, and the tools that it called."""

    role: Literal["system", "user", "assistant"]
    text: str = ""
    calls: list[TracedCall] = []
    agent: str = ""
    spent: Spent = Spent()
    """What the request took whose reply this is."""
    unread: list[str] = []
    """By kind, parts that are left out: reasoning, images, results without a call."""


def is_message(value: Any) -> bool:
    """Whether the value is a message, or a call, result or reasoning next to messages."""
    if not isinstance(value, Mapping):
        return False
    kind = as_word(value.get("type"))
    if "role" in value or kind in _CALLS | _RESULTS | _REASONING:
        return True
    return _unwrap(value) is not value and _unwrap(value)["role"] in _SERIALISED


def has_only_results(messages: Sequence[Any]) -> bool:
    """Whether the messages, apart from those of the system, are results of tools."""
    said = [one for one in objects_in(messages) if one.get("role") not in ("system", "developer")]
    return bool(said) and all(
        one.get("role") in ("tool", "function") or as_word(one.get("type")) in _RESULTS
        for one in said
    )


def read_events(messages: Sequence[Any]) -> list[Event]:
    """The events of a list of messages; results are put next to their calls."""
    events: list[Event] = []
    for message in messages:
        if isinstance(message, str):
            events.append(Event("user", message))
        elif isinstance(message, Mapping):
            _add_message(events, _unwrap(message))
        elif isinstance(message, list) and len(message) == 2:
            _add_message(events, {"role": message[0], "content": message[1]})
    return _without_empty(events)


def _without_empty(events: Sequence[Event]) -> list[Event]:
    """The events that say or call something; what others have unread is named in the next."""
    kept: list[Event] = []
    unread: list[str] = []
    for event in events:
        if event.text.strip() or event.calls:
            event.unread, unread = unread + event.unread, []
            kept.append(event)
        else:
            unread += event.unread
    if kept:
        kept[-1].unread += unread
    return kept


def _unwrap(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a message that LangChain serialised with its class."""
    inner = message.get("kwargs", message.get("data"))
    if not isinstance(inner, Mapping):
        return message
    path = message.get("id")
    name = str(path[-1]) if isinstance(path, list) and path else ""
    role = _CLASSES.get(name, as_word(message.get("type")))
    return {**inner, "role": role}


def _add_message(events: list[Event], message: Mapping[str, Any]) -> None:
    kind = as_word(message.get("type"))
    if kind in _CALLS:
        _add_call(_last_assistant(events), message)
        return
    if kind in _RESULTS:
        _add_result(events, message)
        return
    given = str(message.get("role") or kind or "").lower()
    role = _ROLES.get(given, given)
    if role in ("tool", "function"):
        _join_reply(events)
        listed = as_list(message.get("tool_messages")) or [
            part for part in _parts(message) if _part_kind(part) == "result"
        ]
        for result in listed or [message]:
            _add_result(events, result)
        return
    if not message.get("role") and role not in ("user", "assistant", "system"):
        events.append(Event("system", unread=[str(kind or "messages without a role")]))
        return
    event = Event(
        "user" if role == "user" else "system" if role == "system" else "assistant",
        agent=str(message.get("name") or "") if role == "assistant" else "",
    )
    texts = [
        text
        for part in _parts(message)
        if (text := _read_part(events, event, part)) and text.strip()
    ]
    if isinstance(spent := message.get("spent"), Spent):
        event.spent = spent
    known = {call.id for call in event.calls if call.id}
    for listed_call in _listed_calls(message):
        if _id_of(listed_call) not in known:
            _add_call(event, listed_call)
    event.text = "\n".join(texts)
    events.append(event)


def _join_reply(events: list[Event]) -> None:
    """Put the calls at the end into one event, if they are messages of their own.

    A result after several of them shows that they are of one reply, as the Responses API has them.
    """
    while len(events) > 1:
        before, last = events[-2:]
        is_more = last.role == "assistant" and last.calls and not last.text
        is_same = before.role == "assistant" and last.agent in ("", before.agent)
        if not (is_more and is_same) or _is_answered(before) or last.spent != Spent():
            break
        before.calls += last.calls
        before.unread += last.unread
        events.pop()


def _read_part(events: list[Event], event: Event, part: Any) -> str:
    """The text of a part; a call or a result is added, what is neither is named in its place."""
    kind = _part_kind(part)
    if kind == "call":
        _add_call(event, part)
    elif kind == "result":
        _add_result([*events, event], part)
    elif kind == "reasoning":
        event.unread.append("reasoning")
    elif kind == "text":
        return _text(part)
    else:
        event.unread.append(kind)
        return f"[{kind}]"
    return ""


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
    """Whether a part is a call, a result, reasoning or text; else its own type."""
    if not isinstance(part, Mapping):
        return "text"
    kind = as_word(part.get("type"))
    if kind in _CALLS or "functionCall" in part or "function_call" in part:
        return "call"
    if kind in _RESULTS or "functionResponse" in part or "function_response" in part:
        return "result"
    if kind in _REASONING or part.get("thought") is True:
        return "reasoning"
    if kind in _SPOKEN and (kind or "text" in part or "content" in part):
        return "text"
    return str(kind or next(iter(part), "part"))


def _listed_calls(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("tool_calls", "toolCalls"):
        calls = message.get(key)
        if isinstance(calls, list) and calls:
            yield from (call for call in calls if isinstance(call, Mapping))
            break
    yield from objects_in(message.get("invalid_tool_calls"))
    if isinstance(message.get("function_call"), Mapping):
        yield message["function_call"]


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    keys = ("text", "content", "refusal")
    return next((part[key] for key in keys if isinstance(part.get(key), str)), "")


def _id_of(part: Mapping[str, Any]) -> str:
    keys = ("call_id", "toolCallId", "id")
    return next((str(part[key]) for key in keys if part.get(key)), "")


def _add_call(event: Event, part: Mapping[str, Any]) -> None:
    inner: Any = part
    for key in ("functionCall", "function_call", "function"):
        if isinstance(inner.get(key), Mapping):
            inner = inner[key]
    name = inner.get("name") or inner.get("toolName") or inner.get("function") or ""
    given: Any = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), {})
    call = TracedCall(str(name), decoded(given), _id_of(part) or _id_of(inner))
    if not isinstance(call.arguments, Mapping) or part.get("parse_error"):
        event.unread.append(UNREADABLE)
    if part.get("type") == "mcp_call" and ("output" in part or part.get("error")):
        call.result, call.has_result = _returned(part), True
    event.calls.append(call)


def _add_result(events: Sequence[Event], part: Any) -> None:
    """Put a result next to its call: by id, else by name, else to the first that waits."""
    if not isinstance(part, Mapping):
        return
    inner: Any = part
    for key in ("functionResponse", "function_response"):
        inner = part[key] if isinstance(part.get(key), Mapping) else inner
    wanted = next((str(inner[key]) for key in _CALL_IDS if inner.get(key)), "")
    name = inner.get("name") or inner.get("toolName") or ""
    waiting = [call for event in events for call in event.calls if not call.has_result]
    found = [call for call in waiting if wanted and call.id == wanted]
    if not found:
        waiting = [call for call in waiting if not (call.id and wanted) or _is_item(call.id)]
        found = [call for call in waiting if name and call.name == name] or waiting
    if found:
        found[0].result, found[0].has_result = _returned(inner), True
    elif events:
        events[-1].unread.append(LOOSE)


def _is_item(name: str) -> bool:
    """Whether this is the id of an item of the Responses API, which results do not name."""
    return name.startswith("fc_")


def _returned(part: Mapping[str, Any]) -> Any:
    """What a tool returned; an error has the form that it has in a free run."""
    value = next((part[key] for key in _RETURNED if part.get(key) is not None), None)
    value = decoded(_joined(value))
    if isinstance(value, Mapping) and value.keys() == {"type", "value"}:
        value = value["value"]
    error = part.get("error")
    if isinstance(error, Mapping):
        return {"error": str(error.get("type") or "TOOL_ERROR"), "message": error.get("message")}
    failed = part.get("is_error") is True or part.get("status") == "error"
    if error or failed or part.get("successful") is False:
        message = error if isinstance(error, str) else value
        return {"error": "TOOL_ERROR", "message": message}
    return value


def _joined(value: Any) -> Any:
    """The text of a result that is a list of text parts; other values as they are."""
    if isinstance(value, list) and value and all(_text(part) for part in value):
        return "\n".join(map(_text, value))
    return value


def replies(reply: Any) -> Iterator[Any]:
    """The messages of a reply, in the form of any API; of several choices the first."""
    if isinstance(reply, str):
        yield {"role": "assistant", "content": reply}
    elif isinstance(reply, list):
        yield from reply
    elif isinstance(reply, Mapping):
        yield from _replies_in(reply)


def _replies_in(reply: Mapping[str, Any]) -> Iterator[Any]:
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if key in reply:
            choice = as_object(next(iter(as_list(reply[key])), None))
            if isinstance(choice.get(inner), Mapping):
                yield {"role": "assistant", **choice[inner]}
            return
    if isinstance(reply.get("message"), Mapping):
        yield {"role": "assistant", **reply["message"]}
    elif "output" in reply or "messages" in reply:
        yield from replies(reply.get("output", reply.get("messages")))
    elif any(key in reply for key in ("content", "parts", "tool_calls", "toolCalls")):
        yield {"role": "assistant", **reply}


def decoded(value: Any) -> Any:
    """The value of a JSON text; a text that is not JSON stays a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}")
    except (ValueError, RecursionError):
        return value
