"""OpenTelemetry: spans and events of requests to models, by the conventions for `gen_ai`.

Read are messages in attributes (`gen_ai.input.messages`), in numbered attributes as OpenLLMetry
(`gen_ai.prompt.0.content`) and OpenInference (`llm.input_messages.0.message.content`) write them,
and in the events of earlier versions (`gen_ai.user.message`, `gen_ai.choice`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.importers.agents.conversations import CHOICES, NO_REPLY, Request
from callscore.importers.agents.loose_json import as_list, as_object, objects_in
from callscore.importers.agents.messages import decoded
from callscore.importers.agents.spent import milliseconds, spent_in

_FAILED = ("2", "STATUS_CODE_ERROR", "ERROR")
_GROUPS = {
    "resourceSpans": ("scopeSpans", "spans"),
    "resource_spans": ("scope_spans", "spans"),
    "resourceLogs": ("scopeLogs", "logRecords"),
    "resource_logs": ("scope_logs", "log_records"),
}
_MESSAGE_EVENT = ".message"
_CHOICE = "gen_ai.choice"
_MAX_DEPTH = 64
_PROMPTS = ("gen_ai.prompt", "llm.input_messages")
_COMPLETIONS = ("gen_ai.completion", "llm.output_messages")
_USED = "gen_ai.usage."
_TOOLS = ("llm.request.functions", "llm.tools")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_CONVERSATIONS = ("gen_ai.conversation.id", "session.id")
_AGENTS = ("gen_ai.agent.name", "agent.name")


class _Span(NamedTuple):
    """A span, or an event that belongs to one."""

    trace: str
    id: str
    parent: str
    attributes: Mapping[str, Any]
    start: Any = ""
    end: Any = ""
    error: str = ""
    event: str = ""
    body: Any = None


def is_telemetry(value: Mapping[str, Any]) -> bool:
    """Whether the value is a span, an event, or an export of OTLP."""
    is_span = isinstance(value.get("attributes"), Mapping | list)
    return is_span or any(key in value for key in _GROUPS)


def read_spans(values: Iterable[Any]) -> Iterator[Request]:
    """The requests in spans and events; agents are named by the spans around a request."""
    spans = [span for value in values if isinstance(value, Mapping) for span in _spans(value)]
    whole = {span.id: span for span in spans if span.id and not span.event}
    said: dict[tuple[str, str], list[_Span]] = {}
    for span in spans:
        if span.event == _CHOICE or span.event.endswith(_MESSAGE_EVENT):
            said.setdefault((span.trace, span.id), []).append(span)
        else:
            request = _request(span, whole)
            if request is not None:
                yield request
    for (_, name), events in said.items():
        yield _request_of_events(whole.get(name, events[0]), events, whole)


def _spans(value: Mapping[str, Any]) -> Iterator[_Span]:
    for group, (scopes, records) in _GROUPS.items():
        for resource in objects_in(value.get(group)):
            for scope in objects_in(resource.get(scopes)):
                for record in objects_in(scope.get(records)):
                    yield from _record(record)
    if isinstance(value.get("attributes"), Mapping | list):
        yield from _record(value)


def _record(record: Mapping[str, Any]) -> Iterator[_Span]:
    """A span with its own events, or a log record."""
    context = record.get("context")
    where = {**context, **record} if isinstance(context, Mapping) else record
    trace, name, parent = (
        _first(where, keys)
        for keys in (
            ("traceId", "trace_id"),
            ("spanId", "span_id"),
            ("parentSpanId", "parent_span_id", "parent_id"),
        )
    )
    attributes = _attributes(record.get("attributes"))
    given = record.get("status")
    status: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    failed = str(status.get("code", status.get("status_code"))) in _FAILED
    told = status.get("message") or status.get("description") or "failed"
    yield _Span(
        str(trace),
        str(name),
        str(parent),
        attributes,
        _first(record, ("startTimeUnixNano", "start_time", "timeUnixNano", "timestamp")),
        _first(record, ("endTimeUnixNano", "end_time")),
        str(attributes.get("error.type") or (told if failed else "")),
        str(_first(record, ("eventName", "event_name")) or attributes.get("event.name") or ""),
        _any_value(record.get("body")),
    )
    for event in objects_in(record.get("events")):
        if str(event.get("name")).startswith("gen_ai."):
            of_event = _attributes(event.get("attributes"))
            body = event.get("body", of_event)
            at = _first(event, ("timeUnixNano", "timestamp"))
            yield _Span(
                str(trace), str(name), str(parent), of_event, at, event=event["name"], body=body
            )


def _first(values: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((values[key] for key in keys if values.get(key)), "")


def _attributes(given: Any) -> Mapping[str, Any]:
    if isinstance(given, list):
        return {
            one["key"]: _any_value(one.get("value"))
            for one in given
            if isinstance(one, Mapping) and isinstance(one.get("key"), str)
        }
    return given if isinstance(given, Mapping) else {}


_VALUES = frozenset(
    {"stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue",
     "kvlistValue"}
)  # fmt: skip


def _any_value(value: Any) -> Any:
    """An `AnyValue` of OTLP as plain JSON; other values as they are."""
    if not isinstance(value, Mapping) or not value.keys() <= _VALUES or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [_any_value(one) for one in as_list(as_object(inner).get("values"))]
    if kind == "kvlistValue":
        return dict(_attributes(as_list(as_object(inner).get("values"))))
    is_number = kind == "intValue" and str(inner).removeprefix("-").isdecimal()
    return int(inner) if is_number else inner


def _request(span: _Span, spans: Mapping[str, _Span]) -> Request | None:
    """A request to a model, or what a tool returned; None for other spans."""
    attributes = span.attributes
    asked = decoded(attributes.get("gen_ai.input.messages"))
    replied = decoded(attributes.get("gen_ai.output.messages"))
    if not isinstance(asked, list):
        asked = _numbered(attributes, _PROMPTS)
    if not isinstance(replied, list):
        replied = _numbered(attributes, _COMPLETIONS)
    call = str(attributes.get("gen_ai.tool.call.id") or "")
    if not (asked or replied or call):
        return None
    told = decoded(attributes.get("gen_ai.system_instructions"))
    system = [{"role": "system", "parts": told}] if isinstance(told, list) and told else []
    has_result = call and "gen_ai.tool.call.result" in attributes
    results = {call: attributes["gen_ai.tool.call.result"]} if has_result else {}
    return _with_span(span, spans, [*system, *asked], replied, results)


def _with_span(
    span: _Span,
    spans: Mapping[str, _Span],
    asked: Sequence[Any],
    replied: Sequence[Any],
    results: Mapping[str, Any],
) -> Request:
    around = spans.get(span.id, span) if span.event else span
    attributes = {**around.attributes, **span.attributes}
    tools = decoded(attributes.get("gen_ai.tool.definitions")) or [
        decoded(tool.get("json_schema", tool)) for tool in _numbered(attributes, _TOOLS)
    ]
    usage = {
        key.removeprefix(_USED): value
        for key, value in attributes.items()
        if key.startswith(_USED) and "cache" not in key  # input tokens have those of the cache
    }
    usage |= {
        f"{name}_tokens": attributes[key]
        for name in ("prompt", "completion")
        if (key := f"llm.token_count.{name}") in attributes
    }
    whole = as_object(decoded(attributes.get("output.value")))
    is_response = whole.get("object") == "response"
    choices = decoded(attributes.get("gen_ai.response.finish_reasons"))
    is_one = is_response or (isinstance(choices, list) and len(choices) == 1)
    params = as_object(decoded(attributes.get("llm.invocation_parameters")))
    reply = [_whole(replied)] if is_one and len(replied) > 1 else replied[:1]
    return Request(
        str(_first(attributes, _CONVERSATIONS) or span.trace),
        asked,
        reply,
        str(_first(attributes, _MODELS)),
        tools,
        _agent_of(around, spans),
        around.error or span.error,
        str(around.start),
        results,
        spent_in(usage, milliseconds(around.start, around.end)),
        id=str(whole.get("id") or "") if is_response else "",
        after=str(params.get("previous_response_id") or ""),
        unread=[CHOICES] * (0 if is_one else len(replied) - 1) + [NO_REPLY] * (not replied),
    )


def _whole(messages: Sequence[Any]) -> dict[str, Any]:
    """One message, of the messages of a reply that has several."""
    parts: list[Any] = []
    calls: list[Any] = []
    for message in objects_in(messages):
        content = message.get("parts", message.get("content"))
        parts += content if isinstance(content, list) else [content]
        calls += as_list(message.get("tool_calls"))
    return {"role": "assistant", "parts": parts, "tool_calls": calls}


def _agent_of(span: _Span, spans: Mapping[str, _Span]) -> str:
    """The agent in whose span the request is."""
    for _ in range(_MAX_DEPTH):
        attributes = span.attributes
        if name := _first(attributes, _AGENTS):
            return str(name)
        if attributes.get("traceloop.span.kind") == "agent":
            return str(attributes.get("traceloop.entity.name") or "")
        if span.parent not in spans:
            return ""
        span = spans[span.parent]
    return ""


def _request_of_events(span: _Span, events: Sequence[_Span], spans: Mapping[str, _Span]) -> Request:
    """The request whose messages are events: one per message, and one per choice."""
    asked, replied = [], []
    for event in events:
        body = decoded(event.body)
        if not isinstance(body, Mapping):
            continue
        if event.event == _CHOICE:
            message = decoded(body.get("message"))
            said = message if isinstance(message, Mapping) else body
            replied.append({**said, "role": "assistant"})
        else:
            role = event.event.removeprefix("gen_ai.").removesuffix(_MESSAGE_EVENT)
            asked.append({**body, "role": body.get("role") or role})
    return _with_span(span, spans, asked, replied, {})


def _numbered(attributes: Mapping[str, Any], prefixes: Sequence[str]) -> list[Any]:
    """Lists in attributes of their own: `llm.tools.0.name` becomes `[{"name": …}]`."""
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        prefix = next((one for one in prefixes if key.startswith(one + ".")), None)
        if prefix is None:
            continue
        *path, last = key.removeprefix(prefix + ".").split(".")
        place = tree
        for part in path:
            inner = place.setdefault(part, {})
            place = inner if isinstance(inner, dict) else {}
        place[last] = value
    return [_plain_message(one) for one in _as_list(tree)]


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, Mapping):
        return []
    numbers = sorted((int(key), key) for key in value if key.isdecimal())
    return [value[key] for _, key in numbers]


def _plain_message(value: Any) -> Any:
    """A numbered message with its numbered tool calls as a list, without the extra levels."""
    if not isinstance(value, Mapping):
        return value
    message = {"role": "assistant", **_inner(value, ("message", "tool"))}
    if "tool_calls" in message:
        message["tool_calls"] = [
            _inner(one, ("tool_call",)) for one in _as_list(message["tool_calls"])
        ]
    content = decoded(message.get("content"))
    parts = [_inner(one, ("message_content",)) for one in _as_list(message.get("contents"))]
    if parts or isinstance(content, list):
        message["content"] = parts or content
    return message


def _inner(value: Any, keys: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    return dict(next((value[key] for key in keys if isinstance(value.get(key), Mapping)), value))
