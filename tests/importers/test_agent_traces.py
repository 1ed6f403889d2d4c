"""Recordings of agents: every form of messages becomes the same scenario, gold stays gold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow
import pytest

from commands import run
from eval_files import read_json

SCHEMA = {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]}
FIND = {"name": "find", "description": "Finds a table.", "parameters": SCHEMA}
OPENAI_TOOLS = [{"type": "function", "function": FIND}]
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"people": 4}'}}
OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "You book tables."},
    {"role": "user", "content": "A table"},
    {"role": "assistant", "content": "For how many?"},
    {"role": "user", "content": "Four"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"tables": [12]}'},
]
LAST = {"role": "assistant", "content": "Table 12 is free."}
PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": "A table"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "For how many?"}]},
    {"role": "user", "parts": [{"type": "text", "content": "Four"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"people": 4}}],
    },
    {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c1", "response": {"tables": [12]}}],
    },
]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "Table 12 is free."}]}]
SPAN = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "desk",
    "gen_ai.tool.definitions": json.dumps([{"type": "function", **FIND}]),
    "gen_ai.input.messages": json.dumps(PARTS),
    "gen_ai.output.messages": json.dumps(SAID),
}
EARLIER = {**SPAN, "gen_ai.input.messages": json.dumps(PARTS[:1])}
OTLP_SPAN = {
    "traceId": "book",
    "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in SPAN.items()],
}
ANTHROPIC = [
    {"role": "user", "content": "A table"},
    {"role": "assistant", "content": [{"type": "text", "text": "For how many?"}]},
    {"role": "user", "content": "Four"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {"people": 4}}],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [{"type": "text", "text": '{"tables": [12]}'}],
            }
        ],
    },
]
GEMINI = [
    {"role": "user", "parts": [{"text": "A table"}]},
    {"role": "model", "parts": [{"text": "For how many?"}]},
    {"role": "user", "parts": [{"text": "Four"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"people": 4}}}]},
    {
        "role": "user",
        "parts": [{"functionResponse": {"name": "find", "response": {"tables": [12]}}}],
    },
]
RESPONSES = [
    {"role": "user", "content": "A table"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "For how many?"}]},
    {"role": "user", "content": [{"type": "input_text", "text": "Four"}]},
    {"type": "function_call", "call_id": "c", "name": "find", "arguments": '{"people": 4}'},
    {"type": "function_call_output", "call_id": "c", "output": '{"tables": [12]}'},
]
LANGCHAIN = [
    {"type": "human", "content": "A table"},
    {"id": ["langchain", "AIMessage"], "kwargs": {"content": "For how many?"}},
    {"type": "human", "content": "Four"},
    {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "find", "args": {"people": 4}, "id": "c1"}],
    },
    {"type": "tool", "tool_call_id": "c1", "content": '{"tables": [12]}'},
]
GENERATED = {
    "text": "",
    "message": {"kwargs": {"content": "Table 12 is free."}, "id": ["AIMessage"]},
}
FORMS: dict[str, Any] = {
    "openai": {
        "id": "book",
        "request": {"model": "desk", "messages": OPENAI, "tools": OPENAI_TOOLS},
        "response": {"choices": [{"message": LAST}]},
    },
    "responses": {
        "id": "book",
        "request": {"model": "desk", "input": RESPONSES, "tools": [{"type": "function", **FIND}]},
        "response": {"output": [{"type": "message", **LAST}]},
    },
    "anthropic": {
        "id": "book",
        "request": {
            "model": "desk",
            "messages": ANTHROPIC,
            "tools": [{"name": "find", "description": "Finds a table.", "input_schema": SCHEMA}],
        },
        "response": {"content": [{"type": "text", "text": "Table 12 is free."}]},
    },
    "gemini": {
        "id": "book",
        "model": "desk",
        "request": {
            "model": "desk",
            "contents": GEMINI,
            "tools": [{"functionDeclarations": [FIND]}],
        },
        "response": {"candidates": [{"content": {"parts": [{"text": "Table 12 is free."}]}}]},
    },
    "spans": [
        {"context": {"trace_id": "book"}, "attributes": EARLIER},
        {"context": {"trace_id": "book"}, "attributes": SPAN},
    ],
    "otlp": {"resourceSpans": [{"scopeSpans": [{"spans": [OTLP_SPAN]}]}]},
    "langfuse": {
        "id": "book",
        "observations": [
            {"type": "SPAN"},
            {
                "type": "GENERATION",
                "model": "desk",
                "input": {"messages": OPENAI, "tools": OPENAI_TOOLS},
                "output": LAST,
            },
        ],
    },
    "langsmith": {
        "run_type": "llm",
        "trace_id": "book",
        "inputs": {"messages": [LANGCHAIN]},
        "outputs": {"generations": [[GENERATED]]},
        "extra": {"invocation_params": {"model": "desk", "tools": OPENAI_TOOLS}},
    },
}
FORMS["openllmetry"] = {
    "context": {"trace_id": "book"},
    "attributes": {
        "gen_ai.request.model": "desk",
        "gen_ai.tool.definitions": [FIND],
        **{
            f"gen_ai.prompt.{place}.{key}": value
            for place, message in enumerate(OPENAI)
            for key, value in message.items()
            if key != "tool_calls"
        },
        "gen_ai.prompt.4.tool_calls.0.id": "c1",
        "gen_ai.prompt.4.tool_calls.0.name": "find",
        "gen_ai.prompt.4.tool_calls.0.arguments": '{"people": 4}',
        **{f"gen_ai.completion.0.{key}": value for key, value in LAST.items()},
    },
}
FORMS["tool spans"] = [
    {
        "trace_id": "book",
        "attributes": {**SPAN, "gen_ai.input.messages": json.dumps(PARTS[:4])},
    },
    {
        "trace_id": "book",
        "attributes": {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.result": '{"tables": [12]}',
        },
    },
]
STEPS = [
    {"user": "A table"},
    {"assistant": {"status": "AWAITING_USER_INPUT", "message": "For how many?"}},
    {"user": "Four"},
    {
        "assistant": {
            "tool": "find",
            "arguments": {"people": 4},
            "tool_call_result": {"tables": [12]},
        }
    },
    {"main": "Table 12 is free."},
]


def write(path: Path, value: Any) -> Path:
    lines = value if isinstance(value, list) else [value]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def imported(source: Path, out: Path, *options: Any) -> None:
    done = run("import", source, "--agents", "-o", out, *options)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_the_same_scenario_and_card(form: str, tmp_path: Path) -> None:
    imported(write(tmp_path / "book.jsonl", FORMS[form]), tmp_path / "desk")
    scenario = read_json(tmp_path / "desk" / "scenarios" / "book.json")
    assert scenario["steps"] == STEPS
    assert read_json(tmp_path / "desk" / "cards" / "assistant.json")["tools"] == [FIND]


def confirm(folder: Path) -> None:
    for path in folder.glob("*.json"):
        path.write_text(path.read_text().replace('"confirmed": false', '"confirmed": true'))


def test_scenarios_count_once_a_person_has_confirmed_them(tmp_path: Path) -> None:
    source = write(tmp_path / "book.jsonl", FORMS["spans"])
    imported(source, tmp_path / "desk")
    scenarios, cards = tmp_path / "desk" / "scenarios", tmp_path / "desk" / "cards"
    refused = run("import", source, "--agents", "--scenarios", scenarios, "-o", tmp_path / "runs")
    assert (refused.returncode, "is not confirmed" in refused.stderr) == (2, True)
    unchecked = run("orchestration", "validate", scenarios, "--cards", cards)
    assert (unchecked.returncode, "is not confirmed" in unchecked.stderr) == (2, True)
    confirm(scenarios)
    imported(source, tmp_path / "runs", "--scenarios", scenarios)
    result = tmp_path / "result.json"
    done = run(
        "orchestration", "score", tmp_path / "runs" / "desk", "--cards", cards, "--json", result
    )
    assert done.returncode == 0, done.stderr
    metrics = read_json(result)["overall_statistics"]["key_metrics"]
    assert metrics["FC"] == metrics["Call Rejection Classification Accuracy"] == 1.0
    assert "|asking_back:text|" in read_json(result)["x_extension"]["signature"]


def scored_calls(tmp_path: Path, messages: list[Any], name: str) -> Any:
    source = write(tmp_path / f"{name}.jsonl", {"id": "book", "model": name, "messages": messages})
    imported(source, tmp_path / name, "--scenarios", tmp_path / "desk" / "scenarios")
    return read_json(tmp_path / name / name / "book_out.json")["runs"][0]["answers"]


def test_a_second_model_is_aligned_turn_by_turn(tmp_path: Path) -> None:
    imported(write(tmp_path / "book.jsonl", FORMS["openai"]), tmp_path / "desk")
    confirm(tmp_path / "desk" / "scenarios")
    again = {"role": "assistant", "tool_calls": [CALL, CALL]}
    twice = [*OPENAI[:2], again, OPENAI[3], OPENAI[4], OPENAI[4]]
    first, second = scored_calls(tmp_path, twice, "eager")
    assert (first["step"], len(first["tool_calls"])) == (2, 2), "it calls where it should ask"
    assert (second["step"], len(second["tool_calls"])) == (4, 2), "surplus calls count"
    (only,) = scored_calls(tmp_path, OPENAI[:3], "silent")
    assert only == {"step": 2, "content": "For how many?"}


def test_two_recorded_models_are_scored_together(tmp_path: Path) -> None:
    imported(write(tmp_path / "book.jsonl", FORMS["openai"]), tmp_path / "desk")
    confirm(tmp_path / "desk" / "scenarios")
    for name, messages in (("right", OPENAI), ("silent", OPENAI[:3])):
        scored_calls(tmp_path, messages, name)
    done = run(
        "orchestration", "score", tmp_path / "right" / "right", tmp_path / "silent" / "silent",
        "--cards", tmp_path / "desk" / "cards", "--json", tmp_path / "both.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = read_json(tmp_path / "both.json")["orchestration"]
    called = {
        model: document["overall_statistics"]["key_metrics"]["FC"]
        for model, document in found.items()
    }
    assert called == {"right": 1.0, "silent": 0.0}
    assert (tmp_path / "both.right.und.json").exists()


def zstd_archive(parts: Mapping[str, Any]) -> bytes:
    """A zip file as Inspect writes it with zstd, which zipfile cannot write before Python 3.14."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, value in parts.items():
            raw = json.dumps(value).encode()
            archive.writestr(name, pyarrow.Codec("zstd").compress(raw, asbytes=True))
            archive.infolist()[-1].file_size = len(raw)
            archive.infolist()[-1].compress_type = 93
    return packed.getvalue()


