"""Exports of platforms that record requests to models: Langfuse, LangSmith, OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from callscore.importers.agents.conversations import Request
from callscore.importers.agents.loose_json import as_object, objects_in
from callscore.importers.agents.messages import decoded, replies
from callscore.importers.agents.spent import Spent, milliseconds, spent_in

_MAX_DEPTH = 64
_KINDS = frozenset(
    {"GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR",
     "EMBEDDING", "GUARDRAIL"}
)  # fmt: skip
_THREADS = ("session_id", "thread_id", "conversation_id")
"""The keys of metadata that name a thread in LangSmith."""


def is_observation(value: Mapping[str, Any]) -> bool:
    """Whether the value is an observation of Langfuse, from the API or an export."""
    kind = str(value.get("type")).upper()
    return kind in _KINDS and ("input" in value or "traceId" in value or "trace_id" in value)


def read_observations(values: Sequence[Mapping[str, Any]]) -> Iterator[Request]:
    """The generations of a Langfuse export; agents are named by the observations around them."""
    known = {str(value.get("id")): value for value in values}
    for value in values:
        if str(value.get("type")).upper() == "GENERATION":
            request = _generation(value, _agent_around(value, known, _observed_agent))
            if request is not None:
                yield request


def _agent_around(
    value: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    named: Callable[[Mapping[str, Any]], str],
) -> str:
    """The name of the agent in whose observation or span the generation is."""
    for _ in range(_MAX_DEPTH):
        if name := named(value):
            return name
        parent = str(_of(value, "parentObservationId") or value.get("parent_id"))
        if parent not in known:
            return ""
        value = known[parent]
    return ""


def _observed_agent(value: Mapping[str, Any]) -> str:
    is_agent = str(value.get("type")).upper() == "AGENT"
    return str(value.get("name") or "") if is_agent else ""


def _of(value: Mapping[str, Any], key: str) -> Any:
    """The value of a key in the API's words, or as columns of an export have it."""
    column = "".join(f"_{one.lower()}" if one.isupper() else one for one in key)
    return next((value[name] for name in (key, column) if value.get(name) is not None), "")


def _generation(value: Mapping[str, Any], agent: str) -> Request | None:
    asked: Any = decoded(value.get("input"))
    tools = None
    if isinstance(asked, Mapping):
        given = asked
        tools = given.get("tools")
        keys = ("messages", "contents", "input")
        asked = next((given[key] for key in keys if isinstance(given.get(key), list)), None)
        told = given.get("system", given.get("instructions"))
        if told and asked is not None:
            asked = [{"role": "system", "content": told}, *asked]
    if isinstance(asked, str):
        asked = [asked] if asked else None
    if not isinstance(asked, list):
        return None
    defined = _of(value, "toolDefinitions")
    if not tools and isinstance(defined, Mapping):
        about = {name: decoded(one) for name, one in defined.items()}
        tools = [
            {"name": name, **(one if isinstance(one, Mapping) else {})}
            for name, one in about.items()
        ]
    failed = value.get("level") == "ERROR"
    return Request(
        str(_of(value, "sessionId") or _of(value, "traceId")),
        [one for one in asked if not _defines_tool(one)],
        list(replies(decoded(value.get("output")))),
        str(value.get("model") or _of(value, "providedModelName") or ""),
        tools or [one["content"] for one in asked if _defines_tool(one)],
        agent,
        str(_of(value, "statusMessage") or "failed") if failed else "",
        str(_of(value, "startTime")),
        spent=_spent(value),
    )


def _defines_tool(message: Any) -> bool:
    """Whether a message only defines a tool, as the integration of LangChain writes it."""
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, Mapping) and content.get("type") == "function"


def _spent(value: Mapping[str, Any]) -> Spent:
    """Tokens of all kinds that count as input or output, and the total cost."""
    details = _of(value, "usageDetails") or value.get("usage") or {}
    usage: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    counted = {
        f"{side}_tokens": sum(
            count
            for name, count in usage.items()
            if name.startswith(side) and isinstance(count, int | float)
        )
        for side in ("input", "output")
        if any(name.startswith(side) for name in usage)
    }
    costs = _of(value, "costDetails")
    total = costs.get("total") if isinstance(costs, Mapping) else None
    keys = ("calculatedTotalCost", "totalCost")
    known = next((_of(value, key) for key in keys if _of(value, key) != ""), None)
    time = milliseconds(_of(value, "startTime"), _of(value, "endTime"))
    return spent_in(counted or usage or value, time, known if total is None else total)


