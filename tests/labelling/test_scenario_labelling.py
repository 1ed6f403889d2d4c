"""People confirm or correct the expected steps of scenarios with `callscore annotate`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from builders import Json
from commands import run
from eval_files import read_json

SHORT: Json = {
    "metadata": {"confirmed": False, "note": "imported", "source": "trace 1"},
    "steps": [
        {"user": "A quiet table for four on Friday at seven"},
        {
            "desk": {
                "tool": "find",
                "arguments": {"people": 4, "wish": "table"},
                "tool_call_result": {"tables": [12]},
            }
        },
        {"desk": {"tool": "book", "arguments": {"table": 12}}},
        {"user": "And for forty?"},
        {"desk": {"tool": "find", "arguments": {"people": 40}}},
        {"agent": "desk", "content": {"status": "GENERAL_REJECTION", "message": "No."}},
        {"main": "Bye."},
    ],
}
PUBLIC = """
steps:
  - {step_id: 1, agent: user, agent_type: user, workflow_id: null, data: {content: Book both.}}
  - step_id: 2
    agent: main
    agent_type: main
    workflow_id: null
    data: {content: "workflow_1: {steps: [{agent_id: desk, status: pending, refined_query: Book}]}"}
  - step_id: 3
    agent: desk
    agent_type: agent
    workflow_id: workflow_1
    data:
      content: |
        tool_call:
        - tool: book
          arguments: {table: 3}
        - tool: book
          arguments: {table: 4}
        tool_call_result: [{booked: true}, {booked: true}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/short.json").write_text(json.dumps(SHORT))
    (tmp_path / "in/public.yaml").write_text(PUBLIC)
    return tmp_path


def sheet(folder: Path) -> list[dict[str, str]]:
    done = run("annotate", folder / "in", "--task", "scenario", "--sheet", folder / "sheet.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("sheet.csv: 17 items of 2 scenarios to label")
    with (folder / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(folder: Path, answers: Json, name: str = "filled.csv") -> Path:
    rows = sheet(folder)
    for row in rows:
        answer = answers.get(f"{row['call_id']}/{row['part']}/{row['item']}")
        row["answer"] = answer or ("as it is" if row["part"] == "step" else "")
        row["comment"] = answers.get(f"{row['call_id']}/{row['item']}", "")
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


def annotate(folder: Path, filled: Path, *args: object) -> Any:
    job = ("annotate", folder / "in", "--task", "scenario", "--from", filled)
    return run(*job, "-o", folder / "out", *args)


def test_every_expected_step_and_argument_is_an_item(folder: Path) -> None:
    rows = {(row["call_id"], row["part"], row["item"]): row for row in sheet(folder)}
    assert [key[1:] for key in rows if key[0] == "public"] == [
        ("step", "2"), ("step", "3"), ("call", "3"),
        ("argument", "3[0].table"), ("argument", "3[1].table"),
    ]  # fmt: skip
    assert rows["short", "step", "2"]["text"] == 'find({"people": 4, "wish": "table"})'
    assert rows["short", "argument", "2.wish"]["text"] == "table"
    assert "GENERAL_REJECTION" in rows["short", "step", "6"]["options"]


def test_answers_of_people_become_confirmed_scenarios_that_can_be_run(folder: Path) -> None:
    answers = {
        "short/argument/2.wish": "quiet",
        "short/argument/2.people": "5",
        "short/step/3": "not expected",
        "short/step/5": "TOOL_CONSTRAINT_VIOLATION",
        "short/5": "At most eight.",
        "short/step/6": "another call",
        "short/call/6": '{"tool": "cancel", "arguments": {"booking": "B-7"}}',
        "public/argument/3[1].table": "5",
    }
    done = annotate(folder, fill(folder, answers))
    assert done.returncode == 0, done.stderr
    assert "out: 2 scenarios" in done.stdout
    short = read_json(folder / "out/short.json")
    assert short["metadata"] == {"confirmed": True, "source": "trace 1"}
    assert [step["step_id"] for step in short["steps"]] == [1, 2, 4, 5, 6, 7]
    contents = {step["step_id"]: step["content"] for step in short["steps"]}
    assert contents[2] == {
        "tool": "find",
        "arguments": {"people": 5, "wish": "quiet"},
        "tool_call_result": {"tables": [12]},
    }
    assert contents[5] == {"status": "TOOL_CONSTRAINT_VIOLATION", "message": "At most eight."}
    assert contents[6] == {"tool": "cancel", "arguments": {"booking": "B-7"}}
    assert contents[1] == SHORT["steps"][0]["user"] and contents[7] == "Bye."
    public = read_json(folder / "out/public.json")
    plan, calls = (step["data"]["content"] for step in public["steps"][1:])
    assert plan.startswith("workflow_1:")
    assert [call["arguments"]["table"] for call in calls["tool_call"]] == [3, 5]
    assert len(calls["tool_call_result"]) == 2
    (folder / "cards").mkdir()
    tools: list[Json] = [{"name": name, "parameters": {}} for name in ("find", "book", "cancel")]
    card = {"agent_card": {"agent_id": "desk"}, "tools": tools}
    (folder / "cards/desk.json").write_text(json.dumps(card))
    checked = run("orchestration", "validate", folder / "out", "--cards", folder / "cards")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "2 scenarios: 1 plan step and 4 agent steps" in checked.stdout
    again = annotate(folder, folder / "filled.csv")
    assert (again.returncode, "expected a new or an empty folder" in again.stderr) == (2, True)


def test_people_who_disagree_on_a_step_have_to_decide_it(folder: Path) -> None:
    first = fill(folder, {}, "first.csv")
    second = fill(folder, {"short/step/3": "not expected"}, "second.csv")
    done = annotate(folder, first, "--from", second)
    assert done.returncode == 0, done.stderr
    assert "disagreement: short, step 3: as it is / not expected" in done.stdout
    assert "incomplete: short: 1 item open or disputed\n" in done.stdout
    assert "out: 1 scenarios\n" in done.stdout
    assert not (folder / "out/short.json").exists()


@pytest.mark.parametrize("given", ["", "find(people=4)", "7"])
def test_another_call_is_json(folder: Path, given: str) -> None:
    answers = {"short/step/3": "another call", **({"short/call/3": given} if given else {})}
    done = annotate(folder, fill(folder, answers))
    assert done.returncode == 2
    assert "expected the other call as {" in done.stderr and "call.3" in done.stderr
    assert not (folder / "out").exists()


def test_a_bad_scenario_is_named_and_calls_are_labelled_in_files(folder: Path) -> None:
    (folder / "in/public.yaml").write_text("steps: 7")
    done = run("annotate", folder / "in", "--task", "scenario", "--sheet", folder / "x.csv")
    assert done.returncode == 2 and "public.yaml" in done.stderr and "field steps" in done.stderr
    done = run("annotate", folder / "in", "--task", "qa", "--sheet", folder / "x.csv")
    assert done.returncode == 2 and "is labelled in a file of transcripts" in done.stderr
