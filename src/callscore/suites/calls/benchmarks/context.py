"""Which turns of the call a reply relies on, and which the reference needs (C-94)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from callscore.core.case import Case, turns
from callscore.core.judging import Item, Question, Verdicts
from callscore.core.measure import Measure, not_run
from callscore.suites.calls.benchmarks import measures as formulas
from callscore.suites.calls.benchmarks.words import CONTEXTUAL, OFFERED, PRECISION, RECALL
from callscore.suites.calls.items import is_confirmed

_CITING_PART: Mapping[str, str] = {"qa": "questions", "text": "summary"}
"""The part of a reply that is based on the call."""


class _TurnFindings(NamedTuple):
    """The turns that count, and how many await a verdict."""

    found: frozenset[int]
    waiting: int


def needed_questions(case: Case) -> list[Question]:
    """For every turn: does the expected outcome need it? Asked once per case, before any reply."""
    return [
        Question(RECALL, _item_id(number), text, "", OFFERED[RECALL])
        for number, text in _spoken_turns(case)
    ]


def used_questions(case: Case, said: Sequence[str]) -> list[Question]:
    """For every turn: does the reply rely on it?"""
    joined, place = "\n".join(said), f"model_output.{_CITING_PART[case.task]}"
    return [
        Question(PRECISION, _item_id(number), text, joined, OFFERED[PRECISION], place)
        for number, text in (_spoken_turns(case) if joined else ())
    ]


def measure(
    case: Case, said: Sequence[str], verdicts: Verdicts, flags: set[str]
) -> dict[str, Measure]:
    """Contextual precision, recall and relevancy of one reply."""
    numbers = [number for number, _ in _spoken_turns(case)]
    needed = _find_turns(numbers, RECALL, "needed", verdicts, flags)
    used = _find_turns(numbers if said else (), PRECISION, "used", verdicts, flags)
    waiting = needed.waiting + used.waiting
    if waiting:
        absent = not_run(f"{waiting} verdicts on turns are missing")
        return {PRECISION: absent, RECALL: absent, CONTEXTUAL: absent}
    precision = formulas.contextual_precision(needed.found, used.found)
    recall = formulas.contextual_recall(needed.found, used.found)
    return {
        PRECISION: precision,
        RECALL: recall,
        CONTEXTUAL: formulas.contextual_relevancy(precision, recall),
    }


def _find_turns(
    numbers: Iterable[int], metric: str, good: str, verdicts: Verdicts, flags: set[str]
) -> _TurnFindings:
    found = {n: is_confirmed(verdicts, Item(metric, _item_id(n)), good, flags) for n in numbers}
    return _TurnFindings(
        frozenset(number for number, counts in found.items() if counts),
        sum(counts is None for counts in found.values()),
    )


def _spoken_turns(case: Case) -> list[tuple[int, str]]:
    """Every turn with text, with its number."""
    spoken = enumerate(turns(case.transcript), start=1)
    return [(number, turn.text) for number, turn in spoken if turn.text.strip()]


def _item_id(number: int) -> str:
    return f"turn:{number}"
