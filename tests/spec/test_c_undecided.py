"""C-137, third reading: rows and scores between the worst and the best case of open calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import (
    Json,
    ScoreResult,
    evidence_verdicts,
    form,
    output,
    qa_case,
    question,
    score,
    text_case,
    text_outcome,
)
from callscore.core.judging import Question
from callscore.judges.fakes import ScriptedJudge
from callscore.report.cells import scorecard_rows
from callscore.suites.registry import template_of
from fake_judges import best_word

EVIDENCE = "qa.evidence_backed_reasoning"
FREE, HALLUCINATED = "text.fabrication_free", "text.hallucination_rate"
OPEN = "OPEN"
"""A text that the judge gives no verdict on."""


def reason_judge() -> ScriptedJudge:
    """Decides by the first word of a reason; none for OPEN."""
    words = {"good": "as_described", "poor": "vague"}
    return ScriptedJudge(lambda question: words.get(question.text.split()[0]))


def answered(*kinds: str) -> tuple[list[Json], list[Json]]:
    """Cases of one question, and answers with a reason of this kind."""
    cases = [qa_case([question(reason="the human's")], f"c{at}") for at in range(len(kinds))]
    answers = [
        output(f"c{at}", form(question(reason=f"{kind} reason number {at}")))
        for at, kind in enumerate(kinds)
    ]
    return cases, answers


def scored(folder: Path, *kinds: str, **options: Any) -> ScoreResult:
    return score(*answered(*kinds), folder, judge=reason_judge(), **options)


def cell_text(found: ScoreResult, key: str) -> tuple[str, str, str]:
    """The text, the footnote and the interval of a cell."""
    rows = scorecard_rows(found.card, template_of(found.card))
    cell = next(row.cells[0] for row in rows if row.template.key == key)
    return cell.text, cell.why, cell.interval


def test_c137_a_row_shows_the_worst_and_the_best_case_of_its_open_calls(tmp_path: Path) -> None:
    found = scored(tmp_path, *["good"] * 106, *["poor"] * 39, *[OPEN] * 5)
    metric = found.task().metrics[EVIDENCE]
    assert (metric.value, metric.rating, metric.meets_threshold) == (None, None, None)
    assert metric.provisional == pytest.approx(106 / 145)
    assert metric.provisional_range == pytest.approx((106 / 150, 111 / 150))
    assert (metric.open_calls, metric.bounded) == (5, False)
    text, why, known = cell_text(found, EVIDENCE)
    assert text == "n/a (145 of 150 calls decided)"
    assert known == "0.731 [0.707–0.740]"
    assert why.endswith("; 0.731 [0.707–0.740] whatever the 5 open calls say")


def test_c137_an_incomplete_score_shows_its_range_too(tmp_path: Path) -> None:
    task = scored(tmp_path, *["good"] * 8, "poor", OPEN).task()
    assert (task.status, task.score, task.open_calls) == ("incomplete", None, 1)
    weight = 0.1
    whole = (1 - weight) + weight * 8 / 9
    assert task.provisional == pytest.approx(whole)
    assert task.provisional_range == pytest.approx((1 - weight * 0.2, 1 - weight * 0.1))


def test_c137_only_the_open_items_of_a_call_move(tmp_path: Path) -> None:
    """Three of four reasons of the only call are decided: a quarter is open."""
    asked = [question(f"Q{n}", reason="the human's") for n in range(4)]
    texts = ["good one", "good two", "poor one", f"{OPEN} one"]
    answer = form(*(question(f"Q{n}", reason=text) for n, text in enumerate(texts)))
    given = [
        *evidence_verdicts("c1", "Q0", "Q1"),
        *evidence_verdicts("c1", "Q2", verdict="vague"),
    ]
    found = score([qa_case(asked)], [output("c1", answer)], tmp_path, verdicts=given)
    assert found.task().metrics[EVIDENCE].provisional_range == (0.5, 0.75)


def claims_judge() -> ScriptedJudge:
    """Supports every claim and fails on the open ones; everything else is at its best."""

    def word(asked: Question) -> str | None:
        return None if OPEN in asked.text else best_word(asked)

    return ScriptedJudge(word)


def summary(**fields: str) -> Json:
    answer = text_outcome()
    answer["summary"] = {**answer["summary"], "call_extracted_info": fields}
    return answer


def test_c137_a_pooled_rate_and_its_complement_have_ranges_by_items(tmp_path: Path) -> None:
    cases = [text_case(case_id=f"c{at}") for at in range(2)]
    fields = {"customer_name": "Ana", "resolution": "Refund approved"}
    answers = [
        output("c0", text_outcome()),
        output("c1", summary(**fields | {"resolution": f"{OPEN} ended"})),
    ]
    found = score(cases, answers, tmp_path, judge=claims_judge())
    rows = found.task("text").metrics
    free, rate = rows[FREE].provisional_range, rows[HALLUCINATED].provisional_range
    assert free is not None and rate is not None
    assert free[1] == 1
    assert free[0] < 1
    assert rate == pytest.approx((0.0, 100 * (1 - free[0])))


LENIENT: Json = {"settings": {"coverage.required": 0.9}}


def test_c137_a_task_is_scored_by_its_worst_case_if_both_ends_agree(tmp_path: Path) -> None:
    found = scored(tmp_path, *["good"] * 99, OPEN, intervals=True, **LENIENT)
    metric, task = found.task().metrics[EVIDENCE], found.task()
    assert metric.provisional_range == (0.99, 1.0)
    assert (metric.value, metric.rating, metric.bounded) == (0.99, "Good", True)
    assert (task.status, task.bounded, task.official) == ("valid", True, True)
    assert task.score == pytest.approx(1 - 0.1 * 0.01)
    assert "worst case of 1 open call" in cell_text(found, EVIDENCE)[0]
    assert metric.ci95 is not None
    assert metric.ci95[0] < 0.99 < metric.ci95[1]
    decided = scored(tmp_path, *["good"] * 99, "poor", intervals=True).task()
    assert (decided.score, decided.ci95) == (task.score, task.ci95)


@pytest.mark.parametrize(
    ("kinds", "settings"),
    [
        (["good"] * 99 + [OPEN], {}),
        (["good"] * 8 + [OPEN] * 2, LENIENT),
        (["good"] * 90 + ["poor"] * 10 + [OPEN], LENIENT),
    ],
    ids=["every call is required", "too few decided", "the ends have two ratings"],
)
def test_c137_a_task_stays_incomplete(tmp_path: Path, kinds: list[str], settings: Json) -> None:
    task = scored(tmp_path, *kinds, **settings).task()
    assert (task.status, task.score, task.bounded) == ("incomplete", None, False)
    assert task.metrics[EVIDENCE].value is None
    assert task.metrics[EVIDENCE].provisional_range is not None


def test_c137_an_open_call_that_could_be_blocked_leaves_the_task_open(tmp_path: Path) -> None:
    """The purpose of one call is open: at worst it is another intent, which blocks the call."""
    other = text_outcome()
    other["summary"] = {**other["summary"], "call_purpose": f"{OPEN} asks for something"}
    cases = [text_case(case_id=f"c{at}") for at in range(20)]
    answers = [output(f"c{at}", other if at == 0 else text_outcome()) for at in range(20)]
    task = score(cases, answers, tmp_path, judge=claims_judge(), **LENIENT).task("text")
    assert (task.status, task.bounded) == ("incomplete", False)
    intent = task.metrics["text.call_intent"]
    assert intent.provisional_range == (0.95, 1.0)
    assert task.provisional_range is not None
    assert task.provisional_range[0] == 0


def test_c137_runs_of_a_case_are_averaged_at_both_ends(tmp_path: Path) -> None:
    cases, _ = answered("good", "good")
    answers = [
        output("c0", form(question(reason="good one"))),
        output("c0", form(question(reason=f"{OPEN} two")), run=2),
        output("c1", form(question(reason="good three"))),
        output("c1", form(question(reason="good four")), run=2),
    ]
    metric = score(cases, answers, tmp_path, judge=reason_judge()).task().metrics[EVIDENCE]
    assert metric.provisional_range == (0.75, 1.0)


def test_c137_without_judge_and_verdicts_nothing_is_bounded(tmp_path: Path) -> None:
    metric = score(*answered("good"), tmp_path).task().metrics[EVIDENCE]
    assert (metric.value, metric.provisional_range) == (None, None)


def test_c137_the_json_has_the_range_and_the_mark(tmp_path: Path) -> None:
    found = scored(tmp_path, *["good"] * 99, OPEN, **LENIENT)
    task = found.card.to_dict()["models"][0]["tasks"]["qa"]
    assert (task["bounded"], task["metrics"][EVIDENCE]["bounded"]) == (True, True)
