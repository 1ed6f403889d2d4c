"""QA measures (003 Task 1). Formulas only; weights, bands and gates live in spec.toml."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.judging import Item, Verdicts
from callscore.core.measure import Measure, count, not_run, percent, ratio, undefined
from callscore.core.spec import TOLERANCE
from callscore.metrics.text import n2
from callscore.suites.calls.items import is_empty
from callscore.suites.calls.qa.reference import ExpectedQuestion

NO_QUESTION = undefined("no question of the form applies")
NO_PASS_FAIL = undefined("no PASS_FAIL question")
NO_FAILURE = undefined("no PASS_FAIL question was failed by the human")

EVIDENCE = "qa.evidence_backed_reasoning"
OFFERED: Mapping[str, tuple[str, ...]] = {
    EVIDENCE: ("vague", "specific", "as_described", "differs", "absent", "cannot_tell")
}
POINTS: Mapping[str, int] = {
    "vague": 0,
    "as_described": 2,
    "differs": 1,
    "absent": 1,
    "cannot_tell": 0,
}
"""Points of a reason by verdict (C-37); `specific` needs a second verdict."""
MOST_POINTS = 2
FEWEST_EQUAL_MARKS = 3

LONGEST_BARE_TIME = 40
_WINDOW, _LETTERS = 24, 4
_TIMESTAMP = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?")
_WORD = re.compile(r"[^\W\d_]+")


class Mark(msgspec.Struct, frozen=True, gc=False):
    """One applicable question with the model's mark; `given` is None if there is none."""

    question: ExpectedQuestion
    given: float | None
    same_scale: bool = True
    full_marks: bool = False


def has_equal_marks(marks: Sequence[Mark]) -> bool:
    """Whether ≥ 3 marks are one share of their scale, where people's marks differ        C-29"""
    given = [mark for mark in marks if mark.given is not None]
    if len(given) < FEWEST_EQUAL_MARKS:
        return False
    shares = [(mark.given or 0.0) / mark.question.max_score for mark in given]
    if max(shares) - min(shares) > TOLERANCE:
        return False
    of_people = [(mark.question.score or 0.0) / mark.question.max_score for mark in given]
    return max(of_people) - min(of_people) > TOLERANCE


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


def reason_of(item: Mapping[str, Any] | None) -> str | None:
    """The reason that a reply gives for a question; None if it gives none        C-38"""
    reason = item.get("reason") if item is not None else None
    return reason if isinstance(reason, str) else None


def points_by_code(reason: str | None, expected: str) -> int | None:
    """Points without a judge: no reason, a bare time, or the human's own words  C-37, C-38, C-39"""
    if reason is None or is_empty(reason):
        return 0
    if len(reason) <= LONGEST_BARE_TIME and ":" in reason and _is_bare_time(reason):
        return 0
    return MOST_POINTS if is_own_words(reason, expected) else None


def is_own_words(reason: str, expected: str) -> bool:
    """Whether a reason equals the human's (N2), if there is one        C-37

    The first letters are compared before the whole: two reasons that differ there differ.
    """
    if not expected or reason == expected:
        return bool(expected)
    start, human = n2(reason[:_WINDOW])[:_LETTERS], n2(expected[:_WINDOW])[:_LETTERS]
    if start != human and len(start) == len(human) == _LETTERS:
        return False
    return n2(reason) == n2(expected)


def _is_bare_time(reason: str) -> bool:
    """A timestamp and at most one word, as in "At 00:12."        C-39"""
    rest, times = _TIMESTAMP.subn("", reason)
    return times > 0 and len(_WORD.findall(rest)) <= 1


def evidence_points(
    reason: str | None, question: ExpectedQuestion, verdicts: Verdicts, flags: set[str]
) -> int | None:
    """The points of a reason; the lowest of several verdicts, None without one        C-37

    A verdict on the human's own words outranks the points they get without one (C-37).
    """
    decided = points_by_code(reason, question.reason)
    if decided == 0 or not verdicts:
        return decided
    words = [v.verdict for v in verdicts.get(Item(EVIDENCE, question.id), ())]
    if "cannot_tell" in words:
        flags.add("abstained")
    given = [POINTS[word] for word in words if word is not None and word in POINTS]
    return min(given) if given else decided
