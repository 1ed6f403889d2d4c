"""Forms filled in without reading: always full marks, always zero, the question's usual mark.

PASS_FAIL and SCORE questions may be filled in by different strategies (C-135).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from callscore.core.scorecard import ModelScore
from callscore.core.task import FloorTally, Strategy
from callscore.metrics.rounding import half_up
from callscore.scorecard.floors import name_mixture, share
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls.qa.measures import EVIDENCE, Mark, is_correct, normalised_gap
from callscore.suites.calls.qa.reference import ExpectedQuestion, QAReference
from callscore.suites.calls.spec import load_spec

MOST_COUNTED = 20_000
"""Distinct counts by question; beyond this number all questions are counted together, to bound
memory."""
ACCURACY, GAP = "qa.question_score_accuracy", "qa.score_gap_accuracy"
FULL, ZERO, USUAL = "always full marks", "always zero", "the question's usual mark"
WAYS = (FULL, ZERO, USUAL)
KINDS = ("SCORE", "PASS_FAIL")


class _AskedQuestion(NamedTuple):
    """A question as every call asks it, by its text."""

    text: str
    max_score: float
    pass_fail: bool


class _HumanMark(NamedTuple):
    """A question with the mark that a person gave, in a call with this many questions."""

    question: _AskedQuestion
    score: float
    questions: int


class _Terms(NamedTuple):
    """What the questions of one kind add to both rows if they are marked in one way."""

    right: list[float]
    close: list[float]


class QAFloor(FloorTally):
    """Counts the marks that people gave, by question."""

    judged = frozenset({EVIDENCE})

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
        texts = {} if is_full else _texts_of(reference.case.config.get("questions"))
        for q in applicable:
            text = "" if is_full else texts.get(q.id, q.id)
            counts[text, q.max_score, q.pass_fail, q.score, number] += 1

    def __iadd__(self, later: QAFloor) -> Self:
        """Add the counts of later calls."""
        for (text, scale, kind, mark, number), count in later._counts.items():
            is_full = len(self._counts) >= MOST_COUNTED
            self._counts["" if is_full else text, scale, kind, mark, number] += count
        self._calls += later._calls
        self._margin = later._margin or self._margin
        self._any_reason = self._any_reason or later._any_reason
        return self

    def _human_marks(self) -> Iterable[tuple[_HumanMark, int]]:
        for (text, scale, kind, score, number), count in self._counts.items():
            assert score is not None  # only applicable questions are counted
            yield _HumanMark(_AskedQuestion(text, scale, kind), score, number), count

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, and all        C-35, C-135"""
        pass_fail = [
            (human, count) for human, count in self._human_marks() if human.question.pass_fail
        ]
        failed = sum(count for human, count in pass_fail if human.score == 0)
        return failed, sum(count for _, count in pass_fail)

    def notes(self) -> Iterator[str]:
        """Whether a false pass could be seen in the data        C-135"""
        failed, asked = self.failures
        if asked and not _shows_failures(failed, asked):
            yield f"QA: {_failures_text(failed, asked)}{UNDEMONSTRATED}"

    def strategies(self) -> Iterable[Strategy]:
        """Every way to mark PASS_FAIL questions with every way to mark SCORE questions."""
        terms = self._terms()
        for of_score in WAYS:
            for of_pass_fail in WAYS:
                score, pass_fail = terms[of_score, False], terms[of_pass_fail, True]
                rows = {
                    ACCURACY: share(math.fsum(score.right + pass_fail.right), self._calls),
                    GAP: share(math.fsum(score.close + pass_fail.close), self._calls),
                    EVIDENCE: 1.0 if self._any_reason else None,
                }
                yield Strategy(name_mixture(KINDS, (of_score, of_pass_fail)), rows)

    def _terms(self) -> Mapping[tuple[str, bool], _Terms]:
        """The terms of both rows in every way, by whether the question is PASS_FAIL."""
        usual = self._usual_marks()
        found = {(way, kind): _Terms([], []) for way in WAYS for kind in (True, False)}
        for (asked, score, questions), count in self._human_marks():
            kind = "PASS_FAIL" if asked.pass_fail else "SCORE"
            question = ExpectedQuestion(
                asked.text, score, asked.max_score, asked.pass_fail, kind, reason=""
            )
            marks = asked.max_score, 0.0, usual[asked, score]
            for way, mark in zip(WAYS, marks, strict=True):
                given, (right, close) = Mark(question, mark), found[way, asked.pass_fail]
                right.append(count * is_correct(given, self._margin) / questions)
                close.append(count * (1 - normalised_gap(given)) / questions)
        return found

    def _usual_marks(self) -> Mapping[tuple[_AskedQuestion, float], float]:
        """For a question and its mark in one call, the usual mark in all other calls        C-135

        Of several the lowest; full marks if no other call asks the question.
        """
        given: dict[_AskedQuestion, Counter[float]] = {}
        for human, count in self._human_marks():
            given.setdefault(human.question, Counter())[human.score] += count
        return {
            (asked, mark): _usual_mark(asked, marks, mark)
            for asked, marks in given.items()
            for mark in marks
        }