def read_run(value: Mapping[str, Any]) -> Iterator[Request]:
    """The runs of the type `llm` in a LangSmith export: the run itself, and those inside."""
    for child in objects_in(value.get("child_runs")):
        yield from read_run(child)
    inputs, outputs = value.get("inputs"), value.get("outputs")
    if value.get("run_type") != "llm" or not isinstance(inputs, Mapping):
        return
    asked = _asked(inputs)
    if asked is None:
        return
    extra = as_object(value.get("extra"))
    params, metadata = as_object(extra.get("invocation_params")), as_object(extra.get("metadata"))
    given = as_object(outputs)
    thread = next((str(metadata[key]) for key in _THREADS if metadata.get(key)), "")
    named = (metadata.get("ls_model_name"), params.get("model"), params.get("model_name"))
    yield Request(
        thread or str(value.get("trace_id") or value.get("id") or ""),
        asked,
        list(_generated(given)),
        str(next((one for one in (*named, inputs.get("model")) if one), "")),
        params.get("tools") or inputs.get("tools"),
        str(metadata.get("lc_agent_name") or ""),
        str(value.get("error") or ""),
        str(value.get("start_time") or ""),
        spent=_spent_of_run(value, given, metadata),
        id=str(given.get("id") or "") if given.get("object") == "response" else "",
        after=str(inputs.get("previous_response_id") or ""),
    )


def _asked(inputs: Mapping[str, Any]) -> list[Any] | None:
    keys = ("messages", "input", "contents")
    asked = next((inputs[key] for key in keys if inputs.get(key)), None)
    if isinstance(asked, list) and asked and isinstance(asked[0], list):
        is_pair = isinstance(asked[0][0] if asked[0] else None, str)
        asked = asked if is_pair else asked[0]
    if isinstance(asked, str):
        asked = [asked]
    if not isinstance(asked, list):
        return None
    told = inputs.get("system", inputs.get("instructions"))
    return [{"role": "system", "content": told}, *asked] if told else asked


def _generated(outputs: Mapping[str, Any]) -> Iterator[Any]:
    """The reply: as LangChain generates it, or as an API returns it."""
    generated: Any = outputs.get("generations")
    while isinstance(generated, list) and generated:
        generated = generated[0]
    if isinstance(generated, Mapping) and isinstance(generated.get("message"), Mapping):
        yield generated["message"]
    elif isinstance(generated, Mapping):
        yield {"role": "assistant", "content": generated.get("text")}
    else:
        yield from replies(outputs)


def _spent_of_run(
    value: Mapping[str, Any], outputs: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Spent:
    said = (outputs.get("usage_metadata"), outputs.get("usage"), metadata.get("usage_metadata"))
    usage = next((one for one in said if one), None)
    time = milliseconds(value.get("start_time"), value.get("end_time"))
    counted = spent_in(value, time, value.get("total_cost"))
    return counted if counted.input_tokens else spent_in(usage, time, value.get("total_cost"))


def is_agents_span(value: Mapping[str, Any]) -> bool:
    """Whether the value is a trace or a span as the OpenAI Agents SDK exports it."""
    return value.get("object") in ("trace", "trace.span")


def read_agents_spans(values: Sequence[Mapping[str, Any]]) -> Iterator[Request]:
    """The generations of an export of the OpenAI Agents SDK; a group of traces is a thread."""
    known = {str(value.get("id")): value for value in values}
    for value in values:
        data = as_object(value.get("span_data"))
        if data.get("type") != "generation" or not isinstance(data.get("input"), list):
            continue
        trace = str(value.get("trace_id") or "")
        group = as_object(known.get(trace)).get("group_id")
        error = as_object(value.get("error"))
        yield Request(
            str(group or trace),
            data["input"],
            list(replies(data.get("output"))),
            str(data.get("model") or ""),
            agent=_agent_around(value, known, _agent_of_span),
            error=str(error.get("message") or "failed") if error else "",
            at=str(value.get("started_at") or ""),
            spent=spent_in(
                data.get("usage"), milliseconds(value.get("started_at"), value.get("ended_at"))
            ),
        )


def _agent_of_span(span: Mapping[str, Any]) -> str:
    data = as_object(span.get("span_data"))
    return str(data.get("name") or "") if data.get("type") == "agent" else ""
