"""What is still to be asked about an answer, once files have said what they know."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from callscore.core.framework import WHOLE
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.suites.calls.benchmarks.words import CORRECTNESS, COSINES, OUTPUT
from callscore.suites.calls.text.fabrication import (
    CLAIM_METRICS,
    CLAIM_PREFIX,
    FABRICATION_FREE,
)
from callscore.suites.calls.text.summary import CALL_INTENT, HIGHLIGHT_CORRECTNESS

BY_CODE = "code"
MOST_STATED = 100
"""Statements of one answer that are judged for a metric."""
TOO_MANY = "too_many_statements"
"""The flag of an answer with more."""
STATED: Mapping[tuple[str, str], str] = {
    (HIGHLIGHT_CORRECTNESS, "highlights"): "not_found",
    (FABRICATION_FREE, "claim"): "not_found",
    (CORRECTNESS, "claim"): "none",
}
"""The items of which an answer can have any number, and the word for those beyond the bound."""
_PLACE = re.compile(r"[:\[]")


def left_open(questions: Sequence[Question], given: Verdicts) -> list[Question]:
    """The questions that no given verdict answers.

    Some verdicts answer more than their own item: one on a claim brings a claim list of its own,
    one on the intent settles both questions about it, a similarity serves both its criteria.
    """
    if not given:
        return list(questions)
    settled = {group for item in given if (group := _group(item)) is not None}
    return [
        question
        for question in questions
        if (item := Item(question.metric, question.item)) not in given
        and _group(item) not in settled
        and Item(question.metric, WHOLE) not in given
    ]


def bounded(questions: Sequence[Question]) -> tuple[list[Question], list[Verdict]]:
    """The questions that are asked about an answer, and verdicts on what it states beyond those.

    How much is asked about a reference is for whoever wrote it to say. What a model adds without
    end is its own fault: from then on every statement counts as one that nothing supports.
    """
    number: Counter[str] = Counter()
    kept: list[Question] = []
    excess: list[Verdict] = []
    for question in questions:
        word = STATED.get((question.metric, _PLACE.split(question.item)[0]))
        number[question.metric] += word is not None
        if word is None or number[question.metric] <= MOST_STATED:
            kept.append(question)
        else:
            excess.append(
                Verdict(
                    question.metric,
                    question.item,
                    word,
                    text=question.text,
                    by=BY_CODE,
                    note=f"beyond the {MOST_STATED} statements that are judged",
                )
            )
    return kept, excess


def with_common(own: Verdicts, common: Verdicts) -> Verdicts:
    """The verdicts on one answer, and those on every model's where it has none of its own.

    What answers more than its own item stays whole: a claim list is not lengthened by another.
    """
    settled = {group for item in own if (group := _group(item)) is not None}
    joined = {item: given for item, given in common.items() if _group(item) not in settled}
    return {**joined, **own}


def _group(item: Item) -> str | None:
    if item.metric in CLAIM_METRICS and item.item.startswith(CLAIM_PREFIX):
        return CLAIM_PREFIX
    if item.metric == CALL_INTENT:
        return CALL_INTENT
    if item.metric in COSINES and item.item == OUTPUT:
        return OUTPUT
    return None
