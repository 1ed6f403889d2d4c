"""Recordings as the libraries of vendors write them: no call, result or token is lost.

The forms are those of openai 3.51, openai-agents 0.24, google-genai 3.3, anthropic 2.10, langsmith
0.14, langchain 1.4, OpenInference (openai-agents 2.6, openai 0.1.66) and OpenLLMetry 0.62.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callscore.core.errors import DataError
from callscore.import_job import read_source
from callscore.importers.agents.scenarios import recording, scenario_steps
from callscore.importers.agents.spent import spent_in
from callscore.importers.agents.traces import read_traces

ASKED, ANSWERED = "A table for four at seven, please.", "Table 12 is free."
WEATHER, FIND = {"city": "Oslo"}, {"people": 4}
RAIN, TABLES = "No forecast.", {"tables": [12]}
STEPS: list[dict[str, Any]] = [
    {"user": ASKED},
    {
        "desk": [
            {"tool": "weather", "arguments": WEATHER, "tool_call_result": RAIN},
            {"tool": "find", "arguments": FIND, "tool_call_result": TABLES},
        ]
    },
    {"main": ANSWERED},
]


def called(name: str, arguments: Any) -> dict[str, Any]:
    item = f"fc_{name}"
    return {
        "type": "function_call",
        "id": item,
        "call_id": name,
        "name": name,
        "arguments": json.dumps(arguments),
    }


ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    called("weather", WEATHER),
    called("find", FIND),
    {"type": "function_call_output", "call_id": "weather", "output": RAIN},
    {"type": "function_call_output", "call_id": "find", "output": json.dumps(TABLES)},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": ANSWERED, "annotations": []}],
    },
]
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": name,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in (("weather", WEATHER), ("find", FIND))
        ],
    },
    {"role": "tool", "tool_call_id": "weather", "content": RAIN},
    {"role": "tool", "tool_call_id": "find", "content": json.dumps(TABLES)},
    {"role": "assistant", "content": ANSWERED},
]


def anthropic() -> list[Any]:
    """Tokens of the cache are not in `input_tokens`."""
    calls = [
        {"type": "tool_use", "id": name, "name": name, "input": arguments}
        for name, arguments in (("weather", WEATHER), ("find", FIND))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "weather", "content": RAIN},
        {"type": "tool_result", "tool_use_id": "find", "content": json.dumps(TABLES)},
    ]
    history = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 50,
        "cache_creation_input_tokens": 7,
        "output_tokens": 20,
    }
    return [
        {
            "id": "x",
            "request": {"model": "live", "messages": history[:seen]},
            "response": {"type": "message", "content": content, "usage": usage},
        }
        for seen, content in ((1, calls), (3, [{"type": "text", "text": ANSWERED}]))
    ]


def gemini() -> list[Any]:
    """As `model_dump` writes it: names with underscores, tools and instructions in `config`."""
    calls = [
        {"function_call": {"name": name, "args": arguments}}
        for name, arguments in (("weather", WEATHER), ("find", FIND))
    ]
    results = [
        {"function_response": {"name": name, "response": {"result": result}}}
        for name, result in (("weather", RAIN), ("find", TABLES))
    ]
    history = [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results},
    ]
    config = {
        "system_instruction": "You book.",
        "tools": [{"function_declarations": [{"name": "find", "description": "Finds."}]}],
    }
    usage = {
        "prompt_token_count": 157,
        "candidates_token_count": 15,
        "thoughts_token_count": 5,
        "total_token_count": 177,
    }
    return [
        {
            "id": "x",
            "request": {"model": "live", "contents": history[:seen], "config": config},
            "response": {
                "candidates": [{"content": {"role": "model", "parts": parts}}],
                "usage_metadata": usage,
                "model_version": "live-001",
            },
        }
        for seen, parts in ((1, calls), (3, [{"text": ANSWERED}]))
    ]


def agents_sdk() -> list[Any]:
    """The export of the OpenAI Agents SDK itself: one span per request, the group on its trace."""
    generations = [
        {
            "object": "trace.span",
            "id": f"span_{seen}",
            "trace_id": "trace_1",
            "parent_id": "span_agent",
            "started_at": f"2026-11-18T10:00:0{seen}+00:00",
            "ended_at": f"2026-11-18T10:00:0{seen}.5+00:00",
            "span_data": {
                "type": "generation",
                "input": [{"role": "system", "content": "You book."}, *CHAT[:seen]],
                "output": [CHAT[seen]],
                "model": "live",
                "usage": {"requests": 1, "input_tokens": 157, "output_tokens": 20},
            },
            "error": None,
        }
        for seen in (1, 4)
    ]
    trace = {"object": "trace", "id": "trace_1", "workflow_name": "w", "group_id": "x"}
    agent = {
        "object": "trace.span",
        "id": "span_agent",
        "trace_id": "trace_1",
        "parent_id": None,
        "span_data": {"type": "agent", "name": "desk", "tools": ["weather", "find"]},
    }
    return [trace, *generations, agent]


def spans(attributes: list[dict[str, Any]]) -> list[Any]:
    """Spans as `ReadableSpan.to_json` writes them, in one of an agent."""
    context = {"trace_id": "x", "span_id": "root"}
    root = {"name": "desk", "context": context, "attributes": {"gen_ai.agent.name": "desk"}}
    return [
        {
            "name": "response",
            "context": {"trace_id": "x", "span_id": f"s{number}"},
            "parent_id": "root",
            "start_time": f"2026-11-18T10:00:0{number}.000000Z",
            "end_time": f"2026-11-18T10:00:0{number}.500000Z",
            "status": {"status_code": "OK"},
            "attributes": one,
        }
        for number, one in enumerate(attributes)
    ] + [root]


def openinference() -> list[Any]:
    """Requests that name the reply before them; every item of a reply is a message of its own."""
    out, second = "llm.output_messages", "message.tool_calls.0.tool_call"
    known = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "live",
        "llm.token_count.prompt": 157,
        "llm.token_count.completion": 20,
        "llm.token_count.prompt_details.cache_read": 50,
    }
    calls = {
        f"{out}.{number}.{second}.{key}": value
        for number, (name, arguments) in enumerate((("weather", WEATHER), ("find", FIND)), 1)
        for key, value in (
            ("id", name),
            ("function.name", name),
            ("function.arguments", json.dumps(arguments)),
        )
    }
    reasoning = {f"{out}.0.message.contents.0.message_content.type": "reasoning"}
    roles = {f"{out}.{number}.message.role": "assistant" for number in range(3)}
    first = {
        **known,
        **calls,
        **reasoning,
        **roles,
        "output.value": json.dumps({"id": "resp_1", "object": "response"}),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": ASKED,
    }
    results = {
        f"llm.input_messages.{number}.message.{key}": value
        for number, (name, result) in enumerate((("weather", RAIN), ("find", json.dumps(TABLES))))
        for key, value in (("role", "tool"), ("tool_call_id", name), ("content", result))
    }
    last = {
        **known,
        **results,
        "output.value": json.dumps({"id": "resp_2", "object": "response"}),
        "llm.invocation_parameters": json.dumps({"previous_response_id": "resp_1"}),
        f"{out}.0.message.role": "assistant",
        f"{out}.0.message.contents.0.message_content.type": "text",
        f"{out}.0.message.contents.0.message_content.text": ANSWERED,
    }
    return spans([first, last])


def openllmetry(*, has_history: bool) -> list[Any]:
    """One finish reason for several messages; history has the ids of items, results have others."""

    def message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "parts": list(parts)}

    def calls(prefix: str) -> list[dict[str, Any]]:
        return [
            message(
                "assistant",
                {"type": "tool_call", "id": prefix + name, "name": name, "arguments": arguments},
            )
            for name, arguments in (("weather", WEATHER), ("find", FIND))
        ]

    asked = message("user", {"type": "text", "content": ASKED})
    results = [
        message("tool", {"type": "tool_call_response", "id": name, "response": result})
        for name, result in (("weather", RAIN), ("find", json.dumps(TABLES)))
    ]
    prefix = "" if has_history else "fc_"
    history = [asked, *calls("fc_"), *results] if has_history else results
    answered = message("assistant", {"type": "text", "content": ANSWERED})
    return spans(
        [
            {
                "gen_ai.response.model": "live",
                "gen_ai.response.finish_reasons": [reason],
                "gen_ai.usage.input_tokens": 157,
                "gen_ai.usage.output_tokens": 20,
                "gen_ai.usage.cache_read_input_tokens": 50,
                "gen_ai.input.messages": json.dumps(said),
                "gen_ai.output.messages": json.dumps(replied),
            }
            for reason, said, replied in (
                ("tool_call", [asked], calls(prefix)),
                ("stop", history, [answered]),
            )
        ]
    )


def langsmith() -> list[Any]:
    """Runs of `wrap_openai` with the Responses API."""
    return [
        {
            "id": f"run_{number}",
            "trace_id": "t",
            "run_type": "llm",
            "name": "ChatOpenAI",
            "start_time": f"2026-11-18T10:00:0{number}Z",
            "end_time": f"2026-11-18T10:00:0{number}.500000Z",
            "extra": {"metadata": {"thread_id": "x", "ls_model_name": "live"}},
            "inputs": {"input": asked, "model": "live", **after},
            "outputs": {
                "id": f"resp_{number}",
                "object": "response",
                "output": output,
                "usage_metadata": {"input_tokens": 157, "output_tokens": 20},
            },
        }
        for number, (asked, after, output) in enumerate(
            (
                (ITEMS[:1], {}, ITEMS[1:4]),
                (ITEMS[4:6], {"previous_response_id": "resp_0"}, ITEMS[6:]),
            )
        )
    ]


FORMS = {
    "anthropic": anthropic,
    "gemini": gemini,
    "agents_sdk": agents_sdk,
    "openinference": openinference,
    "openllmetry": lambda: openllmetry(has_history=True),
    "openllmetry_without_history": lambda: openllmetry(has_history=False),
    "langsmith": langsmith,
}


def traces(values: list[Any], folder: Path, *, as_lines: bool = True) -> Any:
    path = folder / ("x.jsonl" if as_lines else "x.json")
    lines = "\n".join(map(json.dumps, values)) if as_lines else json.dumps(values)
    path.write_text(lines, encoding="utf-8")
    return read_traces(read_source(path))


@pytest.mark.parametrize("form", FORMS)
def test_parallel_calls_results_and_tokens_are_those_of_the_library(
    form: str, tmp_path: Path
) -> None:
    (trace,) = traces(FORMS[form](), tmp_path)
    steps = scenario_steps(trace)
    wanted = json.dumps(STEPS)
    if form in ("anthropic", "gemini", "langsmith"):  # name no agent
        wanted = wanted.replace('"desk"', '"assistant"')
    if form == "gemini":
        wanted = wanted.replace(json.dumps(RAIN), json.dumps({"result": RAIN}))
        wanted = wanted.replace(json.dumps(TABLES), json.dumps({"result": TABLES}))
    assert (trace.id, trace.model, steps) == ("x", "live", json.loads(wanted))
    document, strays = recording([trace], "x", steps)
    (answer,) = document["runs"][0]["answers"]
    assert answer["usage"] == {"input_tokens": 157, "output_tokens": 20}
    assert strays == 0
    assert set(trace.unread) <= {"reasoning"}


def test_the_tools_and_the_prompt_of_gemini_are_those_of_its_config(tmp_path: Path) -> None:
    (trace,) = traces(gemini(), tmp_path)
    assert [tool.name for tool in trace.tools] == ["find"]
    assert trace.events[0].text == "You book."


@pytest.mark.parametrize(
    "messages",
    [
        ITEMS,
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", name],
                "kwargs": {"name": agent, **message},
            }
            for name, agent, message in zip(
                ("HumanMessage", "AIMessage", "ToolMessage", "ToolMessage", "AIMessage"),
                (None, "desk", None, None, "desk"),
                CHAT,
                strict=True,
            )
        ],
    ],
    ids=["session items", "langchain"],
)
def test_a_list_of_items_is_one_conversation(messages: list[Any], tmp_path: Path) -> None:
    (trace,) = traces(messages, tmp_path, as_lines=False)
    (_, acted, _) = scenario_steps(trace)
    ((_, calls),) = acted.items()
    assert calls == STEPS[1]["desk"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(anthropic()[0]) + '\n{"id": "x", \n')
    with pytest.raises(DataError, match=r"x\.jsonl:2: is not JSON .* expected one value per line"):
        read_traces(read_source(path))


def test_a_last_reply_that_is_not_recorded_is_named(tmp_path: Path) -> None:
    values = openllmetry(has_history=True)
    for span in values[:2]:
        del span["attributes"]["gen_ai.output.messages"]
    (trace,) = traces(values, tmp_path)
    assert trace.unread == {"replies that are not recorded": 1}


@pytest.mark.parametrize(
    "values",
    [
        spans([{"gen_ai.operation.name": "chat", "gen_ai.request.model": "live"}]),
        [
            {
                "object": "trace.span",
                "id": "span_1",
                "trace_id": "t",
                "span_data": {"type": "response", "response_id": "resp_1"},
            }
        ],
    ],
    ids=["opentelemetry", "agents sdk"],
)
def test_spans_without_messages_say_how_to_record_them(values: list[Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="spans without messages; expected .* capture of message"):
        traces(values, tmp_path)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"input_tokens": 94, "input_tokens_cache_read": 10, "output_tokens": 20}, 104),
        ({"inputTokens": 94, "cacheWriteInputTokens": 10, "outputTokens": 20}, 104),
        ({"prompt_tokens": 104, "cache_read_input_tokens": 10, "completion_tokens": 20}, 104),
        ({"inputTokenCount": 104, "outputTokenCount": 20}, 104),
    ],
    ids=["inspect", "bedrock", "litellm", "deepeval"],
)
def test_tokens_of_the_cache_are_counted_once(usage: dict[str, int], read: int) -> None:
    assert spent_in(usage)[1:3] == (read, 20)