def _texts_of(questions: Any) -> Mapping[str, str]:
    """The text of every question of a form, by its id; an id alone is its own text."""
    if not isinstance(questions, list):
        return {}
    return {
        str(asked.get("question_id")): text
        for asked in questions
        if isinstance(asked, Mapping) and isinstance(text := asked.get("question"), str)
    }


def _usual_mark(asked: _AskedQuestion, marks: Counter[float], left_out: float) -> float:
    others = {mark: count - (mark == left_out) for mark, count in marks.items()}
    if not any(others.values()):
        return asked.max_score
    return min(others, key=lambda mark: (-others[mark], mark))


FALSE_PASS = "qa.false_pass_rate"
OF_FAILURES = "false_pass_rate_of_failures"
UNDEMONSTRATED = ": the false pass rate cannot be demonstrated with this data"


def undemonstrated_notes(
    models: Sequence[ModelScore], tallies: Mapping[str, TaskTally]
) -> Sequence[str]:
    """Notes if passing every question would block no model, as people failed too few    C-135"""
    notes: dict[str, None] = {}
    for model in models:
        qa, tally = model.tasks.get("qa"), tallies.get(model.model)
        if qa is None or tally is None or qa.metrics[FALSE_PASS].value is None:
            continue
        asked = tally.metrics[FALSE_PASS].denominator
        of_failures = tally.metrics.get(f"{FALSE_PASS}/{OF_FAILURES}")
        failed = of_failures.denominator if of_failures is not None else 0
        if not asked or _shows_failures(failed, asked):
            continue
        if of_failures is None or not failed:
            notes[f"QA: {_failures_text(failed, asked)}{UNDEMONSTRATED}"] = None
            continue
        passed = of_failures.numerator
        note = (
            f"{model.model}, QA: {_failures_text(failed, asked)}, "
            f"the model passed {_passes_text(passed, failed)}"
            f" ({OF_FAILURES} {half_up(100 * passed / failed, 2)} %){UNDEMONSTRATED}"
        )
        notes[note] = None
    return list(notes)


def _shows_failures(failed: float, asked: float) -> bool:
    """Whether a model that passes every question would breach the gate        C-35

    True as well if a single false pass would: with that few questions the resolution is shown next
    to the rate.
    """
    gate = load_spec().metrics[FALSE_PASS].gate
    return gate is not None and gate.is_breached(100 * max(failed, 1) / asked)


def _failures_text(failed: float, asked: float) -> str:
    return f"people failed {f'{failed:g}' if failed else 'none'} of {asked:g} questions"


def _passes_text(passed: float, failed: float) -> str:
    if not passed:
        return "none"
    if passed < failed:
        return f"{passed:g} of them"
    return {1: "it", 2: "both"}.get(round(failed), "all of them")
