"""Scores of whole metrics, as the framework's own judge gives them, in the place of counts (C-100).

They come from `style: document`, or from a file of five-key records.
"""

from __future__ import annotations

from collections.abc import Mapping

from callscore.core.errors import DataError
from callscore.core.framework import WHOLE, judged_metrics
from callscore.core.judging import Item, Verdicts
from callscore.core.measure import Measure, percent, ratio
from callscore.suites.calls.spec import slug_of

COMPLEMENTS: Mapping[str, str] = {
    "text.fabrication_free": "text.hallucination_rate",
    "translation.critical_facts": "translation.drift",
}
"""The percentages that are 100 × (1 − another metric)."""
OF_FAULTS = "bench.hallucination_rate"
"""A percentage of what is wrong: a criterion that is met (1) is 0 % of it (C-91)."""
_NOT_SCORED = frozenset({"absent", "malformed"})


def with_whole_scores(measures: Mapping[str, Measure], verdicts: Verdicts) -> Mapping[str, Measure]:
    """The measures, with the score of each metric that was judged as a whole        C-100"""
    found = dict(measures)
    for slug, measure in measures.items():
        given = [v.value for v in verdicts.get(Item(slug, WHOLE), ()) if v.value is not None]
        if not given or measure.absence in _NOT_SCORED:
            continue
        score = min(given)
        found[slug] = percent(1 - score, 1) if slug == OF_FAULTS else ratio(score, 1)
        if (other := COMPLEMENTS.get(slug)) in measures and other is not None:
            found[other] = percent(1 - score, 1)
    return found


def is_whole(item: Item) -> bool:
    """Whether a verdict scores a metric as a whole."""
    return item.item == WHOLE


def checked_whole(metric: str, score: float | None) -> str | None:
    """The slug of a metric scored as a whole; None where code computes it; raises DataError."""
    slug = slug_of(metric)
    if slug is None:
        raise DataError(f"{metric!r} is no metric; expected a slug or a name", field="metric")
    if slug not in judged_metrics():
        return None
    fault = "missing; expected a number" if score is None else judged_metrics()[slug].fault(score)
    if fault:
        raise DataError(f"{score} {fault}" if score is not None else fault, field="score")
    return slug
