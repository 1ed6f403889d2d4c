"""The text of a reply and the texts that the benchmarks compare it with (C-92)."""

from __future__ import annotations

from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.text import n1
from callscore.suites.calls.benchmarks.view import ReplyView
from callscore.suites.calls.benchmarks.words import CORRECTNESS, OUTPUT, RELEVANCY


def similarity_questions(view: ReplyView) -> list[Question]:
    """Questions to the embedder: the reply and the question of the case, if any; the reference."""
    case = view.case
    metrics = (RELEVANCY, CORRECTNESS) if case.question else (RELEVANCY,)
    return [
        Question(metric, OUTPUT, view.text, _target(view, metric))
        for metric in metrics
        if _cosine_by_code(view, metric) is None
    ]


def cosine(view: ReplyView, metric: str, verdicts: Verdicts) -> float | None:
    """1 if the texts are equal, 0 if one is empty, else the lowest similarity        C-92"""
    by_code = _cosine_by_code(view, metric)
    if by_code is not None:
        return by_code
    # without a question both criteria compare the same two texts
    metrics = (metric,) if view.case.question else (RELEVANCY, CORRECTNESS)
    values = [v.value for name in metrics for v in verdicts.get(Item(name, OUTPUT), ())]
    return min((value for value in values if value is not None), default=None)


def _cosine_by_code(view: ReplyView, metric: str) -> float | None:
    """1 or 0 if that needs no embedder, else None."""
    target = _target(view, metric)
    if view.text == target or n1(view.text) == n1(target):
        return 1.0
    return None if view.text.strip() and target.strip() else 0.0


def _target(view: ReplyView, metric: str) -> str:
    """The text that the reply is compared with."""
    if metric == RELEVANCY and view.case.question:
        return view.case.question
    return view.expected_text
