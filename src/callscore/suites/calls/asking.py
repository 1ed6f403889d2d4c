"""What is still to be asked about an answer, once files have said what they know."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.framework import WHOLE
from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.benchmarks.words import COSINES, OUTPUT
from callscore.suites.calls.text.fabrication import CLAIM_METRICS, CLAIM_PREFIX
from callscore.suites.calls.text.summary import CALL_INTENT


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
