"""Whose word a measure rests on: an estimate makes it one, a failure leaves it without a value."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callscore.core.judging import Verdicts
from callscore.core.measure import Measure, failed

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
_VALUES = frozenset({"orchestration.argument_value"})
_CALLS = ("arguments_value_f1", "exact_calls", "case_score")
_ANSWER = frozenset({"bench.answer_correctness", "bench.answer_relevancy"})
RELIES_ON: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("text.fabrication_free", "text.hallucination_rate"), _CLAIMS),
    **dict.fromkeys(("bench.faithfulness", "bench.hallucination_rate"), _CLAIMS | _REASONS),
    **dict.fromkeys(_FACTS, _FACTS),
    **dict.fromkeys((*_TURNS, "bench.contextual_relevancy"), _TURNS),
    "bench.answer_correctness": _ANSWER | _FACTS,
    **{f"orchestration.{name}": _VALUES for name in _CALLS},
}
"""The metrics whose verdicts enter a measure, where these are not its own alone."""


def mark_approximate(measures: Mapping[str, Measure], verdicts: Verdicts) -> dict[str, Measure]:
    """The same measures; those that an approximate verdict entered say so.

    A judge is asked only what code and files left open, so each of its verdicts was counted. Of
    critical facts an estimate decides some and not others: that measure says so itself.
    """
    metrics = {item.metric for item, given in verdicts.items() if any(v.approximate for v in given)}
    if not metrics:
        return dict(measures)
    return {
        slug: msgspec.structs.replace(
            measure, approximate=True, estimated=measure.estimated or slug not in _FACTS
        )
        if measure.value is not None and not metrics.isdisjoint(RELIES_ON.get(slug, {slug}))
        else measure
        for slug, measure in measures.items()
    }


def with_failures(
    measures: Mapping[str, Measure], failures: Mapping[str, str]
) -> Mapping[str, Measure]:
    """What still waits for a judge that failed has failed, not merely not run        C-102"""
    if not failures:
        return measures

    def told(slug: str, measure: Measure) -> Measure:
        if measure.absence != "not_run":
            return measure
        why = [failures[metric] for metric in RELIES_ON.get(slug, {slug}) if metric in failures]
        return failed(min(why)) if why else measure

    return {slug: told(slug, measure) for slug, measure in measures.items()}
