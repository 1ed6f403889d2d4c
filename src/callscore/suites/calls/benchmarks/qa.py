"""A QA reply as the benchmarks see it: its scores are facts, its reasons claims and arguments."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.judging import Item, Question, Verdicts
from callscore.core.spec import TOLERANCE
from callscore.suites.calls.benchmarks.view import (
    ClosedFields,
    FactFindings,
    ReplyFindings,
    ReplyView,
    id_usage,
)
from callscore.suites.calls.benchmarks.words import (
    ARGUMENT,
    FAITHFULNESS,
    HALLUCINATION,
    OFFERED,
    VALUES,
)
from callscore.suites.calls.items import is_confirmed, is_empty, number
from callscore.suites.calls.qa.measures import (
    MOST_POINTS,
    Mark,
    evidence_points,
    is_correct,
    is_own_words,
    reason_of,
)
from callscore.suites.calls.qa.reference import ExpectedQuestion
from callscore.suites.calls.qa.task import mark_of
from callscore.suites.calls.text.fabrication import CountedClaims
from callscore.suites.calls.text.summary import COUNTING

CLOSED_OF_A_QUESTION = 3
"""Its id, its score and its type."""


def cited_texts(view: ReplyView) -> Sequence[str]:
    """What the reply takes from the call: the moments that its reasons cite."""
    return [
        reason for question in _applicable_questions(view) if (reason := _reason(view, question))
    ]


def questions(view: ReplyView) -> list[Question]:
    """For every reason in its own words: is its ground right?        C-95"""
    return [
        Question(ARGUMENT, question.id, reason, _human_ground(question), OFFERED[ARGUMENT])
        for question in _applicable_questions(view)
        if (reason := _reason(view, question)) and not is_own_words(reason, question.reason)
    ]


def findings(view: ReplyView, verdicts: Verdicts, flags: set[str]) -> ReplyFindings:
    """The claims, facts, closed fields, rules and arguments of the reply."""
    margin = view.reference.settings.score_margin_fraction
    marks = [
        mark_of(question, view.output.by_id.get(question.id), set())
        for question in _applicable_questions(view)
    ]
    right = [is_correct(mark, margin) for mark in marks]
    supported = [
        _is_supported(view, question, verdicts, flags)
        for question in _applicable_questions(view)
        if _reason(view, question)
    ]
    given = [correct for mark, correct in zip(marks, right, strict=True) if mark.given is not None]
    steps = [
        _argument_points(view, mark.question, correct, verdicts, flags)
        for mark, correct in zip(marks, right, strict=True)
    ]
    return ReplyFindings(
        CountedClaims(supported),
        FactFindings(right, given),
        _closed_fields(view),
        _check_rules(view, marks),
        steps,
    )


def _human_ground(question: ExpectedQuestion) -> str:
    """The human mark and ground, as the judge sees them."""
    return f"{question.score:g} of {question.max_score:g}: {question.reason}"


def _applicable_questions(view: ReplyView) -> list[ExpectedQuestion]:
    return [q for q in view.reference.questions.values() if q.score is not None]


def _reason(view: ReplyView, question: ExpectedQuestion) -> str:
    """The reason given; empty if it says nothing."""
    reason = reason_of(view.output.by_id.get(question.id))
    return "" if reason is None or is_empty(reason) else reason


def _is_supported(
    view: ReplyView, question: ExpectedQuestion, verdicts: Verdicts, flags: set[str]
) -> bool | None:
    """A reason is supported if its moment occurs as described; a vague one is not."""
    for metric in (FAITHFULNESS, HALLUCINATION):
        words = [v.verdict for v in verdicts.get(Item(metric, question.id), ())]
        if words:
            return COUNTING.issuperset(words)
    points = evidence_points(_reason(view, question), question, verdicts, flags)
    return None if points is None else points == MOST_POINTS


def _argument_points(
    view: ReplyView,
    question: ExpectedQuestion,
    is_right: bool,
    verdicts: Verdicts,
    flags: set[str],
) -> float | None:
    """(right score + right ground) / 2, 0 without a reason        C-95"""
    reason = _reason(view, question)
    if not reason:
        return 0.0
    item = Item(ARGUMENT, question.id)
    values = [v.value for v in verdicts.get(item, ()) if v.value in VALUES[ARGUMENT]]
    if values:
        return min(value for value in values if value is not None)
    grounded = is_confirmed(verdicts, item, "yes", flags)
    if grounded is None and is_own_words(reason, question.reason):
        grounded = True
    return None if grounded is None else (is_right + grounded) / 2


def _closed_fields(view: ReplyView) -> ClosedFields:
    """Ids, scores without a margin, and types        C-97"""
    applicable = _applicable_questions(view)
    matches = 0
    for question in applicable:
        item = view.output.by_id.get(question.id)
        if item is None:
            continue
        score = number(item.get("score"))
        assert question.score is not None  # only applicable questions are compared
        is_same = score is not None and abs(score - question.score) <= TOLERANCE
        matches += 1 + is_same + (item.get("type") == question.type)
    ids = id_usage(view.value.get("questions", ()), "question_id", view.reference.questions)
    total = len(applicable) + len(ids.unexpected)
    return ClosedFields(matches, CLOSED_OF_A_QUESTION * total)


def _check_rules(view: ReplyView, marks: Sequence[Mark]) -> list[bool]:
    """Every id once, none unexpected, scores in range, PASS_FAIL only 0 or full marks     C-96"""
    ids = id_usage(view.value.get("questions", ()), "question_id", view.reference.questions)
    given = [(mark.question, mark.given) for mark in marks]
    in_range = [score is not None and 0 <= score <= q.max_score for q, score in given]
    whole = [score in (0, q.max_score) for q, score in given if q.pass_fail]
    return [ids.once, not ids.unexpected, all(in_range), *([all(whole)] if whole else [])]
