"""Recordings of agents with the structure that their sources write: nothing is lost in silence."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callscore.core.errors import CallscoreError
from callscore.import_job import read_source
from callscore.importers.agents.benchmarks import read_gold_calls
from callscore.importers.agents.scenarios import cards_of, recording, scenario_steps
from callscore.importers.agents.traces import read_traces
from commands import run
from eval_files import read_json

SCHEMA = {"type": "object", "properties": {"people": {"type": "integer"}}}
FIND = {"name": "find", "description": "Finds a table.", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FIND}
ASKED, FOUR, TWO = "One for four and one for two", {"tables": [12]}, "none"


def call(name: str, people: int) -> dict[str, Any]:
    arguments = json.dumps({"people": people})
    return {"id": name, "type": "function", "function": {"name": "find", "arguments": arguments}}


def parts(role: str, *listed: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(listed), **more}


def text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


FIRST: list[dict[str, Any]] = [
    {"role": "system", "content": "You book."},
    {"role": "user", "content": ASKED},
]
CALLS: dict[str, Any] = {
    "role": "assistant",
    "content": "Let me look.",
    "tool_calls": [call("a", 4), call("b", 2)],
}
RESULTS = [
    {"role": "tool", "tool_call_id": "b", "content": TWO},
    {"role": "tool", "tool_call_id": "a", "content": json.dumps(FOUR)},
]
LAST = {"role": "assistant", "content": "Only one is free."}
ACTED = [
    {"tool": "find", "arguments": {"people": 4}, "tool_call_result": FOUR},
    {"tool": "find", "arguments": {"people": 2}, "tool_call_result": TWO},
]


def steps(agent: str, said: str = "") -> list[Any]:
    spoken = [{"main": said}] if said else []
    return [{"user": ASKED}, *spoken, {agent: ACTED}, {"main": LAST["content"]}]


def observation(**known: Any) -> dict[str, Any]:
    about = {"traceId": "t", "type": "GENERATION", "level": "DEFAULT", "model": "m"}
    return {**about, "startTime": "2026-01-01T10:00:00.000Z", **known}


LANGFUSE = {
    "observations": [
        observation(
            id="late",
            parentObservationId="desk",
            startTime="2026-01-01T10:00:05.000Z",
            input=json.dumps([*FIRST, CALLS, *RESULTS]),
            output=json.dumps(LAST),
        ),
        observation(id="desk", type="AGENT", name="Desk", model=None),
        observation(
            id="early",
            parentObservationId="desk",
            endTime="2026-01-01T10:00:01.500Z",
            input=json.dumps(FIRST),
            output=json.dumps(CALLS),
            usageDetails={"input": 90, "input_cached_tokens": 10, "output": 5, "total": 105},
            costDetails={"total": 0.002},
            toolDefinitions={"find": json.dumps({**FIND, "parameters": json.dumps(SCHEMA)})},
        ),
    ],
    "scores": [],
}
LANGFUSE_ROWS = [
    {
        "id": "early",
        "trace_id": "t",
        "type": "GENERATION",
        "start_time": "2026-01-01 10:00:00.000",
        "end_time": "2026-01-01 10:00:01.500",
        "provided_model_name": "m",
        "usage_details": {"input": 100, "output": 5},
        "total_cost": 0.002,
        "input": json.dumps({"messages": FIRST, "tools": [TOOL]}),
        "output": json.dumps(CALLS),
    },
    {
        "id": "late",
        "trace_id": "t",
        "type": "GENERATION",
        "start_time": "2026-01-01 10:00:05.000",
        "provided_model_name": "m",
        "input": json.dumps([*FIRST, CALLS, *RESULTS]),
        "output": "Only one is free.",
    },
]


def serialised(name: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "messages", name], "kwargs": fields}


BOTH_FORMS = serialised(
    "AIMessage",
    content=[
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "a", "name": "find", "input": {"people": 4}},
        {"type": "tool_use", "id": "b", "name": "find", "input": {"people": 2}},
    ],
    tool_calls=[
        {"name": "find", "args": {"people": 4}, "id": "a", "type": "tool_call"},
        {"name": "find", "args": {"people": 2}, "id": "b", "type": "tool_call"},
    ],
)
HUMAN = serialised("HumanMessage", content=ASKED, type="human")
LANGSMITH = {
    "id": "root",
    "run_type": "chain",
    "trace_id": "root",
    "inputs": {"input": ASKED},
    "child_runs": [
        {
            "run_type": "llm",
            "trace_id": "root",
            "start_time": "2026-01-01T10:00:00",
            "end_time": "2026-01-01T10:00:01.500000",
            "inputs": {"messages": [[HUMAN]]},
            "outputs": {"generations": [[{"text": "", "message": BOTH_FORMS}]]},
            "extra": {
                "invocation_params": {"tools": [TOOL]},
                "metadata": {"ls_model_name": "m", "thread_id": "t"},
            },
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_cost": "0.002",
        },
        {
            "run_type": "llm",
            "trace_id": "root",
            "start_time": "2026-01-01T10:00:05",
            "inputs": {"model": "m", "messages": [*FIRST[1:], CALLS, *RESULTS], "tools": [TOOL]},
            "outputs": {"choices": [{"message": LAST}]},
            "extra": {"metadata": {"thread_id": "t"}},
        },
    ],
}
NANO = 1_767_225_600_000_000_000
ASSISTANT = parts(
    "assistant",
    {"type": "reasoning", "content": "Two calls."},
    text("Let me look."),
    {"type": "tool_call", "id": "a", "name": "find", "arguments": {"people": 4}},
    {"type": "tool_call", "id": "b", "name": "find", "arguments": '{"people": 2}'},
    finish_reason="tool_call",
)
OTHER_CHOICE = parts("assistant", text("No."), finish_reason="stop")
RESPONSES = [
    parts("tool", {"type": "tool_call_response", "id": "b", "response": TWO}),
    parts("tool", {"type": "tool_call_response", "id": "a", "response": FOUR}),
]
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "m",
    "gen_ai.conversation.id": "t",
    "gen_ai.system_instructions": json.dumps([text("You book.")]),
    "gen_ai.tool.definitions": json.dumps([{"type": "function", **FIND}]),
}


def attributes(**values: Any) -> list[Any]:
    """Attributes of OTLP; `_` stands for a dot."""
    return [
        {
            "key": key,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in values.items()
    ]


def otlp_span(name: str, parent: str, seconds: float, length: float, values: Any) -> dict[str, Any]:
    start = NANO + int(seconds * 10**9)
    return {
        "traceId": "x",
        "spanId": name,
        "parentSpanId": parent,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(length * 10**9)),
        "attributes": attributes(**values),
    }


USED = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 5}
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
USER = parts("user", text(ASKED))
SAID = [parts("assistant", text(str(LAST["content"])), finish_reason="stop")]
CHAT_1 = {**CHAT, **USED, INPUT: json.dumps([USER]), OUTPUT: json.dumps([ASSISTANT, OTHER_CHOICE])}
CHAT_2 = {
    **CHAT,
    INPUT: json.dumps([USER, ASSISTANT, *RESPONSES]),
    OUTPUT: json.dumps(SAID),
}
OTLP = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        otlp_span("1", "", 0, 9, {"gen_ai.agent.name": "Desk"}),
                        otlp_span("2", "1", 0, 1.5, CHAT_1),
                        otlp_span("3", "1", 5, 1, CHAT_2),
                    ]
                }
            ]
        }
    ]
}
CHATS: list[dict[str, Any]] = [CHAT_1, CHAT_2]
DETAILS = "gen_ai.client.inference.operation.details"
OTLP_EVENTS = {
    "resourceLogs": [
        {
            "scopeLogs": [
                {
                    "logRecords": [
                        {
                            "timeUnixNano": str(NANO + place),
                            "eventName": DETAILS,
                            "attributes": attributes(**values),
                        }
                        for place, values in enumerate(CHATS)
                    ]
                }
            ]
        }
    ]
}


def event(kind: str, span: str, body: Any) -> dict[str, Any]:
    where = {"trace_id": "t", "span_id": span}
    return {**where, "attributes": {"event.name": f"gen_ai.{kind}"}, "body": body}


EARLIER_EVENTS = [
    {
        "context": {"trace_id": "t", "span_id": "1"},
        "start_time": "2026-01-01T10:00:00Z",
        "end_time": "2026-01-01T10:00:01.500000Z",
        "attributes": {"gen_ai.request.model": "m", **USED},
    },
    event("user.message", "1", {"content": ASKED}),
    event("choice", "1", {"index": 0, "message": CALLS}),
    {
        "context": {"trace_id": "t", "span_id": "2"},
        "start_time": "2026-01-01T10:00:05Z",
        "attributes": {},
    },
    event("user.message", "2", {"content": ASKED}),
    event("assistant.message", "2", {key: CALLS[key] for key in ("content", "tool_calls")}),
    event("tool.message", "2", {"id": "b", "content": TWO}),
    event("tool.message", "2", {"id": "a", "content": json.dumps(FOUR)}),
    event("choice", "2", {"index": 0, "message": LAST}),
]


def numbered(prefix: str, messages: list[Any]) -> dict[str, Any]:
    """Messages in numbered attributes, as OpenInference writes them."""
    found = {}
    for place, message in enumerate(messages):
        where = f"{prefix}.{place}.message"
        for key in ("role", "content", "tool_call_id"):
            if message.get(key):
                found[f"{where}.{key}"] = message[key]
        for number, one in enumerate(message.get("tool_calls", ())):
            of_call = f"{where}.tool_calls.{number}.tool_call"
            found[f"{of_call}.id"] = one["id"]
            for key, value in one["function"].items():
                found[f"{of_call}.function.{key}"] = value
    return found


OPENINFERENCE = {
    "context": {"trace_id": "t", "span_id": "1"},
    "attributes": {
        "llm.model_name": "m",
        "llm.tools.0.tool.json_schema": json.dumps(TOOL),
        **numbered("llm.input_messages", [*FIRST, CALLS, *RESULTS]),
        **numbered("llm.output_messages", [LAST]),
    },
}


def response(name: str, asked: Any, output: list[Any], after: str | None) -> dict[str, Any]:
    request = {"model": "m", "input": asked, "instructions": "You book.", "tools": [
        {"type": "function", **FIND}]}  # fmt: skip
    used = {"input_tokens": 100, "output_tokens": 5}
    reply = {"id": name, "object": "response", "output": output, "usage": used}
    return {
        "id": "t" if after is None else None,
        "request": {**request, "previous_response_id": after},
        "response": reply,
        "latency_ms": 1500,
        "cost_usd": 0.002,
    }


CHAINED = [
    response(
        "r1",
        ASKED,
        [
            {"type": "reasoning", "id": "rs", "summary": []},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "Let me look."}]},
            {"type": "function_call", "id": "f1", "call_id": "a", "name": "find",
             "arguments": '{"people": 4}'},
            {"type": "function_call", "id": "f2", "call_id": "b", "name": "find",
             "arguments": '{"people": 2}'},
        ],
        None,
    ),
    response(
        "r2",
        [
            {"type": "function_call_output", "call_id": "b", "output": TWO},
            {"type": "function_call_output", "call_id": "a", "output": json.dumps(FOUR)},
        ],
        [{"type": "message", **LAST}],
        "r1",
    ),
]  # fmt: skip
VERCEL = {
    "id": "t",
    "model": "m",
    "tools": [TOOL],
    "messages": [
        FIRST[1],
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                *(
                    {
                        "type": "tool-call",
                        "toolCallId": name,
                        "toolName": "find",
                        "input": {"people": people},
                    }
                    for name, people in (("a", 4), ("b", 2))
                ),
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": name,
                    "toolName": "find",
                    "output": {"type": "json", "value": value},
                }
                for name, value in (("b", TWO), ("a", FOUR))
            ],
        },
        LAST,
    ],
}
SOURCES: dict[str, tuple[Any, str]] = {
    "langfuse": (LANGFUSE, "desk"),
    "langfuse rows": (LANGFUSE_ROWS, "assistant"),
    "langsmith": (LANGSMITH, "assistant"),
    "otlp": (OTLP, "desk"),
    "otlp events": (OTLP_EVENTS, "assistant"),
    "earlier events": (EARLIER_EVENTS, "assistant"),
    "openinference": (OPENINFERENCE, "assistant"),
    "responses": (CHAINED, "assistant"),
    "vercel": (VERCEL, "assistant"),
}


def write(path: Path, value: Any) -> Path:
    lines = value if isinstance(value, list) else [value]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def imported(source: Path, out: Path, *options: Any) -> str:
    done = run("import", source, "--agents", "-o", out, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def confirm(folder: Path) -> None:
    for path in folder.glob("*.json"):
        path.write_text(path.read_text().replace('"confirmed": false', '"confirmed": true'))


@pytest.mark.parametrize("name", SOURCES)
def test_parallel_calls_keep_their_order_arguments_and_results(name: str, tmp_path: Path) -> None:
    value, agent = SOURCES[name]
    imported(write(tmp_path / "x.jsonl", value), tmp_path / "desk")
    assert read_json(tmp_path / "desk/scenarios/t.json")["steps"] == steps(agent, "Let me look.")
    if name != "earlier events":  # these have no tools
        assert read_json(tmp_path / f"desk/cards/{agent}.json")["tools"] == [FIND]


@pytest.mark.parametrize("name", ["langfuse", "langfuse rows", "langsmith", "responses"])
def test_time_tokens_and_cost_of_a_recording_reach_the_card(name: str, tmp_path: Path) -> None:
    source = write(tmp_path / "x.jsonl", SOURCES[name][0])
    imported(source, tmp_path / "desk")
    confirm(tmp_path / "desk/scenarios")
    imported(source, tmp_path / "runs", "--scenarios", tmp_path / "desk/scenarios")
    (answer,) = read_json(tmp_path / "runs/m/t_out.json")["runs"][0]["answers"]
    assert answer["latency_ms"] == pytest.approx(1500)
    assert answer["usage"] == {"input_tokens": 100, "output_tokens": 5}
    assert answer["cost_usd"] == 0.002
    done = run(
        "orchestration", "score", tmp_path / "runs/m", "--cards", tmp_path / "desk/cards",
        "--json", tmp_path / "result.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = [line.split() for line in done.stdout.splitlines()]
    assert ["Latency", "of", "a", "step,", "p50", "/", "p95", "1,500", "/", "1,500", "ms"] in shown
    assert ["Cost", "per", "1000", "scenarios", "$2.000", "$"] in shown
    used = read_json(tmp_path / "result.json")["x_extension"]["usage"]
    assert (used["input_tokens"], used["cost_usd"]) == (100, 0.002)


@pytest.mark.parametrize("name", ["otlp", "responses", "earlier events"])
def test_times_and_tokens_of_spans_are_kept(name: str, tmp_path: Path) -> None:
    source = write(tmp_path / "x.jsonl", SOURCES[name][0])
    imported(source, tmp_path / "desk")
    confirm(tmp_path / "desk/scenarios")
    imported(source, tmp_path / "runs", "--scenarios", tmp_path / "desk/scenarios")
    (answer,) = read_json(tmp_path / "runs/m/t_out.json")["runs"][0]["answers"]
    assert answer["latency_ms"] == pytest.approx(1500)
    assert answer["usage"] == {"input_tokens": 100, "output_tokens": 5}


def test_what_an_import_leaves_out_is_counted_and_named(tmp_path: Path) -> None:
    said = imported(write(tmp_path / "x.jsonl", OTLP), tmp_path / "desk")
    assert "left out 1 × reasoning, first in t" in said
    assert "left out 1 × further choices of a reply, first in t" in said
    assert (tmp_path / "desk/prompts/desk.md").read_text() == "You book.\n"
    assert "prompts: {desk: prompts/desk.md}" in said


def test_parts_that_are_no_text_keep_their_place(tmp_path: Path) -> None:
    shown = {"type": "image_url", "image_url": {"url": "data:"}}
    messages = [{"role": "user", "content": [shown]}, {**CALLS, "content": [{"thought": True}]}]
    said = imported(write(tmp_path / "x.jsonl", {"messages": messages}), tmp_path / "desk")
    assert "left out 1 × image_url" in said
    assert read_json(tmp_path / "desk/scenarios/x.json")["steps"][0] == {"user": "[image_url]"}


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"role": "tool", "tool_call_id": "other", "content": "x"}, "tool results without a call"),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {
                "name": "find", "arguments": '{"people": '}}]},
            "arguments that are not a JSON object",
        ),
        ({"type": "item_reference", "id": "x"}, "item_reference"),
    ],
)  # fmt: skip
def test_what_fits_nothing_is_not_guessed(message: Any, says: str, tmp_path: Path) -> None:
    messages = [FIRST[1], CALLS, message]
    said = imported(write(tmp_path / "x.jsonl", {"messages": messages}), tmp_path / "desk")
    assert f"left out 1 × {says}" in said
    acted = read_json(tmp_path / "desk/scenarios/x.json")["steps"][2]["assistant"]
    assert acted == [{key: one[key] for key in ("tool", "arguments")} for one in ACTED]


@pytest.mark.parametrize(
    "result",
    [
        {"role": "tool", "tool_call_id": "a", "content": "", "error": {"type": "timeout",
         "message": "5 s"}},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
         "is_error": True, "content": "5 s"}]},
    ],
)  # fmt: skip
def test_a_tool_that_failed_has_an_error_as_its_result(result: Any, tmp_path: Path) -> None:
    messages = [FIRST[1], {**CALLS, "tool_calls": [call("a", 4)]}, result]
    imported(write(tmp_path / "x.jsonl", {"messages": messages}), tmp_path / "desk")
    acted = read_json(tmp_path / "desk/scenarios/x.json")["steps"][2]["assistant"]
    assert acted["tool_call_result"]["message"] == "5 s"
    assert acted["tool_call_result"]["error"] in ("timeout", "TOOL_ERROR")


def exchange(messages: list[Any], reply: Any) -> dict[str, Any]:
    return {
        "id": "t",
        "request": {"model": "m", "messages": messages},
        "response": {"choices": [{"message": reply}]},
    }


def test_an_agent_that_another_one_calls_has_a_conversation_of_its_own(tmp_path: Path) -> None:
    ask = {"id": "q", "function": {"name": "research", "arguments": "{}"}}
    outer = {"role": "assistant", "tool_calls": [ask]}
    task = [{"role": "user", "content": "Research tables."}]
    inner = {"role": "assistant", "tool_calls": [call("a", 4)]}
    done = {"role": "assistant", "content": "Found."}
    returned = {"role": "tool", "tool_call_id": "q", "content": "Found."}
    safe = [{"role": "user", "content": "Is it safe?"}]
    lines = [
        exchange(FIRST, outer),
        exchange(task, inner),
        exchange([*task, inner, RESULTS[1]], done),
        exchange([*FIRST, outer, returned], LAST),
        exchange(safe, {"role": "assistant", "content": "yes"}),
    ]
    said = imported(write(tmp_path / "x.jsonl", lines), tmp_path / "desk")
    scenarios = tmp_path / "desk" / "scenarios"
    assert read_json(scenarios / "t.json")["steps"] == [
        {"user": ASKED},
        {"assistant": {"tool": "research", "arguments": {}, "tool_call_result": "Found."}},
        {"main": LAST["content"]},
    ]
    assert read_json(scenarios / "t-2.json")["steps"] == [
        {"user": "Research tables."},
        {"assistant": ACTED[0]},
        {"main": "Found."},
    ]
    assert "left out 1 × requests without tool calls, outside of the conversation" in said


def test_a_history_that_loses_its_beginning_stays_one_conversation(tmp_path: Path) -> None:
    lines = [exchange(FIRST, CALLS), exchange([CALLS, *RESULTS], LAST)]
    imported(write(tmp_path / "x.jsonl", lines), tmp_path / "desk")
    assert read_json(tmp_path / "desk/scenarios/t.json")["steps"] == steps(
        "assistant", "Let me look."
    )


def test_a_transfer_to_a_person_stays_a_tool_call(tmp_path: Path) -> None:
    over = {"id": "a", "function": {"name": "transfer_to_human_agents", "arguments": "{}"}}
    messages = [FIRST[1], {"role": "assistant", "tool_calls": [over]}]
    imported(write(tmp_path / "x.jsonl", {"messages": messages}), tmp_path / "desk")
    acted = read_json(tmp_path / "desk/scenarios/x.json")["steps"][1]
    assert acted == {"assistant": {"tool": "transfer_to_human_agents", "arguments": {}}}


def test_conversations_without_a_scenario_are_named_and_the_others_imported(tmp_path: Path) -> None:
    lines = [{"id": name, "messages": [*FIRST, CALLS, *RESULTS]} for name in ("t", "u")]
    source = write(tmp_path / "x.jsonl", lines)
    imported(source, tmp_path / "desk")
    confirm(tmp_path / "desk/scenarios")
    (tmp_path / "desk/scenarios/u.json").unlink()
    said = imported(source, tmp_path / "runs", "--scenarios", tmp_path / "desk/scenarios")
    assert "u: left out, as no scenario has this name" in said
    assert (tmp_path / "runs/recorded/t_out.json").exists()
    (tmp_path / "desk/scenarios/t.json").rename(tmp_path / "desk/scenarios/v.json")
    none = run(
        "import", source, "--agents", "-o", tmp_path / "no",
        "--scenarios", tmp_path / "desk/scenarios",
    )  # fmt: skip
    assert (none.returncode, "no scenario of the name 't'" in none.stderr) == (2, True)


def turn(agent: str, message: str | None = None, **more: Any) -> dict[str, Any]:
    known = {"role": "agent", "agent_metadata": {"agent_id": agent}, "message": message}
    return {**known, "time_in_call_secs": 1, "tool_calls": [], "tool_results": [], **more}


def elevenlabs_call(name: str, tool: str, **arguments: Any) -> dict[str, Any]:
    given = {"request_id": name, "tool_name": tool, "params_as_json": json.dumps(arguments)}
    return {**given, "type": "webhook", "tool_has_been_called": True}


def elevenlabs_result(name: str, tool: str, value: str, **more: Any) -> dict[str, Any]:
    given = {"request_id": name, "tool_name": tool, "result_value": value, "is_error": False}
    return {**given, "tool_has_been_called": True, **more}


TRANSFER = "transfer_to_agent"
ELEVENLABS = {
    "agent_id": "desk",
    "conversation_id": "t",
    "status": "done",
    "transcript": [
        turn("desk", "Hello!"),
        {"role": "user", "message": ASKED, "time_in_call_secs": 2},
        turn(
            "desk",
            tool_calls=[elevenlabs_call("a", "find", people=4)],
            llm_usage={
                "model_usage": {
                    "m": {
                        "input": {"tokens": 60, "price": 0.001},
                        "input_cache_read": {"tokens": 40, "price": 0.0005},
                        "output_total": {"tokens": 5, "price": 0.0005},
                    }
                }
            },
        ),
        turn("desk", tool_results=[elevenlabs_result("a", "find", json.dumps(FOUR))]),
        turn(
            "desk",
            tool_calls=[elevenlabs_call("b", TRANSFER, agent_number=0)],
            tool_results=[
                elevenlabs_result("b", TRANSFER, "{}", result={"to_agent": "billing"})
            ],
        ),
        turn("billing", tool_calls=[elevenlabs_call("c", "charge")]),
        turn(
            "billing",
            tool_results=[elevenlabs_result("c", "charge", "no card", is_error=True)],
        ),
    ],
}  # fmt: skip


def test_an_elevenlabs_call_keeps_results_agents_and_usage(tmp_path: Path) -> None:
    source = write(tmp_path / "x.json", ELEVENLABS)
    imported(source, tmp_path / "desk")
    acted = read_json(tmp_path / "desk/scenarios/t.json")["steps"][2:]
    plan = {"name": "billing", "status": "pending", "refined_query": ASKED}
    failed = {"error": "TOOL_ERROR", "message": "no card"}
    assert acted == [
        {"assistant": ACTED[0]},
        {"main": {"workflow_1": {"status": "pending", "steps": [plan]}}},
        {"billing": {"tool": "charge", "arguments": {}, "tool_call_result": failed}},
    ]
    confirm(tmp_path / "desk/scenarios")
    imported(source, tmp_path / "runs", "--scenarios", tmp_path / "desk/scenarios")
    first = read_json(tmp_path / "runs/m/t_out.json")["runs"][0]["answers"][0]
    assert first["usage"] == {"input_tokens": 100, "output_tokens": 5}
    assert first["cost_usd"] == pytest.approx(0.002)


RETELL = {
    "call_id": "t",
    "call_status": "ended",
    "transcript_with_tool_calls": [
        {"role": "user", "content": ASKED, "words": []},
        {"role": "node_transition", "former_node_name": "a", "new_node_name": "b"},
        {
            "role": "tool_call_invocation",
            "tool_call_id": "a",
            "name": "find",
            "arguments": '{"people": 4}',
        },
        {"role": "dtmf", "digit": "5"},
        {
            "role": "tool_call_result",
            "tool_call_id": "a",
            "content": json.dumps(FOUR),
            "successful": True,
        },
        {"role": "agent", "content": LAST["content"], "words": []},
    ],
}
VAPI = {
    "id": "t",
    "assistant": {"model": {"provider": "openai", "model": "m", "tools": [TOOL]}},
    "messages": [
        {"role": "system", "message": "You book.", "secondsFromStart": 0},
        {"role": "user", "message": ASKED, "secondsFromStart": 2},
        {
            "role": "tool_calls",
            "message": "",
            "toolCalls": [call("a", 4)],
            "secondsFromStart": 3,
        },
        {
            "role": "tool_call_result",
            "toolCallId": "a",
            "name": "find",
            "result": json.dumps(FOUR),
            "secondsFromStart": 4,
        },
        {"role": "bot", "message": LAST["content"], "secondsFromStart": 5},
    ],
}


def test_retell_and_vapi_calls_keep_results_and_what_else_happened(tmp_path: Path) -> None:
    said = imported(write(tmp_path / "r.json", RETELL), tmp_path / "retell")
    assert "left out 1 × node_transition, first in t" in said
    asked, acted, *rest = read_json(tmp_path / "retell/scenarios/t.json")["steps"]
    assert (asked, acted) == ({"user": ASKED}, {"assistant": ACTED[0]})
    assert rest == [{"user": "[dtmf 5]"}, {"main": LAST["content"]}]
    imported(write(tmp_path / "v.json", VAPI), tmp_path / "vapi")
    scenario = read_json(tmp_path / "vapi/scenarios/t.json")
    assert scenario["steps"] == [{"user": ASKED}, {"assistant": ACTED[0]}, rest[1]]
    assert read_json(tmp_path / "vapi/cards/assistant.json")["tools"] == [FIND]
    assert (tmp_path / "vapi/prompts/assistant.md").read_text() == "You book.\n"


def test_a_test_run_of_deepeval_keeps_model_cost_and_time(tmp_path: Path) -> None:
    used = [{"name": "find", "type": "FUNCTION", "inputParameters": {"people": 4}}]
    case = {"name": "case_0", "input": ASKED, "expectedTools": used, "toolsCalled": used}
    spent = {"tokenCost": 0.002, "completionTime": 1.5}
    without: dict[str, Any] = {
        "name": "case_1",
        "input": "Hi",
        "expectedTools": None,
        "toolsCalled": [],
    }
    saved = {"testCases": [{**case, **spent}, without], "hyperparameters": {"model": "m"}}
    said = imported(write(tmp_path / "x.json", {"testRunData": saved}), tmp_path / "d")
    assert "left out 1 × test cases of DeepEval without expected tools" in said
    (line,) = map(json.loads, (tmp_path / "d/outputs.jsonl").read_text().splitlines())
    assert (line["model"], line["cost_usd"], line["latency_ms"]) == ("m", 0.002, 1500)


def test_a_folder_of_bfcl_is_read_without_its_categories_of_several_turns(tmp_path: Path) -> None:
    turns = [[{"role": "user", "content": "Go"}], [{"role": "user", "content": "On"}]]
    tool = {"name": "find", "parameters": {"type": "dict", "properties": {}}}
    folder = tmp_path / "bfcl"
    (folder / "possible_answer").mkdir(parents=True)
    write(
        folder / "multi.json",
        {"id": "multi_turn_base_0", "question": turns, "involved_classes": ["Trips"]},
    )
    write(folder / "possible_answer/multi.json", {"id": "multi_turn_base_0", "ground_truth": [[]]})
    write(folder / "one.json", {"id": "simple_python_0", "question": turns[:1], "function": [tool]})
    write(
        folder / "possible_answer/one.json",
        {"id": "simple_python_0", "ground_truth": [{"find": {}}]},
    )
    said = imported(folder, tmp_path / "out")
    assert "out/cases.jsonl: 1 case" in said
    assert "left out 1 × multi_turn of BFCL, which expects no calls of one turn" in said


def test_models_and_epochs_of_one_scenario_become_recordings_of_their_own(tmp_path: Path) -> None:
    def recorded(model: str) -> Path:
        line = {"id": "t", "model": model, "messages": [*FIRST, CALLS, *RESULTS, LAST]}
        return write(tmp_path / f"{model}.jsonl", line)

    first, second = recorded("one"), recorded("two")
    said = imported(first, tmp_path / "desk", second)
    assert "1 conversation of other models or runs of these scenarios" in said
    confirm(tmp_path / "desk/scenarios")
    imported(first, tmp_path / "runs", second, "--scenarios", tmp_path / "desk/scenarios")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["one", "two"]
    refused = run("import", first, first, "--agents", "-o", tmp_path / "again")
    assert (refused.returncode, "two conversations have the id 't'" in refused.stderr) == (2, True)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, key))


JUNK: list[Any] = [
    None,
    1,
    -1,
    "",
    [],
    {},
    "x",
    True,
    [None],
    {"a": 1},
    "{",
    [[]],
    {"role": "user"},
]
TAU2 = {"tasks": [{"id": 1, "evaluation_criteria": {"actions": [{"name": "find"}]}}],
        "simulations": [{"task_id": 1, "termination_reason": "user_stop", "messages": [CALLS]}],
        "info": {"agent_info": {"llm": "m"}}}  # fmt: skip
DAMAGED = [*(value for value, _ in SOURCES.values()), ELEVENLABS, RETELL, VAPI, TAU2]


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_a_damaged_recording_is_read_or_refused_in_words(number: int, tmp_path: Path) -> None:
    rng = random.Random(number)
    for _ in range(40):
        value = copy.deepcopy(DAMAGED[number])
        *inside, last = rng.choice(list(places(value)))
        holder = value
        for key in inside:
            holder = holder[key]
        holder[last] = copy.deepcopy(rng.choice(JUNK))
        source = read_source(write(tmp_path / "x.jsonl", value))
        with suppress(CallscoreError):
            gold, _ = read_gold_calls([source])
            traces = [] if gold else read_traces(source) or []
            cards_of(traces)
            for trace in traces:
                recording([trace], "x", scenario_steps(trace))
