"""The words that verdicts on calls may use, and the measures that depend on several metrics."""

from __future__ import annotations

from collections.abc import Mapping

from callscore.core.judging import Item, Question
from callscore.core.verdict_rules import VerdictRules
from callscore.suites.calls.benchmarks import words as benchmarks
from callscore.suites.calls.benchmarks.words import CORRECTNESS, COSINES, OUTPUT
from callscore.suites.calls.framework import framework_judge
from callscore.suites.calls.qa import task as qa
from callscore.suites.calls.spec import slug_of
from callscore.suites.calls.text import task as text
from callscore.suites.calls.text.fabrication import CLAIM_METRICS, CLAIM_PREFIX, FABRICATION_FREE
from callscore.suites.calls.text.summary import (
    CALL_INTENT,
    HIGHLIGHT_CORRECTNESS,
    OTHER_GOAL,
    PURPOSE,
)
from callscore.suites.calls.translation import task as translation
from callscore.suites.calls.translation.judge_questions import (
    CRITICAL_FACTS,
    FACT_WORDS,
    FLUENCY,
    OUTCOME_PREFIX,
    OUTCOME_WORDS,
)

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
