"""`callscore redact` and `--redact`: nothing personal is written, scores stay what they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import callscore
from callscore.config.redaction import RedactOptions, redact_files
from callscore.core.errors import MissingExtra
from commands import run

CASE = {
    "id": "c1",
    "task": "entity",
    "call_id": "call-7",
    "transcript": "Agent: Hello\nCustomer: I am Priya, my number is +44 20 7946 0958, refund me.",
    "config": {"keywords": ["refund", "invoice"], "topics": []},
    "expected_outcome": {
        "detected_keywords": ["refund"],
        "detected_topics": [],
        "valid_entity_set": ["refund"],
    },
}
OUTPUT = {
    "case_id": "c1",
    "model": "m",
    "output": {
        "detected_keywords": ["refund"],
        "detected_topics": ["020 7946 0958"],
        "valid_entity_set": ["refund"],
    },
}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_cases_and_outputs_get_the_same_placeholders(tmp_path: Path) -> None:
    cases, outputs = write(tmp_path / "cases.jsonl", CASE), write(tmp_path / "out.jsonl", OUTPUT)
    names = tmp_path / "names.txt"
    names.write_text("Priya\n")
    folder, report = tmp_path / "redacted", tmp_path / "report.json"

    done = run("redact", cases, outputs, "-o", folder, "--names", names, "--report", report)

    assert done.returncode == 0, done.stderr
    case = json.loads((folder / "cases.jsonl").read_text())
    assert case["transcript"].endswith("I am [NAME_1], my number is [PHONE_1], refund me.")
    output = json.loads((folder / "out.jsonl").read_text())
    assert output["output"]["detected_topics"] == ["[PHONE_1]"]
    assert json.loads(report.read_text())["replaced"] == {"name": 1, "phone": 2}
    assert "7946" not in done.stdout + done.stderr


def test_an_unknown_kind_and_a_broken_line_are_refused(tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", CASE)
    done = run("redact", cases, "-o", tmp_path / "r", "--kinds", "phone,fax")
    assert done.returncode == 2 and "'fax' is not a kind" in done.stderr
    cases.write_text("{broken\n")
    done = run("redact", cases, "-o", tmp_path / "r")
    assert done.returncode == 2 and "cases.jsonl:1" in done.stderr
    assert not (tmp_path / "r" / "cases.jsonl").exists()


def test_without_its_packages_no_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    with pytest.raises(MissingExtra, match=r"callscore\[redact\]"):
        redact_files([tmp_path / "cases.jsonl"], tmp_path / "r", RedactOptions())
    assert not (tmp_path / "r").exists()


def test_imported_calls_are_redacted_before_they_are_written(tmp_path: Path) -> None:
    call = tmp_path / "call.txt"
    call.write_text("Agent: Hello, how can I help?\nCustomer: Mail me at jo@example.com please.\n")
    out = tmp_path / "t.jsonl"

    done = run("import", call, "-o", out, "--redact")

    assert done.returncode == 0, done.stderr
    assert "jo@example.com" not in out.read_text()
    assert "[EMAIL_1]" in out.read_text()
    assert "email 1" in done.stdout
    assert "note: names of people were not replaced; expected --names FILE" in done.stdout


def test_names_that_were_not_searched_are_said(tmp_path: Path) -> None:
    cases, names = tmp_path / "cases.jsonl", tmp_path / "names.txt"
    cases.write_text(json.dumps(CASE) + "\n")
    names.write_text("Priya\n")
    said: list[bool] = []
    for options in ((), ("--names", names), ("--kinds", "email")):
        done = run("redact", cases, "-o", tmp_path / str(len(said)), *options)
        assert done.returncode == 0, done.stderr
        said.append("note: names of people were not replaced" in done.stdout)
    assert said == [True, False, False]


SAMPLE = Path(callscore.__file__).parent / "demo" / "calls"


def test_scores_of_the_redacted_twin_are_the_same_where_nothing_redacted_is_scored(
    tmp_path: Path,
) -> None:
    files = (SAMPLE / "cases.jsonl", "--outputs", SAMPLE / "outputs.jsonl")
    cards = []
    for number, options in enumerate([(), ("--redact",)]):
        card = tmp_path / f"{number}.json"
        done = run(
            "score", *files, "--verdicts", SAMPLE / "verdicts.jsonl", "--json", card, *options
        )
        assert done.returncode == 0, done.stderr
        cards.append(json.loads(card.read_text()))
    assert "redacted" in done.stderr
    plain, redacted = ({m["model"]: m["tasks"] for m in card["models"]} for card in cards)
    for model, tasks in plain.items():
        assert redacted[model]["entity"] == tasks["entity"]
        assert redacted[model]["qa"]["score"] == tasks["qa"]["score"]


EVAL = """
data: cases.jsonl
models:
  - {name: sim, provider: simulated}
store: kept/runs.db
redact: {names: [Priya]}
"""


def test_a_run_sends_and_stores_redacted_calls_only(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", CASE)
    (tmp_path / "eval.yaml").write_text(EVAL)

    shown = run("prompt", "eval.yaml", cwd=tmp_path)
    assert "[PHONE_1]" in shown.stdout and "7946" not in shown.stdout
    done = run("run", "eval.yaml", "--results", "r.jsonl", "--html", "r.html", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name not in ("cases.jsonl", "eval.yaml"):
            assert b"7946" not in path.read_bytes() and b"Priya" not in path.read_bytes(), path
    assert run("run", "eval.yaml", "--resume", cwd=tmp_path).returncode == 0


def test_a_bad_redact_key_is_refused_with_its_line(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", CASE)
    for wrong in ("{kind: [phone]}", "{kinds: [fax]}", "{names: missing.txt}"):
        (tmp_path / "eval.yaml").write_text(EVAL.replace("{names: [Priya]}", wrong))
        done = run("run", "eval.yaml", "--dry-run", cwd=tmp_path)
        assert done.returncode == 2
        assert "eval.yaml:6: redact" in done.stderr
