"""Gold audit: a reference that is wrong is found by models that are right elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

import commands
from web_server import Served, serve

CALLS = 6


def case(number: int, score: int) -> Mapping[str, Any]:
    question = {
        "question_id": "q1", "question": "Was there a greeting?", "max_score": 5,
        "type": "PASS_FAIL",
    }  # fmt: skip
    return {
        "id": f"c{number}",
        "task": "qa",
        "transcript": [{"id": 1, "speaker": "agent", "text": "Good morning."}],
        "config": {"questions": [question]},
        "expected_outcome": {"questions": [
            {"question_id": "q1", "type": "PASS_FAIL",
             "score": score, "max_score": 5, "reason": "Good morning"}
        ]},
    }  # fmt: skip


def output(number: int, model: str) -> Mapping[str, Any]:
    mark = {
        "question_id": "q1",
        "type": "PASS_FAIL",
        "score": 5,
        "max_score": 5,
        "reason": '"Good morning."',
    }
    given = {"questions": [mark]}
    return {"case_id": f"c{number}", "model": model, "output": given}


def write_lines(path: Path, lines: list[Mapping[str, Any]]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def test_the_wrong_reference_is_first_and_leads_to_its_case(tmp_path: Path) -> None:
    cases = [case(number, 0 if number == 4 else 5) for number in range(1, CALLS + 1)]
    write_lines(tmp_path / "cases.jsonl", cases)
    models = []
    for name in ("a", "b"):
        lines = [output(number, name) for number in range(1, CALLS + 1)]
        write_lines(tmp_path / f"{name}.jsonl", lines)
        models.append({"name": name, "provider": "replay", "outputs": f"{name}.jsonl"})
    (tmp_path / "eval.yaml").write_text(
        yaml.safe_dump({"name": "gold", "data": "cases.jsonl", "models": models})
    )
    done = commands.run("run", tmp_path / "eval.yaml", "--store", tmp_path / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        page = served.ask("/runs/1/gold").text
        assert "1 suspicious reference in 6 cases" in page
        assert "/runs/1/cases/4" in page
        assert "<td>3.6</td>" in page  # two models, right on 5 of 5 others: 2 × log 6
        assert served.ask("/runs/1/gold?task=none").status == 400


def test_a_run_whose_models_never_agree_against_the_reference_has_none(served: Served) -> None:
    assert "suspicious reference" in served.ask("/runs/1/gold").text