@pytest.mark.parametrize("is_archive", [False, True])
def test_an_inspect_log_keeps_its_calls_long_texts_and_errors(
    is_archive: bool, tmp_path: Path
) -> None:
    imported(write(tmp_path / "book.jsonl", FORMS["openai"]), tmp_path / "desk")
    confirm(tmp_path / "desk" / "scenarios")
    call = {"id": "c1", "function": "find", "arguments": {"people": 4}}
    asked = [*OPENAI[:1], {"role": "user", "content": "attachment://a1"}, *OPENAI[2:4]]
    reply = {"id": "m1", "role": "assistant", "content": "", "tool_calls": [call]}
    about = {"epoch": 1, "attachments": {"a1": "A table", "a2": FIND["description"]}}
    used = {"input_tokens": 40, "output_tokens": 7}
    output = {"choices": [{"message": reply}], "time": 1.5, "usage": used}
    request = {"tools": [{**FIND, "description": "attachment://a2"}], "output": output}
    events = [{"event": "span_begin"}, {"event": "model", **request}]
    samples = [
        {"id": "book", "messages": [*asked, reply], "events": events, **about},
        {"id": "book", "messages": [*asked, reply], **about, "epoch": 2},
        {"id": "late", "messages": asked[:3], "error": {"message": "429"}, **about},
    ]
    header = {"eval": {"model": "openai/x"}}
    source = tmp_path / ("log.eval" if is_archive else "log.json")
    parts = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples}
    source.write_bytes(
        zstd_archive({"header.json": header, **parts})
        if is_archive
        else json.dumps({**header, "samples": samples}).encode()
    )
    imported(source, tmp_path / "again")
    steps = read_json(tmp_path / "again" / "scenarios" / "book.json")["steps"]
    assert (steps[0], steps[-1]["assistant"]["tool"]) == ({"user": "A table"}, "find")
    assert read_json(tmp_path / "again" / "cards" / "assistant.json")["tools"] == [FIND]
    scenarios = tmp_path / "desk" / "scenarios"
    shutil.copy(scenarios / "book.json", scenarios / "late.json")
    imported(source, tmp_path / "runs", "--scenarios", scenarios)
    answers = read_json(tmp_path / "runs" / "openai_x" / "late_out.json")["runs"][0]["answers"]
    assert answers[1] == {"step": 4, "error": "429"}
    runs = read_json(tmp_path / "runs" / "openai_x" / "book_out.json")["runs"]
    assert [len(run["answers"]) for run in runs] == [2, 2], "every epoch is a run"
    assert runs[0]["answers"][1]["latency_ms"] == 1500.0
    assert runs[0]["answers"][1]["usage"] == {"input_tokens": 40, "output_tokens": 7}


