"""Gold audit: a reference that is wrong is found by models that are right elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
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


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A run of two models that are right, on six calls of which one reference is wrong."""
    folder = tmp_path_factory.mktemp("gold")
    cases = [case(number, 0 if number == 4 else 5) for number in range(1, CALLS + 1)]
    write_lines(folder / "cases.jsonl", cases)
    models = []
    for name in ("a", "b"):
        lines = [output(number, name) for number in range(1, CALLS + 1)]
        write_lines(folder / f"{name}.jsonl", lines)
        models.append({"name": name, "provider": "replay", "outputs": f"{name}.jsonl"})
    (folder / "eval.yaml").write_text(
        yaml.safe_dump({"name": "gold", "data": "cases.jsonl", "models": models})
    )
    done = commands.run("run", folder / "eval.yaml", "--store", folder / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(folder / "runs.db", "--author", "ann") as served:
        served.enter()
        yield served


def say(served: Served, **form: object) -> int:
    fields = {name: str(value) for name, value in {"field": "q1", "place": 4, **form}.items()}
    return served.ask("/runs/1/gold/notes", "POST", form=fields).status


def seq_shown(served: Served) -> str:
    page = served.ask("/runs/1/gold?show=all").text
    return page.partition('name="prior" value="')[2].partition('"')[0]


def test_the_wrong_reference_is_first_and_leads_to_its_case(gold: Served) -> None:
    page = gold.ask("/runs/1/gold").text
    assert "1 open doubtful reference in 6 cases" in page
    assert "/runs/1/cases/4" in page
    assert "<td>3.6</td>" in page  # two models, right on 5 of 5 others: 2 × log 6
    assert gold.ask("/runs/1/gold?task=none").status == 400


def test_a_reference_is_dismissed_with_a_reason_corrected_and_written_as_a_new_version(
    gold: Served,
) -> None:
    assert say(gold, action="dismiss", prior=0) == 400
    assert say(gold, action="correct", model="nobody", prior=0) == 400
    assert say(gold, action="dismiss", reason="the form says so", prior=0) == 303
    assert "0 open doubtful references" in gold.ask("/runs/1/gold").text
    assert "the form says so" in gold.ask("/runs/1/gold?show=dismiss").text
    late = gold.ask(
        "/runs/1/gold/notes", "POST",
        form={"place": "4", "field": "q1", "action": "correct", "model": "a", "prior": "0"},
    )  # fmt: skip
    assert late.status == 409
    assert "ann wrote meanwhile: dismiss" in late.text
    assert "You wrote: correct" in late.text
    assert say(gold, action="correct", model="a", prior=seq_shown(gold)) == 303
    before = (gold.store.parent / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    after = gold.ask("/runs/1/gold/cases", "POST").text.splitlines()
    changed = [json.loads(new) for old, new in zip(before, after, strict=True)
               if json.loads(old) != json.loads(new)]  # fmt: skip
    (corrected,) = changed
    assert corrected["id"] == "c4"
    assert corrected["expected_outcome"]["questions"][0]["score"] == 5
    (gold.store.parent / "new.jsonl").write_text("\n".join(after) + "\n", encoding="utf-8")
    checked = commands.run("validate", gold.store.parent / "new.jsonl")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_person_doubts_the_reference_of_a_case(gold: Served) -> None:
    assert "The reference is wrong" in gold.ask("/runs/1/cases/2").text
    assert say(gold, place=2, action="doubt", reason="never greeted") == 303
    page = gold.ask("/runs/1/gold").text
    assert "never greeted" in page
    assert "/runs/1/cases/2" in page
    doubts = gold.ask("/runs/1/review/doubts").text
    assert "Doubted references" in doubts
    assert "never greeted" in doubts
    assert '<a href="/runs/1/review/doubts" class="filter" aria-current="true">doubts 1</a>' in (
        doubts
    )
    for wrong in ({"action": "praise"}, {"field": "q9"}, {"place": 99}, {"prior": "x"}):
        assert say(gold, **{"action": "doubt", **wrong}) == 400, wrong


def test_a_run_whose_models_never_agree_against_the_reference_has_none(served: Served) -> None:
    assert "doubtful reference" in served.ask("/runs/1/gold").text
