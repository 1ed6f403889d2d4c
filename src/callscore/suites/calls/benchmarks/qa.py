"""A QA reply as the benchmarks see it: its scores are facts, its reasons claims and arguments."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.judging import Item, Question, Verdicts
from callscore.core.spec import TOLERANCE
from callscore.suites.calls.benchmarks.view import Closed, Facts, Subject, View, finding, ids_of
from callscore.suites.calls.benchmarks.words import (
    ARGUMENT,
    FAITHFULNESS,
    HALLUCINATION,
    OFFERED,
    VALUES,
)
from callscore.suites.calls.items import is_empty, number
from callscore.suites.calls.qa.measures import (
    MOST_POINTS,
    Mark,
    evidence_points,
    is_correct,
    is_own_words,
    reason_of,
)
from callscore.suites.calls.qa.reference import FormQuestion
from callscore.suites.calls.qa.task import mark_of
from callscore.suites.calls.text.summary import COUNTING

CLOSED_OF_A_QUESTION = 3
"""Its id, its score and its type."""


def said(subject: Subject) -> Sequence[str]:
    """What the reply takes from the call: the moments that its reasons cite."""
    return [reason for question in _applicable(subject) if (reason := _reason(subject, question))]


def questions(subject: Subject) -> list[Question]:
    """For every reason in its own words: is its ground right?        C-95"""
    return [
        Question(ARGUMENT, question.id, reason, _human(question), OFFERED[ARGUMENT])
        for question in _applicable(subject)
        if (reason := _reason(subject, question)) and not is_own_words(reason, question.reason)
    ]


def view(subject: Subject, verdicts: Verdicts, flags: set[str]) -> View:
    """The claims, facts, closed fields, rules and arguments of the reply."""
    margin = subject.reference.settings.score_margin_fraction
    marks = [
        mark_of(question, subject.output.by_id.get(question.id), set())
        for question in _applicable(subject)
    ]
    right = [is_correct(mark, margin) for mark in marks]
    supported = [
        _is_supported(subject, question, verdicts, flags)
        for question in _applicable(subject)
        if _reason(subject, question)
    ]
    given = [correct for mark, correct in zip(marks, right, strict=True) if mark.given is not None]
    steps = [
        _step(subject, mark.question, correct, verdicts, flags)
        for mark, correct in zip(marks, right, strict=True)
    ]
    return View(supported, Facts(right, given), _closed(subject), _rules(subject, marks), steps)


def _human(question: FormQuestion) -> str:
    """The human mark and ground, as the judge sees them."""
    return f"{question.score:g} of {question.max_score:g}: {question.reason}"


def _applicable(subject: Subject) -> list[FormQuestion]:
    return [q for q in subject.reference.questions.values() if q.score is not None]


def _reason(subject: Subject, question: FormQuestion) -> str:
    """The reason given; empty if it says nothing."""
    reason = reason_of(subject.output.by_id.get(question.id))
    return "" if reason is None or is_empty(reason) else reason


def _is_supported(
    subject: Subject, question: FormQuestion, verdicts: Verdicts, flags: set[str]
) -> bool | None:
    """A reason is supported if its moment occurs as described; a vague one is not."""
    for metric in (FAITHFULNESS, HALLUCINATION):
        words = [v.verdict for v in verdicts.get(Item(metric, question.id), ())]
        if words:
            return COUNTING.issuperset(words)
    points = evidence_points(_reason(subject, question), question, verdicts, flags)
    return None if points is None else points == MOST_POINTS


def _step(
    subject: Subject,
    question: FormQuestion,
    is_right: bool,
    verdicts: Verdicts,
    flags: set[str],
) -> float | None:
    """(right score + right ground) / 2, 0 without a reason        C-95"""
    reason = _reason(subject, question)
    if not reason:
        return 0.0
    item = Item(ARGUMENT, question.id)
    values = [v.value for v in verdicts.get(item, ()) if v.value in VALUES[ARGUMENT]]
    if values:
        return min(value for value in values if value is not None)
    grounded = finding(verdicts, item, "yes", flags)
    if grounded is None and is_own_words(reason, question.reason):
        grounded = True
    return None if grounded is None else (is_right + grounded) / 2


def _closed(subject: Subject) -> Closed:
    """Ids, scores without a margin, and types        C-97"""
    applicable = _applicable(subject)
    matches = 0
    for question in applicable:
        item = subject.output.by_id.get(question.id)
        if item is None:
            continue
        score = number(item.get("score"))
        assert question.score is not None  # only applicable questions are compared
        is_same = score is not None and abs(score - question.score) <= TOLERANCE
        matches += 1 + is_same + (item.get("type") == question.type)
    ids = ids_of(subject.value.get("questions", ()), "question_id", subject.reference.questions)
    total = len(applicable) + len(ids.unexpected)
    return Closed(matches, CLOSED_OF_A_QUESTION * total)


def _rules(subject: Subject, marks: Sequence[Mark]) -> list[bool]:
    """Every id once, none unexpected, scores in range, PASS_FAIL only 0 or full marks     C-96"""
    ids = ids_of(subject.value.get("questions", ()), "question_id", subject.reference.questions)
    given = [(mark.question, mark.given) for mark in marks]
    in_range = [score is not None and 0 <= score <= q.max_score for q, score in given]
    whole = [score in (0, q.max_score) for q, score in given if q.pass_fail]
    return [ids.once, not ids.unexpected, all(in_range), *([all(whole)] if whole else [])]
