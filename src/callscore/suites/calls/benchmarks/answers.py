"""The text of an answer and what the benchmarks compare it with (C-92)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from callscore.core.case import Case
from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.text import n1
from callscore.suites.calls.benchmarks.view import Subject
from callscore.suites.calls.benchmarks.words import CORRECTNESS, OUTPUT, RELEVANCY

ID_KEYS = frozenset({"question_id", "sentence_id", "source_id"})


def text_of(value: Any) -> str:
    """All string values in document order, one a line, keys and ids left out        C-92"""
    return "\n".join(_strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ID_KEYS:
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def similarity_questions(subject: Subject) -> list[Question]:
    """The answer beside the question, where the case has one, and beside the reference."""
    case = subject.case
    metrics = (RELEVANCY, CORRECTNESS) if case.question else (RELEVANCY,)
    return [
        Question(metric, OUTPUT, text_of(subject.value), _target(case, metric))
        for metric in metrics
        if _by_code(subject, metric) is None
    ]


def cosine(subject: Subject, metric: str, verdicts: Verdicts) -> float | None:
    """By code where the texts are equal or one is empty, else the value given        C-92"""
    decided = _by_code(subject, metric)
    if decided is not None:
        return decided
    # without a question both criteria compare the same two texts
    metrics = (metric,) if subject.case.question else (RELEVANCY, CORRECTNESS)
    given = [v for name in metrics for v in verdicts.get(Item(name, OUTPUT), ())]
    return min((v.value for v in given if v.value is not None), default=None)


def _by_code(subject: Subject, metric: str) -> float | None:
    given, target = n1(text_of(subject.value)), n1(_target(subject.case, metric))
    if given == target:
        return 1.0
    return None if given and target else 0.0


def _target(case: Case, metric: str) -> str:
    if metric == RELEVANCY and case.question:
        return case.question
    return text_of(case.expected_outcome)
