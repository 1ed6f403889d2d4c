"""Which measures rest on the word of a built-in substitute (C-125)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callscore.core.judging import Verdicts
from callscore.core.measure import Measure

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
"""The metrics whose verdicts enter a measure, where these are not its own alone."""


def mark_approximate(measures: Mapping[str, Measure], verdicts: Verdicts) -> dict[str, Measure]:
    """The same measures; those that an approximate verdict entered say so.

    A judge is asked only what code and files left open, so each of its verdicts was counted.
    """
    metrics = {item.metric for item, given in verdicts.items() if any(v.approximate for v in given)}
    if not metrics:
        return dict(measures)
    return {
        slug: msgspec.structs.replace(measure, approximate=True)
        if measure.value is not None and not metrics.isdisjoint(RELIES_ON.get(slug, {slug}))
        else measure
        for slug, measure in measures.items()
    }