def test_a_hand_over_between_agents_is_a_plan(tmp_path: Path) -> None:
    over = {"function": {"name": "transfer_to_Billing", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "My bill"},
        {"role": "assistant", "tool_calls": [over]},
        {"role": "assistant", "name": "Billing", "tool_calls": [CALL]},
    ]
    imported(write(tmp_path / "b.jsonl", {"id": "b", "messages": messages}), tmp_path / "desk")
    plan, call = read_json(tmp_path / "desk" / "scenarios" / "b.json")["steps"][1:]
    assert plan["main"]["workflow_1"]["steps"][0]["name"] == "billing"
    assert call == {"billing": {"tool": "find", "arguments": {"people": 4}}}
    assert read_json(tmp_path / "desk" / "cards" / "billing.json")["tools"][0]["name"] == "find"


def test_a_recorded_voice_call_keeps_its_tool_calls(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "message": "Four people", "time_in_call_secs": 1},
        {
            "role": "agent",
            "message": None,
            "time_in_call_secs": 2,
            "tool_calls": [{"tool_name": "find", "params_as_json": '{"people": 4}'}],
        },
    ]
    path = tmp_path / "call.json"
    path.write_text(json.dumps({"conversation_id": "v1", "agent_id": "a", "transcript": turns}))
    imported(path, tmp_path / "desk")
    steps = read_json(tmp_path / "desk" / "scenarios" / "v1.json")["steps"]
    assert steps[-1] == {"assistant": {"tool": "find", "arguments": {"people": 4}}}


