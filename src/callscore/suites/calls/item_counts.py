"""How many items of a case a judge can be asked about, to estimate the cost of judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.case import Case, turns
from callscore.core.task import ItemCount
from callscore.core.verdict_rules import MOST_STATED
from callscore.suites.calls.benchmarks.instructions import instructions_of
from callscore.suites.calls.sentences import split_sentences
from callscore.suites.calls.text.claims import claims
from callscore.suites.calls.translation.critical import given_facts


def count_items(case: Case) -> ItemCount:
    """The most items that the metrics of the case's task can ask about."""
    expected = case.expected_outcome
    if case.task == "qa":
        return ItemCount(0, len(_list_at(expected, "questions")))
    if case.task == "text":
        summary = expected.get("summary") or {}
        return ItemCount(0, 2 + len(_list_at(summary, "highlights")) + 2 * MOST_STATED)
    if case.task == "translation":
        return _count_translation_items(case)
    return ItemCount(0, 0)


def _count_translation_items(case: Case) -> ItemCount:
    expected, listed = case.expected_outcome, given_facts(case)
    pieces = 0
    for entry in _list_at(expected, "sentence_translations"):
        text = entry.get("translated_text") if isinstance(entry, dict) else None
        pieces += max(1, len(split_sentences(text))) if isinstance(text, str) else 1
    names = len(_list_at(expected, "named_entities_handled"))
    facts = pieces if listed is None else len(listed)
    return ItemCount(pieces if listed is None else 0, pieces + names + facts)


def count_benchmark_items(case: Case) -> ItemCount:
    """The most items that the benchmarks can ask about in addition."""
    instructions, expected = len(instructions_of(case)), case.expected_outcome
    spoken = len(turns(case.transcript))
    if case.task == "qa":
        return ItemCount(spoken, len(_list_at(expected, "questions")) + spoken + instructions)
    if case.task == "text":
        stated = len(claims(expected.get("summary") or {})) + MOST_STATED
        return ItemCount(spoken, stated + spoken + instructions)
    return ItemCount(0, instructions)


def _list_at(outcome: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = outcome.get(key)
    return found if isinstance(found, list) else ()
