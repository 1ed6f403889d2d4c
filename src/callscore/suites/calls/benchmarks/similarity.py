"""The text of a reply and the texts that the benchmarks compare it with (C-92)."""

from __future__ import annotations

from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.text import n1
from callscore.suites.calls.benchmarks.view import ReplyView
from callscore.suites.calls.benchmarks.words import CORRECTNESS, OUTPUT, RELEVANCY


def similarity_questions(view: ReplyView) -> list[Question]:
    """The reply compared with the question, if the case has one, and with the reference."""
    case = view.case
    metrics = (RELEVANCY, CORRECTNESS) if case.question else (RELEVANCY,)
    return [
        Question(metric, OUTPUT, view.text, _target(view, metric))
        for metric in metrics
        if _cosine_by_code(view, metric) is None
    ]


def cosine(view: ReplyView, metric: str, verdicts: Verdicts) -> float | None:
    """1 if the texts are equal, 0 if one is empty, else the lowest value given        C-92"""
    decided = _cosine_by_code(view, metric)
    if decided is not None:
        return decided
    # without a question both criteria compare the same two texts
    metrics = (metric,) if view.case.question else (RELEVANCY, CORRECTNESS)
    given = [v for name in metrics for v in verdicts.get(Item(name, OUTPUT), ())]
    return min((v.value for v in given if v.value is not None), default=None)


def _cosine_by_code(view: ReplyView, metric: str) -> float | None:
    given, target = view.text, _target(view, metric)
    if given == target or n1(given) == n1(target):
        return 1.0
    return None if given.strip() and target.strip() else 0.0


def _target(view: ReplyView, metric: str) -> str:
    if metric == RELEVANCY and view.case.question:
        return view.case.question
    return view.expected_text