HELLO, WISH, FOUND = "Hello, how can I help?", "A table for four.", "Table 12 is free."
FOUR = '{"people": 4}'


def of_retell(name: str, arguments: str = "{}") -> list[Any]:
    known = {"tool_call_id": name}
    return [
        {"role": "tool_call_invocation", "name": name, "arguments": arguments, **known},
        {"role": "tool_call_result", "content": "ok", **known},
    ]


def of_vapi(name: str, arguments: str = "{}") -> list[Any]:
    call = {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "tool_calls", "message": "", "secondsFromStart": 4, "toolCalls": [call]},
        {"role": "tool_call_result", "name": name, "result": "ok", "secondsFromStart": 5},
    ]


RETELL = {
    "call_id": "v2",
    "call_status": "ended",
    "transcript_with_tool_calls": [
        {"role": "agent", "content": HELLO, "words": []},
        {"role": "user", "content": WISH, "words": [{"start": 2.1, "end": 3.4}]},
        *of_retell("transfer_to_bookings"),
        *of_retell("find", FOUR),
        {"role": "agent", "content": FOUND, "words": []},
    ],
}
VAPI_MESSAGES = [
    {"role": "system", "message": "You book tables.", "secondsFromStart": 0},
    {"role": "bot", "message": HELLO, "secondsFromStart": 1},
    {"role": "user", "message": WISH, "secondsFromStart": 2.1},
    *of_vapi("handoff_to_bookings"),
    *of_vapi("find", FOUR),
    {"role": "bot", "message": FOUND, "secondsFromStart": 7},
]
VAPI_REPORT = {"type": "end-of-call-report", "call": {"id": "v2"}}
VAPI = {"message": {**VAPI_REPORT, "artifact": {"messages": VAPI_MESSAGES}}}


