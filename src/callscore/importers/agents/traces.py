"""Traces of agents: requests to model APIs, OpenTelemetry, Langfuse, LangSmith, Inspect.

A trace is one conversation of one model. Of several requests in one trace, the one with the longest
history counts: it contains the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Tool
from callscore.core.errors import DataError
from callscore.importers.agents.messages import Event, decoded, read_events
from callscore.importers.agents.tools import read_tools
from callscore.importers.inspect_log import InspectLog, is_inspect, read_inspect_log
from callscore.importers.source_file import Source

_FAILED = ("2", "STATUS_CODE_ERROR", "ERROR")
MODEL = "recorded"
"""The name of a model that a trace does not name."""


class AgentTrace(msgspec.Struct):
    """One recorded conversation of an agent."""

    id: str
    events: list[Event]
    model: str = MODEL
    tools: list[Tool] = []
    error: str = ""


class _Request(msgspec.Struct):
    """One request to a model in a trace, with its reply."""

    trace: str
    messages: Sequence[Any]
    model: str = ""
    tools: Any = None
    agent: str = ""
    error: str = ""
    at: str = ""
    results: Mapping[str, Any] = {}
    """By id of the call, what a tool returned, if that is all that was recorded."""


def read_traces(source: Source) -> list[AgentTrace] | None:
    """The traces of a file; None if it has no messages that could be those of an agent."""
    requests = list(_read_requests(source))
    if not requests:
        return None
    by_trace: dict[str, list[_Request]] = {}
    for request in requests:
        by_trace.setdefault(request.trace or source.stem, []).append(request)
    return [
        _trace(name, found)
        for name, found in by_trace.items()
        if any(request.messages for request in found)
    ]


def _read_requests(source: Source) -> Iterator[_Request]:
    if is_inspect(source):
        yield from _inspect(read_inspect_log(source))
    elif not source.is_archive:
        for number, value in enumerate(_values(source)):
            yield from _requests(value, number)


def _values(source: Source) -> list[Any]:
    """The JSON values of the file: one, a list of them, or one per line."""
    whole = source.json
    if whole is None:
        try:
            lines = [line for line in source.text.splitlines() if line.strip()]
            return [msgspec.json.decode(line) for line in lines]
        except (msgspec.DecodeError, RecursionError, DataError):
            return []
    if isinstance(whole, list) and not _is_message(next(iter(whole), None)):
        return whole
    return [whole]


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value


def _trace(name: str, requests: Sequence[_Request]) -> AgentTrace:
    """The conversation of a trace: its longest request, and every agent and tool that it names."""
    longest = max(requests, key=lambda request: (len(request.messages), request.at))
    events = read_events(longest.messages)
    results = {of: value for request in requests for of, value in request.results.items()}
    for call in (call for event in events for call in event.calls):
        if not call.has_result and call.id in results:
            call.result, call.has_result = decoded(results[call.id]), True
    by_last_message = {_last_call(request): request.agent for request in requests if request.agent}
    for event in events:
        event.agent = event.agent or by_last_message.get(_calls_key(event), "")
    tools = {tool.name: tool for request in requests for tool in read_tools(request.tools)}
    model = longest.model or next((one.model for one in requests if one.model), MODEL)
    return AgentTrace(name, events, model, list(tools.values()), longest.error)


def _last_call(request: _Request) -> str:
    events = read_events(request.messages[-1:])
    return _calls_key(events[-1]) if events else ""


def _calls_key(event: Event) -> str:
    return repr([(call.id, call.name, call.arguments) for call in event.calls] or event.text)


def _requests(value: Any, number: int) -> Iterator[_Request]:
    if isinstance(value, list) and value and all(map(_is_message, value)):
        yield _Request("", value)
    if not isinstance(value, Mapping):
        return
    if "resourceSpans" in value or "resource_spans" in value:
        yield from _otlp(value)
    elif isinstance(value.get("attributes"), Mapping):
        yield from _span(value, value["attributes"])
    elif isinstance(value.get("observations"), list):
        for one in value["observations"]:
            yield from _observation(one, str(value.get("id") or ""))
    elif value.get("type") == "GENERATION" or "traceId" in value:
        yield from _observation(value, "")
    elif "run_type" in value:
        yield from _langsmith_run(value)
    else:
        yield from _exchange(value, number)


def _exchange(value: Mapping[str, Any], number: int) -> Iterator[_Request]:
    """A request of a model API, with its reply next to it or inside."""
    asked = value.get("request", value.get("body", value))
    if not isinstance(asked, Mapping):
        return
    reply = value.get("response", value.get("output", value))
    messages = next(
        (
            asked[key]
            for key in ("messages", "contents", "input")
            if isinstance(asked.get(key), list)
        ),
        None,
    )
    if messages is None:
        return
    name = next(
        (str(value[key]) for key in ("id", "conversation_id", "trace_id") if value.get(key)), ""
    )
    model = asked.get("model") or (reply.get("model") if isinstance(reply, Mapping) else None)
    error = value.get("error")
    yield _Request(
        name or (f"trace-{number + 1}" if number else ""),
        [*messages, *_replies(reply if reply is not value or "choices" in value else None)],
        str(model or ""),
        asked.get("tools"),
        error=""
        if not error
        else str(error.get("message") if isinstance(error, Mapping) else error),
    )


def _replies(reply: Any) -> Iterator[Any]:
    """The messages of a reply, in the form of any API."""
    if isinstance(reply, list):
        yield from reply
    if not isinstance(reply, Mapping):
        return
    for key, inner in (("choices", "message"), ("candidates", "content")):
        for choice in (reply.get(key) or [])[:1]:
            if isinstance(choice, Mapping) and isinstance(choice.get(inner), Mapping):
                yield {"role": "assistant", **choice[inner]}
    if "choices" in reply or "candidates" in reply:
        return
    if isinstance(reply.get("output"), list):
        yield from reply["output"]
    elif isinstance(reply.get("messages"), list):
        yield from reply["messages"]
    elif "content" in reply or "tool_calls" in reply:
        yield {"role": "assistant", **reply}


def _otlp(value: Mapping[str, Any]) -> Iterator[_Request]:
    """The spans of an OTLP export in JSON."""
    for resource in value.get("resourceSpans", value.get("resource_spans")) or ():
        for scope in resource.get("scopeSpans", resource.get("scope_spans")) or ():
            for span in scope.get("spans") or ():
                listed = span.get("attributes") or ()
                yield from _span(span, {one["key"]: _any_value(one.get("value")) for one in listed})


def _any_value(value: Any) -> Any:
    """An `AnyValue` of OTLP as plain JSON."""
    if not isinstance(value, Mapping):
        return value
    if "arrayValue" in value:
        return [_any_value(one) for one in value["arrayValue"].get("values") or ()]
    if "kvlistValue" in value:
        listed = value["kvlistValue"].get("values") or ()
        return {one["key"]: _any_value(one.get("value")) for one in listed}
    if "intValue" in value:
        return int(value["intValue"])
    return next(iter(value.values()), None)


def _span(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[_Request]:
    """A span of a request to a model, by the conventions of OpenTelemetry for `gen_ai`."""
    asked = decoded(attributes.get("gen_ai.input.messages")) or _indexed(attributes, "prompt")
    replied = decoded(attributes.get("gen_ai.output.messages")) or _indexed(
        attributes, "completion"
    )
    call = str(attributes.get("gen_ai.tool.call.id") or "")
    if not isinstance(asked, list) or not (asked or call):
        return
    context = span.get("context")
    where = {**context, **span} if isinstance(context, Mapping) else span
    trace = attributes.get("gen_ai.conversation.id") or next(
        (where[key] for key in ("traceId", "trace_id") if where.get(key)), ""
    )
    given = span.get("status")
    status: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    failed = str(status.get("code", status.get("status_code"))) in _FAILED
    error = attributes.get("error.type") or (failed and status.get("message")) or ""
    yield _Request(
        str(trace),
        [*asked, *(replied if isinstance(replied, list) else ())],
        str(
            attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model") or ""
        ),
        decoded(attributes.get("gen_ai.tool.definitions")),
        str(attributes.get("gen_ai.agent.name") or ""),
        str(error or ("failed" if failed else "")),
        str(span.get("startTimeUnixNano", span.get("start_time")) or ""),
        {call: attributes["gen_ai.tool.call.result"]}
        if call and "gen_ai.tool.call.result" in attributes
        else {},
    )


_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.(\d+)\.(?:tool_calls\.(\d+)\.)?(\w+)")


def _indexed(attributes: Mapping[str, Any], kind: str) -> list[Any]:
    """Messages in attributes of their own, as OpenLLMetry writes: `gen_ai.prompt.0.content`."""
    messages: dict[int, dict[str, Any]] = {}
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    for name, value in attributes.items():
        found = _INDEXED.fullmatch(name)
        if found is None or found[1] != kind:
            continue
        message = messages.setdefault(int(found[2]), {"role": "assistant"})
        if found[3] is None:
            message[found[4]] = value
        else:
            calls.setdefault((int(found[2]), int(found[3])), {})[found[4]] = value
    for (place, _), call in sorted(calls.items()):
        messages[place].setdefault("tool_calls", []).append(call)
    return [messages[place] for place in sorted(messages)]


def _observation(value: Any, trace: str) -> Iterator[_Request]:
    """A generation of a Langfuse export."""
    if not isinstance(value, Mapping) or value.get("type") not in ("GENERATION", "generation"):
        return
    asked: Any = decoded(value.get("input"))
    replied: Any = decoded(value.get("output"))
    tools = None
    if isinstance(asked, Mapping):
        asked, tools = asked.get("messages"), asked.get("tools")
    if not isinstance(asked, list):
        return
    said = [{"role": "assistant", "content": replied}] if isinstance(replied, str) else None
    failed = value.get("level") == "ERROR"
    yield _Request(
        trace or str(value.get("traceId") or value.get("trace_id") or ""),
        [*asked, *(said or _replies(replied))],
        str(value.get("model") or ""),
        tools,
        error=str(value.get("statusMessage") or "failed") if failed else "",
        at=str(value.get("startTime") or ""),
    )


def _langsmith_run(value: Mapping[str, Any]) -> Iterator[_Request]:
    """A run of the type `llm` of a LangSmith export."""
    inputs, outputs = value.get("inputs"), value.get("outputs")
    if value.get("run_type") != "llm" or not isinstance(inputs, Mapping):
        return
    asked: Any = inputs.get("messages")
    if isinstance(asked, list) and asked and isinstance(asked[0], list):
        asked = asked[0]
    if not isinstance(asked, list):
        return
    said: list[Any] = list(_replies(outputs))
    given: Mapping[str, Any] = outputs if isinstance(outputs, Mapping) else {}
    generated: Any = given.get("generations")
    while isinstance(generated, list) and generated:
        generated = generated[0]
    if isinstance(generated, Mapping) and isinstance(generated.get("message"), Mapping):
        said = [generated["message"]]
    extra: Any = value.get("extra")
    sent: Any = extra.get("invocation_params") if isinstance(extra, Mapping) else None
    params: Mapping[str, Any] = sent if isinstance(sent, Mapping) else {}
    yield _Request(
        str(value.get("trace_id") or value.get("id") or ""),
        [*asked, *said],
        str(params.get("model") or params.get("model_name") or ""),
        params.get("tools"),
        error=str(value.get("error") or ""),
        at=str(value.get("start_time") or ""),
    )


def _inspect(log: InspectLog) -> Iterator[_Request]:
    """The samples of an Inspect log; a sample that failed stays failed."""
    for sample in log.samples:
        if isinstance(sample, Mapping) and isinstance(sample.get("messages"), list):
            error = sample.get("error")
            why = error.get("message") if isinstance(error, Mapping) else error
            name = f"{sample.get('id')}-{sample.get('epoch', 1)}"
            yield _Request(name, sample["messages"], log.model, error=str(why or ""))
