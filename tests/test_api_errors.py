"""`callscore.score` with records in memory: what an error calls them, what a card notes."""

from __future__ import annotations

from pathlib import Path

import pytest

import callscore
from builders import form, output, qa_case, question
from callscore.core.errors import DataError, UsageError

CASES = [qa_case([question()], name) for name in ("a", "b")]


def test_a_record_is_named_by_its_number_not_by_a_file_that_is_gone() -> None:
    outputs = [output("a", form(question())), output("b", form(question()), run=0)]
    with pytest.raises(DataError, match=r"^outputs: record 2: field run: 0 is no run"):
        callscore.score(CASES, outputs)


def test_a_line_of_a_file_is_named_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "outputs.jsonl"
    file.write_text('{"case_id": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=f"^{file}:1: "):
        callscore.score(CASES, file)


def test_an_output_says_whose_it_is() -> None:
    with pytest.raises(DataError, match="field model: is empty; expected the name"):
        callscore.score(CASES, [output("a", form(question()), model=" ")])


def test_a_cost_is_of_somebody() -> None:
    outputs = [output(name, form(question()), model="gpt") for name in "ab"]
    with pytest.raises(UsageError, match=r"cost of 'gtp': .*expected one of gpt"):
        callscore.score(CASES, outputs, cost_per_1000={"gtp": 1.0})


@pytest.mark.parametrize("second", [{"error": "503"}, None])
def test_runs_without_an_answer_are_noted(second: dict[str, str] | None) -> None:
    outputs = [output("a", form(question())), output("b", form(question()))]
    outputs.append(output("a", form(question()), run=2))
    if second is not None:
        outputs.append({"case_id": "b", "model": "m", "run": 2, **second})
    card = callscore.score(CASES, outputs)
    assert card.notes == [
        "m, qa: 1 of 4 runs have no answer; their cases are the mean of the other runs"
    ]
    assert callscore.score(CASES, outputs[:2]).notes == []


def test_the_order_of_weights_is_no_other_series() -> None:
    outputs = [output(name, form(question())) for name in "ab"]
    one = callscore.score(CASES, outputs, weights={"qa": 0.5, "text": 0.5})
    other = callscore.score(CASES, outputs, weights={"text": 0.5, "qa": 0.5})
    assert one.signature == other.signature