@pytest.mark.parametrize("recorded", [RETELL, VAPI], ids=["retell", "vapi"])
def test_a_hand_over_in_a_voice_call_is_a_plan_and_its_calls_stay(
    tmp_path: Path, recorded: Any
) -> None:
    path = tmp_path / "call.json"
    path.write_text(json.dumps(recorded))
    imported(path, tmp_path / "desk")
    planned = {"name": "bookings", "status": "pending", "refined_query": WISH}
    assert read_json(tmp_path / "desk" / "scenarios" / "v2.json")["steps"] == [
        {"main": HELLO},
        {"user": WISH},
        {"main": {"workflow_1": {"status": "pending", "steps": [planned]}}},
        {"bookings": {"tool": "find", "arguments": {"people": 4}, "tool_call_result": "ok"}},
        {"main": FOUND},
    ]
    confirm(tmp_path / "desk" / "scenarios")
    checked = run(
        "orchestration", "validate", tmp_path / "desk" / "scenarios",
        "--cards", tmp_path / "desk" / "cards",
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr


TAU2: dict[str, Any] = {
    "info": {"agent_info": {"llm": "desk"}},
    "tasks": [
        {
            "id": "7",
            "user_scenario": {"instructions": "Cancel K1"},
            "evaluation_criteria": {
                "actions": [
                    {"name": "cancel", "arguments": {"id": "K1"}, "requestor": "assistant"},
                    {"name": "restart_phone", "arguments": {}, "requestor": "user"},
                ]
            },
        }
    ],
    "simulations": [
        {
            "task_id": "7",
            "trial": 0,
            "agent_cost": 0.02,
            "termination_reason": "user_stop",
            "messages": [
                {"role": "user", "content": "Hi", "tool_calls": [{"name": "x", "arguments": {}}]},
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "1", "name": "cancel", "arguments": {"id": "K1"}}],
                },
                {"role": "tool", "id": "1", "content": "done"},
            ],
        },
        {"task_id": "7", "trial": 1, "termination_reason": "infrastructure_error", "messages": []},
    ],
}


def score(folder: Path) -> list[Any]:
    results = folder / "results.jsonl"
    done = run(
        "score", folder / "cases.jsonl", "--outputs", folder / "outputs.jsonl",
        "--results", results,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in results.read_text().splitlines()]


def test_a_tau2_file_is_scored_against_its_own_actions(tmp_path: Path) -> None:
    path = tmp_path / "tau2.json"
    path.write_text(json.dumps(TAU2))
    imported(path, tmp_path / "tau2")
    found = score(tmp_path / "tau2")
    assert [(one["model"], one["run"], one["status"]) for one in found] == [
        ("desk", 1, "valid"),
        ("desk", 2, "error"),
    ]
    assert found[0]["score"] == 1.0


def test_two_models_of_tau2_and_simulations_in_files_of_their_own_are_read(
    tmp_path: Path,
) -> None:
    other = {**TAU2, "info": {"agent_info": {"llm": "other"}}}
    failed = {**TAU2["simulations"][0], "messages": [], "termination_reason": "agent_error"}
    files = {
        "one/results.json": TAU2,
        "two/results.json": {**other, "simulations": None, "simulation_index": []},
        "two/simulations/a.json": TAU2["simulations"][0],
        "two/simulations/b.json": failed,
    }
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value))
    imported(tmp_path / "one", tmp_path / "tau2", tmp_path / "two")
    found = {(one["model"], one["run"]): one for one in score(tmp_path / "tau2")}
    assert {key: line["status"] for key, line in found.items()} == {
        ("desk", 1): "valid",
        ("desk", 2): "error",
        ("other", 1): "valid",
        ("other", 2): "valid",
    }
    assert (found["other", 1]["score"], found["other", 2]["score"]) == (1.0, 0.0)


