"""Forms filled in without reading: always full marks, always zero, the question's usual mark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from callscore.scorecard.formula import TaskFormula
from callscore.suites.calls.floors.tally import FloorTally, Strategy, share
from callscore.suites.calls.qa.measures import EVIDENCE, Mark, is_correct, normalised_gap
from callscore.suites.calls.qa.reference import ExpectedQuestion, QAReference

MOST_COUNTED = 20_000
"""Distinct counts by question; beyond this number all questions are counted together, to bound
memory."""
FALSE_PASS = "qa.false_pass_rate"


class _AskedQuestion(NamedTuple):
    """A question as every call asks it."""

    id: str
    max_score: float
    pass_fail: bool


class _HumanMark(NamedTuple):
    """A question with the mark that a person gave, in a call with this many questions."""

    question: _AskedQuestion
    score: float
    questions: int


class QAFloor(FloorTally):
    """Counts the marks that people gave, by question."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, float, bool, float | None, int]] = Counter()
        """By question, scale, kind, mark, and the number of questions in the call."""
        self._calls = 0
        self._margin = 0.0
        self._any_reason = False

    def add(self, reference: QAReference) -> None:
        """Count the marks of one form."""
        applicable = [q for q in reference.questions.values() if q.score is not None]
        if not applicable:
            return
        self._calls += 1
        self._margin = reference.settings.score_margin_fraction
        self._any_reason = self._any_reason or not reference.reasons_absent
        counts, number = self._counts, len(applicable)
        is_full = len(counts) >= MOST_COUNTED
        for q in applicable:
            counts["" if is_full else q.id, q.max_score, q.pass_fail, q.score, number] += 1

    def _human_marks(self) -> Iterable[tuple[_HumanMark, int]]:
        for (name, scale, kind, score, number), count in self._counts.items():
            assert score is not None  # only applicable questions are counted
            yield _HumanMark(_AskedQuestion(name, scale, kind), score, number), count

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, and all        C-35, C-135"""
        pass_fail = [
            (expected, count)
            for expected, count in self._human_marks()
            if expected.question.pass_fail
        ]
        failed = sum(count for expected, count in pass_fail if expected.score == 0)
        return failed, sum(count for _, count in pass_fail)

    def strategies(self, formula: TaskFormula) -> Iterable[Strategy]:
        """Each way to mark, without reasons and with a quoted line as reason."""
        usual = self._usual_marks()
        marks: Mapping[str, Callable[[_AskedQuestion], float]] = {
            "always full marks": lambda asked: asked.max_score,
            "always zero": lambda asked: 0.0,
            "the question's usual mark": usual.__getitem__,
        }
        for name, mark in marks.items():
            for reasons, evidence in ((", a quoted line as reason", 1.0), (", no reasons", 0.0)):
                yield self._strategy(name + reasons, mark, evidence)

    def _usual_marks(self) -> Mapping[_AskedQuestion, float]:
        """The mark that people gave most often to each question; of several the lowest."""
        given: dict[_AskedQuestion, Counter[float]] = {}
        for expected, count in self._human_marks():
            given.setdefault(expected.question, Counter())[expected.score] += count
        return {
            asked: min(marks, key=lambda mark: (-marks[mark], mark))
            for asked, marks in given.items()
        }

    def _strategy(
        self, name: str, mark: Callable[[_AskedQuestion], float], evidence: float
    ) -> Strategy:
        right: list[float] = []
        close: list[float] = []
        asked = passed = 0
        for expected, count in self._human_marks():
            given = _make_mark(expected, mark(expected.question))
            right.append(count * is_correct(given, self._margin) / expected.questions)
            close.append(count * (1 - normalised_gap(given)) / expected.questions)
            if expected.question.pass_fail:
                asked += count
                is_full = given.given == expected.question.max_score
                passed += count * (expected.score == 0 and is_full)
        rows = {
            "qa.question_score_accuracy": share(math.fsum(right), self._calls),
            "qa.score_gap_accuracy": share(math.fsum(close), self._calls),
            EVIDENCE: evidence if self._any_reason else None,
        }
        return Strategy(name, rows, {FALSE_PASS: share(100 * passed, asked)})


def _make_mark(expected: _HumanMark, mark: float) -> Mark:
    asked = expected.question
    kind = "PASS_FAIL" if asked.pass_fail else "SCORE"
    question = ExpectedQuestion(
        asked.id, expected.score, asked.max_score, asked.pass_fail, kind, reason=""
    )
    return Mark(question, mark)
