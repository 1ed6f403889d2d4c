"""One case in one file: `callscore score case.json`, with nothing but what the case consists of."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import callscore
from callscore.core.errors import DataError
from commands import run

SAMPLES = Path(str(resources.files("callscore.demo")))
QA = {
    "transcript": "[00:05] Agent: Good morning, this is Anna.\n[00:09] Customer: My bill is wrong.",
    "expected_outcome": {
        "questions": [
            {
                "question_id": "Q1",
                "score": 0,
                "max_score": 5,
                "type": "PASS_FAIL",
                "reason": "Nobody verified the account",
            }
        ]
    },
}
QA["model_output"] = QA["expected_outcome"]
CALLS = {
    "transcript": "Book a table for Friday.",
    "expected_outcome": {"calls": [{"book": {"day": ["Friday"]}}]},
    "model_output": {"calls": [{"name": "book", "arguments": {"day": "Friday"}}]},
}

Json = dict[str, Any]


def sample_case(task: str) -> Json:
    """The first bundled case of a task, with the reference as the model's output."""
    lines = (SAMPLES / "calls" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(each for each in map(json.loads, lines) if each["task"] == task)
    return {
        "transcript": case["transcript"],
        "expected_outcome": case["expected_outcome"],
        "model_output": case["expected_outcome"],
    }


def write(path: Path, document: Json, indent: int | None = 2) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("task", ["qa", "entity", "text", "translation"])
def test_the_task_follows_from_the_expected_outcome(
    tmp_path: Path, task: str, indent: int | None
) -> None:
    card = callscore.score(write(tmp_path / "my call.json", sample_case(task), indent))
    scored = card.models[0].tasks[task]
    assert [task for task, score in card.models[0].tasks.items() if score.n] == [task]
    assert scored.reasons == []
    decided = [row.value for row in scored.metrics.values() if row.value is not None]
    assert decided


def test_a_single_turn_case_of_an_agent_is_recognised(tmp_path: Path) -> None:
    card = callscore.score(str(write(tmp_path / "booking.json", CALLS)))
    assert card.models[0].tasks["orchestration"].score == 1.0


def test_one_command_leads_from_a_case_to_its_scorecard(tmp_path: Path) -> None:
    path = write(tmp_path / "call-17.json", QA)
    done = run(
        "score", path, "--results", tmp_path / "results.jsonl", "--html", tmp_path / "r.html"
    )
    assert done.returncode == 0, done.stderr
    assert "QA TASK METRICS" in done.stdout
    (result,) = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(result)["case_id"] == "call-17"
    assert "call-17" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_what_the_document_says_itself_is_kept(tmp_path: Path) -> None:
    questions = [{"question_id": "Q1", "question": "Was the account verified?"}]
    document = {**QA, "id": "own", "task": "qa", "config": {"questions": questions}}
    path = write(tmp_path / "call.json", document)
    results = tmp_path / "results.jsonl"
    callscore.score(path, results=results)
    assert json.loads(results.read_text(encoding="utf-8"))["case_id"] == "own"
    line = tmp_path / "case.jsonl"
    line.write_text(json.dumps(document) + "\n", encoding="utf-8")
    assert callscore.score(path).signature == callscore.score(line).signature


def test_several_files_are_one_data_set_and_equal_names_are_kept_apart(tmp_path: Path) -> None:
    paths = [write(tmp_path / folder / "call.json", QA) for folder in ("a", "b")]
    card = callscore.score([*map(str, paths), str(write(tmp_path / "other.json", QA))])
    assert card.models[0].tasks["qa"].n == 3


def test_an_output_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    case = {key: QA[key] for key in ("transcript", "expected_outcome")}
    path = write(tmp_path / "call.json", case)
    outputs = tmp_path / "outputs.jsonl"
    line = {"case_id": "call", "model": "mine", "output": QA["model_output"]}
    outputs.write_text(json.dumps(line), encoding="utf-8")
    assert callscore.score(path, outputs).models[0].model == "mine"
    assert run("validate", path).returncode == 0
    assert "missing: model_output" in run("score", path).stderr


def test_json_lines_in_a_file_named_json_stay_lines(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    lines = [json.dumps({**QA, "id": name, "task": "qa", "config": {}}) for name in ("a", "b")]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert callscore.score(path).models[0].tasks["qa"].n == 2
    path.write_text(lines[0], encoding="utf-8")
    assert callscore.score(path).models[0].tasks["qa"].n == 1


def test_personal_data_is_replaced_in_a_single_case(tmp_path: Path) -> None:
    document = {**QA, "transcript": "Agent: Is anna@example.org right?\nCustomer: Yes."}
    done = run("score", write(tmp_path / "call.json", document), "--redact")
    assert done.returncode == 0, done.stderr
    assert "redacted 1 places in 1 of 1 records: email 1" in done.stderr


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            {"expectedOutcome": {}},
            "missing: transcript, expected_outcome, model_output; there is 'expectedOutcome', did "
            "you mean expected_outcome? expected one case: transcript, expected_outcome and "
            "model_output",
        ),
        (
            {**QA, "expected_outcome": {"questions": [], "emotion": {}}},
            "field expected_outcome: fits qa (questions) and text (emotion); expected the keys of "
            "one task, or `task`",
        ),
        (
            {**QA, "expected_outcome": {"verdict": "good"}},
            "field expected_outcome: has 'verdict'; expected keys of one task (qa: questions; ",
        ),
        ({**QA, "expected_outcome": {}}, "field expected_outcome: has no key; expected keys of"),
        ({**QA, "expected_outcome": "good"}, "field expected_outcome: expected an object"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_that_is_not_one_case_is_refused(
    tmp_path: Path, document: Json, words: str, indent: int | None
) -> None:
    path = write(tmp_path / "case.json", document, indent)
    done = run("score", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {path}: {words}")
    with pytest.raises(DataError, match="case.json"):
        callscore.score(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n "transcript": "a",\n "expected_', "(not_json); expected one case"),
        ('{\n "transcript": "a",\n "transcript": "b"\n}', "(duplicate_key); expected one case"),
    ],
)
def test_a_broken_document_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "case.json"
    path.write_text(text, encoding="utf-8")
    done = run("score", path)
    assert done.returncode == 2
    assert words in done.stderr
