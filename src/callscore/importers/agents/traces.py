"""Traces of agents: requests to model APIs, OpenTelemetry, Langfuse, LangSmith, Inspect, voice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.agents.conversations import (
    CHOICES,
    AgentTrace,
    Request,
    read_conversations,
)
from callscore.importers.agents.loose_json import as_list, as_number, as_object, objects_in
from callscore.importers.agents.messages import decoded, is_message, replies
from callscore.importers.agents.platforms import (
    is_agents_span,
    is_observation,
    read_agents_spans,
    read_observations,
    read_run,
)
from callscore.importers.agents.spans import is_telemetry, read_spans
from callscore.importers.agents.spent import Spent, in_milliseconds, spent_in
from callscore.importers.agents.voice import voice_request
from callscore.importers.inspect_log import InspectLog, is_inspect, read_inspect_log
from callscore.importers.source_file import Source

_PARTS = (is_telemetry, is_observation, is_agents_span)
"""What is read together with others of its kind, not by itself."""
_USAGE = ("usage", "usageMetadata", "usage_metadata")
_NO_MESSAGES = (
    "spans without messages; expected those of requests with what was asked and answered. "
    "Instrumentations record it if their capture of message content is on "
    "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT), some as log events, which have to be "
    "in the same file; traces of the OpenAI Agents SDK name replies of the Responses API only by "
    "their ids: import its session items (to_input_list()) instead"
)


def read_traces(source: Source) -> list[AgentTrace] | None:
    """The conversations of a file; None if it has no messages that could be those of an agent."""
    by_trace: dict[tuple[str, int], list[Request]] = {}
    replies: dict[str, str] = {}
    for request in _read_requests(source):
        name = replies.get(request.after) or request.trace or source.stem
        if request.id:
            replies[request.id] = name
        by_trace.setdefault((name, request.run), []).append(request)
    if not by_trace:
        return None
    return [
        trace for (name, _), found in by_trace.items() for trace in read_conversations(name, found)
    ]


def _read_requests(source: Source) -> Iterator[Request]:
    if is_inspect(source):
        yield from _inspect(read_inspect_log(source))
        return
    if source.is_archive:
        return
    values = list(_unwrapped(json_values(source)))
    objects = [value for value in values if isinstance(value, Mapping)]
    spans = [value for value in objects if is_telemetry(value)]
    observations = [value for value in objects if is_observation(value)]
    of_agents = [value for value in objects if is_agents_span(value)]
    traced = [*read_spans(spans), *read_agents_spans(of_agents)]
    if (spans or of_agents) and not traced:
        raise DataError(_NO_MESSAGES, place=source.name)
    yield from traced
    yield from read_observations(observations)
    for number, value in enumerate(values):
        if isinstance(value, list) and value and all(map(is_message, value)):
            yield Request("", value)
        elif not isinstance(value, Mapping) or any(is_part(value) for is_part in _PARTS):
            continue
        elif "run_type" in value:
            yield from read_run(value)
        else:
            spoken = voice_request(value)
            yield from [spoken] if spoken is not None else _exchange(value, number)


def json_values(source: Source) -> list[Any]:
    """The JSON values of the file: one, a list of them, or one per line."""
    whole = source.json
    if whole is None:
        return _lines(source)
    if isinstance(whole, list) and not is_message(next(iter(whole), None)):
        return whole
    return [whole]


def _lines(source: Source) -> list[Any]:
    """One value per line; empty if the first line is none."""
    values: list[Any] = []
    try:
        lines = source.text.splitlines()
    except DataError:
        return []
    for number, line in enumerate(lines, 1):
        try:
            values += [msgspec.json.decode(line)] if line.strip() else []
        except (msgspec.DecodeError, RecursionError) as error:
            if not isinstance(next(iter(values), None), Mapping):
                return []
            problem = f"is not JSON ({error}); expected one value per line"
            raise DataError(problem, place=f"{source.name}:{number}") from None
    return values


def _unwrapped(values: Sequence[Any]) -> Iterator[Any]:
    """Every value, those in the lists of exports one by one."""
    for value in values:
        if isinstance(value, Mapping):
            listed = next(
                (
                    value[key]
                    for key in ("observations", "runs", "spans", "data")
                    if isinstance(value.get(key), list) and value[key]
                ),
                None,
            )
            if listed is not None and all(isinstance(one, Mapping) for one in listed):
                trace = value.get("id") if "observations" in value else None
                yield from ({"traceId": trace, **one} if trace else one for one in listed)
                continue
        yield value


def _exchange(value: Mapping[str, Any], number: int) -> Iterator[Request]:
    """A request of a model API, with its reply next to it or inside."""
    asked = value.get("request", value.get("body", value))
    asked = decoded(asked)
    if not isinstance(asked, Mapping):
        return
    asked = {**as_object(asked.get("config")), **asked}  # of the Python SDK for Gemini
    reply = decoded(value.get("response", value.get("output", value)))
    keys = ("messages", "contents", "input")
    messages = next((asked[key] for key in keys if isinstance(asked.get(key), list)), None)
    if messages is None and isinstance(asked.get("input"), str) and "model" in asked:
        messages = [asked["input"]]
    if messages is None and isinstance(value.get("chat_history"), Mapping):
        messages = value["chat_history"].get("items")  # of LiveKit
    if not isinstance(messages, list):
        return
    said = None if reply is value and "choices" not in value else reply
    answered = as_object(said)
    ids = ("id", "conversation_id", "trace_id", "thread_id", "job_id")
    name = next((str(value[key]) for key in ids if value.get(key)), "")
    error = value.get("error") or answered.get("error")
    versions = (answered.get(key) for key in ("model", "modelVersion", "model_version"))
    named = (asked.get("model"), *versions)
    choices = next((answered[key] for key in ("choices", "candidates") if key in answered), ())
    yield Request(
        name or (f"trace-{number + 1}" if number else ""),
        [*_system(asked), *messages],
        list(replies(said)),
        next((str(one) for one in named if one), ""),
        asked.get("tools"),
        error=_error_text(error),
        spent=_spent(value, answered),
        id=str(answered.get("id") or "") if answered.get("object") == "response" else "",
        after=str(asked.get("previous_response_id") or ""),
        unread=[CHOICES] * (len(as_list(choices)) - 1),
    )


def _system(asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The system prompt that is a field of the request, not a message."""
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        given = asked.get(key)
        if isinstance(given, Mapping) and "parts" in given:
            yield {"role": "system", "parts": given["parts"]}
        elif isinstance(given, str | list) and given:
            yield {"role": "system", "content": given}


