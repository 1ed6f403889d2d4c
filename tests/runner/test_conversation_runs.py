"""Runs with conversations: what they cost, what is stored, and what is asked again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run
from eval_files import eval_file, read_json, read_lines, remote_model
from stub_servers import Answer, Behaviour, Request, chat_completion, serving

CARD = {
    "agent_card": {"agent_id": "desk"},
    "tools": [
        {"name": "find", "parameters": {"type": "object", "properties": {}}},
        {"name": "book", "parameters": {"type": "object", "properties": {}}},
    ],
}
STEPS = [
    {"user": "A table for four."},
    {"desk": {"tool": "find", "arguments": {"people": 4}, "tool_call_result": {"tables": [3]}}},
    {"desk": {"tool": "book", "arguments": {"table": 3}, "tool_call_result": {"ok": True}}},
]
EXPECT = [{"called": "book", "arguments": {"table": 12}}, {"said": "booked"}]
TOOLS = """
from pathlib import Path

def log(name):
    with (Path(__file__).parent / "calls.txt").open("a") as file:
        print(name, file=file)

def find(people):
    log("find")
    return {"tables": [12]}

def book(table):
    log("book")
    if table != 12:
        raise ValueError("no such table")
    return {"ok": True}
"""
MOST_OUTPUT = 50


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for name in ("scenarios", "cards"):
        (tmp_path / name).mkdir()
    (tmp_path / "cards" / "desk.json").write_text(json.dumps(CARD))
    (tmp_path / "tools.py").write_text(TOOLS)
    scenario = {"steps": STEPS, "user": {"goal": "Eat out."}, "expect": EXPECT}
    for name in ("one", "two"):
        (tmp_path / "scenarios" / f"{name}.json").write_text(json.dumps(scenario))
    return tmp_path


def conversations(folder: Path, url: str, models: list[Any] | None = None, **settings: Any) -> Path:
    tools = {
        "find": {"python": "tools.py:find", "recorded": False},
        "book": {"python": "tools.py:book", "recorded": False},
    }
    data = {
        "scenarios": "scenarios",
        "cards": "cards",
        "history": "own",
        "tools": tools,
        "stop": {"steps": 6, "user_turns": 3},
        **settings,
    }
    params = {"max_tokens": MOST_OUTPUT}
    models = [remote_model(url, params=params)] if models is None else models
    return eval_file(folder, models, data={"orchestration": data}, store="runs.db")


def call(name: str, **arguments: Any) -> Behaviour:
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = [{"id": "x", "type": "function", "function": function}]
    return Answer(chat_completion(None, "tool_calls", tool_calls=made))


def agent(request: Request) -> Behaviour:
    """Finds a table, books a wrong one and then the right one, and says so; plays the user too."""
    messages = request.json["messages"]
    if "You play a user" in messages[0]["content"]:
        return Answer(chat_completion("[END]"))
    results = [m["content"] for m in messages if m["role"] == "tool"]
    steps = [call("find", people=4), call("book", table=11), call("book", table=12)]
    if len(results) < len(steps):
        return steps[len(results)]
    return Answer(chat_completion("It is booked."))


def greedy(request: Request) -> Behaviour:
    """Never ends, and is charged for every byte and for as much output as is allowed."""
    turn = len(request.json["messages"])
    answer = call("find", people=turn, note="x" * 100)
    if "You play a user" in request.json["messages"][0]["content"] or turn % 2:
        answer = Answer(chat_completion(f"Is that so? {turn}"))
    assert isinstance(answer, Answer) and isinstance(answer.body, dict)
    usage = {"prompt_tokens": len(request.body), "completion_tokens": MOST_OUTPUT}
    return Answer({**answer.body, "usage": usage})


def dollars(text: str, pattern: str) -> float:
    found = re.findall(pattern, text)
    assert found, text
    return float(found[-1])


def test_a_conversation_is_scored_by_its_end_and_its_errors_are_counted(folder: Path) -> None:
    with serving(agent) as stub:
        config = conversations(folder, stub.url)
        done = run("run", config, "--json", folder / "card.json", cwd=folder)
        assert done.returncode == 0, done.stderr
        sent = len(stub.requests)
        again = run("run", config, "--json", folder / "again.json", cwd=folder)
        assert len(stub.requests) == sent, "everything is stored"
        stored = run("run", config, "--rescore", 1, "--json", folder / "old.json", cwd=folder)
        page = folder / "report.html"
        shown = run("report", config, "--format", "html", "-o", page, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", page.read_text())
    for label, number in (("Failed tool calls", "2"), ("Recovered from a failed call", "2")):
        assert cells[cells.index(label) + 1] == number
    assert "1.0000" in done.stdout and "2 of 2 recovered after a failed call" in done.stdout
    found = read_json(folder / "card.json")["x_extension"]["free_running"]
    talked = found["conversations"]
    assert (talked["success"], talked["stopped"]) == (1.0, {"finished": 2})
    assert (talked["failed_calls"], talked["wasted_steps"], talked["recovered"]) == (2, 2, 2)
    assert talked["usage"]["answers"] == 8
    assert (folder / "calls.txt").read_text().split() == ["find", "find", *["book"] * 4]
    for other, file in ((again, "again.json"), (stored, "old.json")):
        assert other.returncode == 0, other.stderr
        document = read_json(folder / file)
        assert document["x_extension"]["free_running"] == found


def test_a_stopped_run_continues_in_the_middle_of_a_conversation(folder: Path) -> None:
    refuses = True

    def respond(request: Request) -> Behaviour:
        if refuses and any(m["role"] == "tool" for m in request.json["messages"]):
            return Answer({"error": {"message": "not now"}}, status=400)
        return agent(request)

    with serving(respond) as stub:
        config = conversations(folder, stub.url)
        first = run("run", config, "--json", folder / "card.json", cwd=folder)
        assert "left out: und/one#2/own, run 1" in first.stdout, first.stderr
        refuses = False
        second = run("run", config, "--resume", "--json", folder / "card.json", cwd=folder)
    assert second.returncode == 0, second.stderr
    found = read_json(folder / "card.json")["x_extension"]["free_running"]
    assert found["conversations"]["success"] == 1.0
    assert (folder / "calls.txt").read_text().split().count("find") == 2, "it was not asked again"


def test_no_run_costs_more_than_its_dry_run_says(folder: Path) -> None:
    with serving(greedy) as stub:
        model = remote_model(stub.url, "u", params={"max_tokens": MOST_OUTPUT})
        user = {key: value for key, value in model.items() if key != "name"}
        stop = {"steps": 9, "user_turns": 4, "bytes": 4_000}
        config = conversations(folder, stub.url, user=user, stop=stop)
        dry = run("run", config, "--dry-run", cwd=folder)
        done = run("run", config, "--no-preflight", "--json", folder / "card.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    most = dollars(dry.stdout, r"In total: \$[\d.]+ to \$([\d.]+)")
    assert "(user)" in dry.stdout
    spent = sum(
        map(float, re.findall(r"\$([\d.]+)$", done.stderr.split("spend")[-1], re.MULTILINE))
    )
    assert 0 < spent <= most, (spent, most)
    assert spent > most / 20, "the bound is not far away"


def test_a_budget_ends_conversations(folder: Path) -> None:
    with serving(greedy) as stub:
        config = conversations(folder, stub.url)
        done = run("run", config, "--no-preflight", "--budget", "0.008", cwd=folder)
        sent = sum(len(request.body) for request in stub.requests)
    assert "budget" in done.stderr, done.stderr
    assert sent > 0


def test_conversations_follow_a_race(folder: Path) -> None:
    models = [{"name": name, "provider": "simulated"} for name in ("a", "b")]
    config = conversations(folder, "", models, user={"provider": "simulated"})
    out = folder / "steps.jsonl"
    done = run("run", config, "--race", "--trajectories", out, "--json", folder / "c", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = [line for line in read_lines(out) if line["history"] == "own"]
    last = [line["verdict"]["stopped"] for line in lines if "stopped" in line["verdict"]]
    assert last == ["finished"] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"history": "gold"}, "expected it with history: own only"),
        ({"tools": {"find": {}}}, "expected python: FILE.py:function, or mcp"),
        ({"tools": {"find": {"python": "nope.py:find"}}}, "no such file"),
        ({"tools": {"find": {"python": "tools.py:nope"}}}, "no such function"),
        ({"tools": {"find": {"mcp": ["a"], "timeout_s": 0}}}, "expected at most 600 seconds"),
        ({"tools": {"fnd": {"python": "tools.py:find"}}}, "tools.fnd: no card has the tool 'fnd'"),
        ({"stop": {"steps": 0}}, "expected at least 1"),
        ({"user": {"provider": "replay"}}, "cannot play a user"),
    ],
)
def test_unusable_settings_are_refused_with_their_place(
    folder: Path, settings: dict[str, Any], message: str
) -> None:
    done = run("run", conversations(folder, "http://127.0.0.1:9", **settings), cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr.replace("\n", " "), done.stderr


def test_a_dry_run_loads_every_function_and_calls_none(folder: Path) -> None:
    for name, code in (("book", 0), ("bok", 2)):
        tools = {"book": {"python": f"tools.py:{name}", "recorded": False}}
        config = conversations(folder, "http://127.0.0.1:9", tools=tools)
        done = run("run", config, "--dry-run", cwd=folder)
        assert (done.returncode, "no such function" in done.stderr) == (code, code == 2)
    assert not (folder / "calls.txt").exists()
