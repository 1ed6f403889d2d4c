"""`callscore redact` and `--redact`: nothing personal is written, scores stay what they are."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert done.returncode == 2 and "'fax' is no kind" in done.stderr
    cases.write_text("{broken\n")
    done = run("redact", cases, "-o", tmp_path / "r")
    assert done.returncode == 2 and "cases.jsonl:1" in done.stderr
    assert not (tmp_path / "r" / "cases.jsonl").exists()


def test_imported_calls_are_redacted_before_they_are_written(tmp_path: Path) -> None:
    call = tmp_path / "call.txt"
    call.write_text("Agent: Hello, how can I help?\nCustomer: Mail me at jo@example.com please.\n")
    out = tmp_path / "t.jsonl"

    done = run("import", call, "-o", out, "--redact")

    assert done.returncode == 0, done.stderr
    assert "jo@example.com" not in out.read_text()
    assert "[EMAIL_1]" in out.read_text()
    assert "email 1" in done.stdout