def _error_text(error: Any) -> str:
    if not error:
        return ""
    return str(error.get("message") or "failed") if isinstance(error, Mapping) else str(error)


def _spent(value: Mapping[str, Any], reply: Mapping[str, Any]) -> Spent:
    usage = next((one[key] for one in (reply, value) for key in _USAGE if one.get(key)), None)
    times = ("latency_ms", "duration_ms", "response_time_ms")
    time = next((value[key] for key in times if value.get(key) is not None), None)
    return spent_in(usage, time, value.get("cost_usd"))


def _inspect(log: InspectLog) -> Iterator[Request]:
    """The samples of an Inspect log; a sample that failed stays failed, an epoch is a run."""
    for sample in log.samples:
        if not isinstance(sample, Mapping) or not isinstance(sample.get("messages"), list):
            continue
        name, run = str(sample.get("id")), int(as_number(sample.get("epoch")) or 1)
        requests = sample["requests"]
        spent = {_reply_id(request): _spent_of_request(request) for request in requests}
        messages = [
            {**message, "spent": spent.get(str(message.get("id")))}
            for message in sample["messages"]
            if isinstance(message, Mapping)
        ]
        tools = [tool for request in requests for tool in as_list(request["tools"])]
        error = _error_text(sample.get("error"))
        yield Request(name, messages, (), log.model, tools, error=error, run=run)


def _reply_id(request: Mapping[str, Any]) -> str:
    choices = objects_in(as_object(request["output"]).get("choices"))
    message = as_object(choices[0].get("message")) if choices else {}
    return str(message.get("id") or "")


def _spent_of_request(request: Mapping[str, Any]) -> Spent:
    given = as_object(request["output"])
    usage = as_object(given.get("usage"))
    return spent_in(usage, in_milliseconds(given.get("time")), usage.get("total_cost"))
