"""QA measures (003 Task 1). Formulas only; weights, bands and gates live in spec.toml."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from callscore.core.measure import Measure, count, not_run, percent, ratio, undefined
from callscore.core.spec import TOLERANCE
from callscore.suites.calls.qa.reference import FormQuestion

NO_QUESTION = undefined("no question of the form applies")
NO_PASS_FAIL = undefined("no PASS_FAIL question")
NO_FAILURE = undefined("no PASS_FAIL question was failed by the human")


class Mark(msgspec.Struct, frozen=True, gc=False):
    """One applicable question with the model's mark; `given` is None if there is none."""

    question: FormQuestion
    given: float | None
    same_scale: bool = True
    full_marks: bool = False


def is_correct(mark: Mark, margin_fraction: float) -> bool:
    """|given − expected| ≤ margin × max_score for SCORE, = for PASS_FAIL        C-29, C-30, C-31"""
    question, given = mark.question, mark.given
    if given is None or not mark.same_scale or not 0 <= given <= question.max_score:
        return False
    margin = 0.0 if question.pass_fail else margin_fraction * question.max_score
    assert question.score is not None  # only applicable questions have marks
    return abs(given - question.score) - margin <= TOLERANCE


def normalised_gap(mark: Mark) -> float:
    """min(1, |given − expected| / max_score); 1 if missing or on another scale   C-28, C-31"""
    question = mark.question
    if mark.given is None or not mark.same_scale:
        return 1.0
    assert question.score is not None  # only applicable questions have marks
    gap = abs(mark.given - question.score) / question.max_score
    return gap if gap < 1 else 1.0


def is_false_pass(mark: Mark) -> bool:
    """Full marks although the human gave zero        003 Compliance False Pass Rate, C-31, C-35"""
    return mark.question.score == 0 and mark.full_marks


def question_score_accuracy(marks: Sequence[Mark], margin_fraction: float) -> Measure:
    """questions_scored_correctly / total_questions        003 QA Metric 1, C-28"""
    if not marks:
        return NO_QUESTION
    correct = 0
    for mark in marks:
        correct += is_correct(mark, margin_fraction)
    return ratio(correct, len(marks))


def score_gap_accuracy(marks: Sequence[Mark]) -> Measure:
    """1 − mean(|given − expected| / max_score)        003 QA Metric 2, C-32"""
    if not marks:
        return NO_QUESTION
    n = len(marks)
    gap = math.fsum(map(normalised_gap, marks))
    return Measure(1 - gap / n, n - gap, n)


def false_pass_rate(marks: Sequence[Mark]) -> Measure:
    """100 × wrongly passed / PASS_FAIL questions        003 Compliance False Pass Rate, C-35"""
    asked = passed = 0
    for mark in marks:
        if mark.question.pass_fail:
            asked += 1
            passed += is_false_pass(mark)
    return percent(passed, asked) if asked else NO_PASS_FAIL


def false_pass_rate_of_failures(marks: Sequence[Mark]) -> Measure:
    """100 × wrongly passed / PASS_FAIL questions expected 0        C-35"""
    failures = passed = 0
    for mark in marks:
        if mark.question.pass_fail and mark.question.score == 0:
            failures += 1
            passed += is_false_pass(mark)
    return percent(passed, failures) if failures else NO_FAILURE


def score_type_false_passes(marks: Sequence[Mark]) -> Measure:
    """SCORE questions expected 0 and given full marks        C-35"""
    passed = 0
    for mark in marks:
        if not mark.question.pass_fail:
            passed += is_false_pass(mark)
    return count(passed)


def evidence_backed_reasoning(points: Sequence[int | None]) -> Measure:
    """(reasons_with_evidence + factual_reasons) / (2 × total_reasons)   003 QA Metric 3, C-37, C-38

    `points` holds 0, 1 or 2 for every applicable question, None if it was not judged.
    """
    if not points:
        return NO_QUESTION
    waiting = points.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(points)} reasons await a verdict")
    factual = points.count(2)
    with_evidence = points.count(1) + factual
    return ratio(with_evidence + factual, 2 * len(points))


def is_partial(given: float, maximum: float) -> bool:
    """0 < given < max        C-29"""
    return TOLERANCE < given < maximum - TOLERANCE
