"""The decision: which models are in question, and which of them to take        C-138"""

from __future__ import annotations

import math
from collections.abc import Sequence

from callscore.core.scorecard import MetricScore, ModelScore, Scorecard
from callscore.core.spec import TOLERANCE


def models_in_question(card: Scorecard) -> Sequence[str]:
    """The models with a Final, no blocker, no row rated Fail, and at least their floor    C-138"""
    return [model.model for model in card.models if is_in_question(model)]


def is_in_question(model: ModelScore) -> bool:
    """Whether a model may be recommended: final ≥ floor − 1e-9, no Blocker, no Fail    C-138"""
    final = model.final.score
    if final is None or model.blockers or corrected_breaches(model):
        return False
    metrics = [metric for task in model.tasks.values() for metric in task.metrics.values()]
    if any(decisive_rating(metric) == "Fail" for metric in metrics):
        return False
    floor = final_floor(model)
    return floor is None or final >= floor - TOLERANCE


def decisive_rating(metric: MetricScore) -> str | None:
    """The rating of a row, of the corrected value if there is one    STATS §5"""
    return metric.rating if metric.corrected is None else metric.corrected.rating


def corrected_breaches(model: ModelScore) -> Sequence[str]:
    """Rows that keep their gate as judged, and breach it as people would judge    STATS §5"""
    blocked = {blocker.metric for blocker in model.blockers}
    return [
        slug
        for task in model.tasks.values()
        for slug, metric in task.metrics.items()
        if metric.corrected is not None and metric.corrected.breached and slug not in blocked
    ]


def final_floor(model: ModelScore) -> float | None:
    """Σ weight × floor of the task, over the weights of the Final; null if one has no floor"""
    terms = []
    for task, weight in model.final.weights.items():
        scored = model.tasks.get(task)
        if weight and (scored is None or scored.trivial_floor is None):
            return None
        if weight and scored is not None and scored.trivial_floor is not None:
            terms.append(weight * scored.trivial_floor)
    return math.fsum(terms) if terms else None
