"""Rules for verdicts on calls: their words, the items they may name, and the most that is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callscore.core.case import Case, Malformed, turns
from callscore.core.judging import Item, Question
from callscore.core.task import ItemCount
from callscore.core.verdict_rules import MOST_STATED, WHOLE, VerdictRules
from callscore.suites.calls.benchmarks import words as benchmarks
from callscore.suites.calls.benchmarks.view import instructions_of
from callscore.suites.calls.benchmarks.words import CORRECTNESS, COSINES, OUTPUT
from callscore.suites.calls.framework import framework_judge
from callscore.suites.calls.qa import task as qa
from callscore.suites.calls.qa.measures import EVIDENCE
from callscore.suites.calls.qa.reference import QAReference
from callscore.suites.calls.spec import slug_of
from callscore.suites.calls.structure import split_sentences
from callscore.suites.calls.text import task as text
from callscore.suites.calls.text.claims import claims
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.text.summary import (
    CALL_INTENT,
    CLAIM_METRICS,
    CLAIM_PREFIX,
    FABRICATION_FREE,
    HIGHLIGHT_CORRECTNESS,
    HIGHLIGHT_RECALL,
    OTHER_GOAL,
    PURPOSE,
)
from callscore.suites.calls.text.task import TextOutput, highlights_of
from callscore.suites.calls.translation import outcomes
from callscore.suites.calls.translation import task as translation
from callscore.suites.calls.translation.facts import given_facts, item_of
from callscore.suites.calls.translation.judge_questions import (
    CRITICAL_FACTS,
    FACT_WORDS,
    FLUENCY,
    MEANING,
    OUTCOME_PREFIX,
    OUTCOME_WORDS,
    PROPER_NOUNS,
)
from callscore.suites.calls.translation.reference import NOUNS, TranslationReference

_CLAIMS = frozenset(
    {
        "text.fabrication_free",
        "text.hallucination_rate",
        "bench.faithfulness",
        "bench.hallucination_rate",
    }
)
_REASONS = frozenset({"qa.evidence_backed_reasoning"})
_FACTS = frozenset({"translation.critical_facts", "translation.drift"})
_TURNS = frozenset({"bench.contextual_precision", "bench.contextual_recall"})
_ANSWER = frozenset({"bench.answer_correctness", "bench.answer_relevancy"})
RELIES_ON: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("text.fabrication_free", "text.hallucination_rate"), _CLAIMS),
    **dict.fromkeys(("bench.faithfulness", "bench.hallucination_rate"), _CLAIMS | _REASONS),
    **dict.fromkeys(_FACTS, _FACTS),
    **dict.fromkeys((*_TURNS, "bench.contextual_relevancy"), _TURNS),
    "bench.answer_correctness": _ANSWER | _FACTS,
}


def item_words(metric: str, item: str) -> tuple[str, ...] | None:
    """The words of metrics that ask two questions, each with its own words."""
    if metric == CALL_INTENT:
        return text.ANY_OTHER_GOAL if item == OTHER_GOAL else text.SAME_GOAL
    if metric == CRITICAL_FACTS:
        return OUTCOME_WORDS if item.startswith(OUTCOME_PREFIX) else FACT_WORDS
    return None


def group(item: Item) -> str | None:
    """The items that are answered together: claim lists, the intent, the similarity."""
    if item.metric in CLAIM_METRICS and item.item.startswith(CLAIM_PREFIX):
        return CLAIM_PREFIX
    if item.metric == CALL_INTENT:
        return CALL_INTENT
    if item.metric in COSINES and item.item == OUTPUT:
        return OUTPUT
    return None


def needs_a_word(question: Question) -> bool:
    """Whether abstaining leaves the question open: purpose and fluency        C-69"""
    return question.metric == FLUENCY or question.item == PURPOSE


RULES = VerdictRules(
    words={
        **qa.OFFERED,
        **text.OFFERED,
        **translation.OFFERED,
        **benchmarks.OFFERED,
        CRITICAL_FACTS: (*FACT_WORDS[:-1], *OUTCOME_WORDS),
    },
    values={**text.VALUES, **translation.VALUES, **benchmarks.VALUES},
    cosines=COSINES,
    slug_of=slug_of,
    item_words=item_words,
    group=group,
    stated={
        (HIGHLIGHT_CORRECTNESS, "highlights"): "not_found",
        (FABRICATION_FREE, "claim"): "not_found",
        (CORRECTNESS, "claim"): "none",
    },
    relies_on=RELIES_ON,
    marks_estimates=_FACTS,
    needs_a_word=needs_a_word,
    framework_judge=framework_judge,
    complements={
        "text.fabrication_free": "text.hallucination_rate",
        "translation.critical_facts": "translation.drift",
    },
    faults=frozenset({"bench.hallucination_rate"}),
)


def has_item(reference: Any, output: Any, item: Item) -> bool:
    """Whether a case or a reply has the item; True if that is unknown.

    It is unknown for a malformed reply, and for metrics whose verdicts may define items (claims,
    benchmarks). A metric as a whole always exists.
    """
    has = None if item.item == WHOLE else _HAS.get(item.metric)
    return has is None or isinstance(output, Malformed) or has(reference, output, item.item)


def _has_question(reference: QAReference, output: object, name: str) -> bool:
    return name in reference.questions


def _has_purpose(reference: TextReference, output: object, name: str) -> bool:
    return name in (PURPOSE, OTHER_GOAL)


def _expects_highlight(reference: TextReference, output: object, name: str) -> bool:
    return any(name == highlight.item for highlight in reference.highlights)


def _gives_highlight(reference: TextReference, output: TextOutput, name: str) -> bool:
    given = highlights_of(reference, output, set())
    return any(name == highlight.item for highlight in given.texts)


def _has_sentence(reference: TranslationReference, output: object, name: str) -> bool:
    return name in reference.sentences


def _has_name(reference: TranslationReference, output: object, name: str) -> bool:
    return any(name == term.name for term in reference.terms.get(NOUNS, ()))


def _has_fact(reference: TranslationReference, output: object, name: str) -> bool:
    for prefix in (OUTCOME_PREFIX, outcomes.KEPT):
        if name.startswith(prefix):
            return name.removeprefix(prefix) in reference.may_state_outcomes
    return any(name == item_of(place) for place in range(reference.total_facts))


_HAS: Mapping[str, Callable[[Any, Any, str], bool]] = {
    EVIDENCE: _has_question,
    CALL_INTENT: _has_purpose,
    HIGHLIGHT_RECALL: _expects_highlight,
    HIGHLIGHT_CORRECTNESS: _gives_highlight,
    MEANING: _has_sentence,
    FLUENCY: _has_sentence,
    PROPER_NOUNS: _has_name,
    CRITICAL_FACTS: _has_fact,
}


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