@pytest.mark.parametrize("folder", ["desk", "desk/non_live"])
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ([{"gene.find": '{"id": "rs1"}'}], 1.0),
        ("[gene.find(id='rs1')]", 1.0),
        ("[gene.find(id='rs2')]", 2 / 3),
        ("I cannot do that.", 0.0),
        ("[__import__('os').system('true')]", 0.0),
    ],
)
def test_a_bfcl_result_is_scored_against_its_possible_answer(
    tmp_path: Path, result: Any, expected: float, folder: str
) -> None:
    file = f"{folder}/BFCL_v4_simple_result.json"
    (tmp_path / folder).mkdir(parents=True)
    tool = {"name": "gene.find", "parameters": {"type": "dict", "properties": {}}}
    question = [[{"role": "user", "content": "Find rs1"}]]
    write(tmp_path / "questions.json", {"id": "s_1", "question": question, "function": [tool]})
    write(
        tmp_path / "answers.json", {"id": "s_1", "ground_truth": [{"gene.find": {"id": ["rs1"]}}]}
    )
    write(tmp_path / file, {"id": "s_1", "result": result})
    names = ("questions.json", "answers.json", file)
    done = run("import", *(tmp_path / name for name in names), "--agents", "-o", tmp_path / "bfcl")
    assert done.returncode == 0, done.stderr
    (line,) = score(tmp_path / "bfcl")
    assert (line["model"], line["score"]) == ("desk", pytest.approx(expected))


@pytest.mark.parametrize("gold", [True, False])
def test_bfcl_cases_that_demand_any_call_are_left_out_and_counted(
    tmp_path: Path, gold: bool
) -> None:
    tool = {"name": "find", "parameters": {"type": "dict", "properties": {}}}
    asked = {"question": [[{"role": "user", "content": "Find"}]], "function": [tool]}
    names = ["live_relevance_3-3-0", "live_relevance_4-4-0", *(["live_irrelevance_1"] * gold)]
    write(tmp_path / "questions.json", [{"id": name, **asked} for name in names])
    write(tmp_path / "result.json", [{"id": name, "result": "[]"} for name in names])
    files = (tmp_path / "questions.json", tmp_path / "result.json")
    done = run("import", *files, "--agents", "-o", tmp_path / "bfcl")
    if not gold:
        assert (done.returncode, "no case has expected calls" in done.stderr) == (2, True)
        return
    assert done.returncode == 0, done.stderr
    assert "left out 2 × live_relevance of BFCL" in done.stdout
    assert [line["case_id"] for line in score(tmp_path / "bfcl")] == ["live_irrelevance_1"]


def test_a_deepeval_test_case_is_scored_by_its_tools(tmp_path: Path) -> None:
    tool = {"name": "find", "input_parameters": {"people": 4}}
    case = {"input": "Four", "actual_output": "", "expected_tools": [tool], "tools_called": [tool]}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"test_cases": [case]}))
    imported(path, tmp_path / "d")
    assert score(tmp_path / "d")[0]["score"] == 1.0


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"id": "s_1", "result": "[]"}, "the case 's_1' has a result and no gold"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "no message of an agent"),
        ({**TAU2, "tasks": []}, "a simulation of the unknown task '7'"),
    ],
)
def test_what_cannot_be_scored_is_refused(tmp_path: Path, value: Any, says: str) -> None:
    path = write(tmp_path / "x.json", value)
    done = run("import", path, "--agents", "-o", tmp_path / "out")
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("step", [{"step": 9}, {"step": 2}])
def test_unknown_and_repeated_steps_of_a_recording_are_data_errors(
    tmp_path: Path, step: dict[str, int]
) -> None:
    imported(write(tmp_path / "book.jsonl", FORMS["openai"]), tmp_path / "desk")
    document = {
        "callscore": "orchestration-1",
        "scenario": {"steps": STEPS},
        "runs": [{"run": 1, "answers": [{"step": 2, "content": ""}, step]}],
    }
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "book_out.json").write_text(json.dumps(document))
    done = run("orchestration", "score", tmp_path / "runs", "--cards", tmp_path / "desk" / "cards")
    assert (done.returncode, "expected every step once" in done.stderr) == (2, True), done.stderr
