"""What every measure of the calls suite has declared about itself, and how that is checked.

A metric of `spec.toml` that is not declared here fails the suite. The checks name the slugs that
break a law, so that a test can say which, and prove that each of them can be caught.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from callscore.core.measure import Measure
from callscore.core.task import Measured

EPSILON = 1e-12


class Law(NamedTuple):
    """The unit of a measure, its range, and the value of a perfect answer."""

    unit: str
    most: float
    top: float


SHARE = Law("fraction", most=1.0, top=1.0)
RATE = Law("percent", most=100.0, top=0.0)
DRIFT = Law("percent", most=inf, top=0.0)
"""Facts may be added without end, so that they are more than those expected (C-75)."""
COUNT = Law("count", most=inf, top=0.0)

LAWS: Mapping[str, Law] = {
    "qa.question_score_accuracy": SHARE,
    "qa.score_gap_accuracy": SHARE,
    "qa.evidence_backed_reasoning": SHARE,
    "qa.false_pass_rate": RATE,
    "qa.structure": SHARE,
    "entity.keyword_precision": SHARE,
    "entity.keyword_recall": SHARE,
    "entity.keyword_f1": SHARE,
    "entity.topic_precision": SHARE,
    "entity.topic_recall": SHARE,
    "entity.topic_f1": SHARE,
    "entity.config_adherence": SHARE,
    "entity.cross_language_match_rate": SHARE,
    "entity.fabricated_count": COUNT,
    "entity.structure": SHARE,
    "text.sentiment_accuracy": SHARE,
    "text.sentiment_macro_f1": SHARE,
    "text.missing_labels": COUNT,
    "text.call_intent": SHARE,
    "text.highlight_recall": SHARE,
    "text.highlight_correctness": SHARE,
    "text.field_presence": SHARE,
    "text.fabrication_free": SHARE,
    "text.hallucination_rate": RATE,
    "text.dominant_emotion": SHARE,
    "text.structure": SHARE,
    "translation.completeness": SHARE,
    "translation.meaning": SHARE,
    "translation.fluency": SHARE,
    "translation.domain_terms": SHARE,
    "translation.proper_nouns": SHARE,
    "translation.critical_facts": SHARE,
    "translation.drift": DRIFT,
    "translation.structure": SHARE,
}

COMPLEMENTS: Mapping[str, str] = {
    "text.hallucination_rate": "text.fabrication_free",
    "translation.drift": "translation.critical_facts",
}


def out_of_bounds(measured: Measured) -> set[str]:
    """The slugs whose value lies outside the range of its unit, or is no whole count."""
    found = set()
    for slug, value in _values(measured).items():
        law = LAWS[slug]
        is_inside = -EPSILON <= value <= law.most + EPSILON
        if not is_inside or (law.unit == "count" and value != int(value)):
            found.add(slug)
    return found


def below_top(measured: Measured) -> set[str]:
    """The slugs whose value is not that of a perfect answer."""
    values = _values(measured)
    return {slug for slug, value in values.items() if abs(value - LAWS[slug].top) > EPSILON}


def changed(one: Measured, other: Measured) -> set[str]:
    """The slugs that do not have the same measure in both."""
    return {
        slug
        for slug, measure in one.measures.items()
        if not _is_same(measure, other.measures[slug])
    }


def _is_same(one: Measure, other: Measure) -> bool:
    words = (one.absence, one.vacuous, one.approximate)
    if words != (other.absence, other.vacuous, other.approximate):
        return False
    return one.value is None or other.value is None or abs(one.value - other.value) <= EPSILON


def improved(before: Measured, after: Measured) -> set[str]:
    """The slugs that are nearer to the top after than before."""
    one, other = _values(before), _values(after)
    return {
        slug
        for slug in one.keys() & other.keys()
        if abs(one[slug] - LAWS[slug].top) - abs(other[slug] - LAWS[slug].top) > EPSILON
    }


def unlike_complement(measured: Measured) -> set[str]:
    """The percents that do not say the same as the share beside them        C-14"""
    values = _values(measured)
    return {
        slug
        for slug, share in COMPLEMENTS.items()
        if slug in values and abs(max(0.0, 1 - values[slug] / 100) - values[share]) > EPSILON
    }


def _values(measured: Measured) -> dict[str, float]:
    return {
        slug: measure.value
        for slug, measure in measured.measures.items()
        if measure.value is not None
    }
