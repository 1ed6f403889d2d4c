"""Scores from weighted contributions: the formulas of a scorecard, for many weightings at once.

Weights of 1 give the scores of the card, the weights of a resample give a replicate, and a weight
of 0 for one call gives a jackknife value. Each function takes sums (one column per weighting) and
returns arrays with one entry per weighting, NaN if a value is undefined.

    units = make_units(contributions.values())
    matrix = call_matrix(contributions["gpt"], shape, units)
    card = scores(shape, matrix.place, matrix.sums.sum(axis=1, keepdims=True))
    many = scores(shape, matrix.place, matrix.sums @ weights)        # weights: units × weightings
    many["final",]  many["task", task]  many["row", slug]  many["part", task, name]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from callscore.core.spec import TOLERANCE
from callscore.stats.contributions import (
    CriterionShape,
    MetricShape,
    ModelShape,
    TaskShape,
    stratum_key,
)
from callscore.stats.matrix import ColumnKey

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

ScoreKey = tuple[str, ...]
"""The key of a value of one model: ("row", slug), ("part", task, name), ("task", task),
("ungated", task), ("zeroed", task), ("blocked", task), ("criterion", slug), ("benchmarks",),
("final",), ("zeroed",), ("cost",), and from `rank_scores` ("efficiency",), ("rank",),
("quality_rank",)."""

Scores = dict[ScoreKey, "Floats"]

FREE = 2.0
"""Ranks free models above all others, whose efficiency is at most 1 (C-85)."""


class _Sums:
    """The sums of one model by key; 0 if a key is missing."""

    def __init__(self, place: Mapping[ColumnKey, int], sums: Floats) -> None:
        self._place, self._sums = place, sums

    def get(self, task: str, slug: str, quantity: str) -> Floats:
        import numpy as np

        at = self._place.get((task, slug, quantity))
        return np.zeros(self._sums.shape[1]) if at is None else self._sums[at]

    def strata(self, task: str) -> list[str]:
        """The names of the strata of a task; the task itself if it has none."""
        prefix = stratum_key(task, "")
        names = [name for name, _, q in self._place if q == "cases" and name.startswith(prefix)]
        return names or [task]


def scores(shape: ModelShape, place: Mapping[ColumnKey, int], sums: Floats) -> Scores:
    """All values of one model, for each column of the sums        C-02, C-03, C-06, C-83

    `task` is formula(rows) × the share of calls that no call gate blocks: the official score if
    the task is valid. `zeroed` of a task is formula(rows) × the share of calls without a breach of
    any gate, which counts in the `zeroed` Final if the task is invalid (C-129).
    """
    import numpy as np

    values: Scores = {}
    model_sums = _Sums(place, sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        for task, formula in shape.tasks.items():
            if (task, "", "cases") in place:
                _score_task(task, formula, model_sums, values)
        _score_criteria(shape, model_sums, values)
        for key, weights, zeroed in (
            ("final", shape.final, frozenset[str]()),
            ("zeroed", shape.zeroed, shape.invalid),
        ):
            if weights:
                values[key,] = final_score(weights, values, sums.shape[1], zeroed)
        values["cost",] = _cost(shape, model_sums, sums.shape[1])
    return values


def _score_task(task: str, formula: TaskShape, model_sums: _Sums, values: Scores) -> None:
    import numpy as np

    strata = model_sums.strata(task)
    for row in formula.rows:
        by_stratum = [_row(stratum, row, model_sums) for stratum in strata]
        values["row", row.slug] = (
            by_stratum[0] if len(by_stratum) == 1 else np.mean(by_stratum, axis=0)
        )
    cases = model_sums.get(task, "", "cases")
    blocked = model_sums.get(task, "", "blocked") / cases
    parts = []
    for name, weight, terms in formula.parts:
        rows = [(inside, values["row", slug]) for slug, inside in terms]
        score = _weighted_sum(rows) if rows else np.zeros_like(cases)
        parts.append((weight, score))
        if name:
            values["part", task, name] = score
    of_rows = _weighted_sum(parts)
    structure = values.get(("row", f"{task}.structure"))
    structure_share = np.ones_like(cases) if structure is None else structure
    values["blocked", task] = blocked
    values["task", task] = np.where(blocked == 1.0, 0.0, of_rows * (1.0 - blocked))
    values["ungated", task] = of_rows * structure_share
    breached = model_sums.get(task, "", "breached") / cases
    values["zeroed", task] = np.where(breached == 1.0, 0.0, of_rows * (1.0 - breached))


def _row(task: str, row: MetricShape, model_sums: _Sums) -> Floats:
    """The total of a count, a pooled share, or a mean over calls        C-06"""
    total, n = model_sums.get(task, row.slug, "total"), model_sums.get(task, row.slug, "n")
    if row.kind == "count":
        return total
    if row.kind == "mean":
        return total / n
    numerator, denominator = (
        model_sums.get(task, row.slug, q) for q in ("numerator", "denominator")
    )
    return pooled_share(row, (total, n), (numerator, denominator))


def pooled_share(
    row: MetricShape, means: tuple[Floats, Floats], counts: tuple[Floats, Floats]
) -> Floats:
    """Σ numerators / Σ denominators, in percent where the row is        C-06

    Without items, the value defined for such calls (C-13); a numerator without a denominator
    occurs for additions to a reference without facts (C-75).
    """
    import numpy as np

    (total, n), (numerator, denominator) = means, counts
    scale = 100.0 if row.percent else 1.0
    share = scale * (numerator / denominator)
    added = scale * numerator if row.percent else np.zeros_like(numerator)
    agreed = np.where(total == n, total / n, 0.0)
    value = np.where(denominator > 0, share, np.where(numerator > 0, added, agreed))
    return value if row.percent else np.maximum(value, 0.0)


def _score_criteria(shape: ModelShape, model_sums: _Sums, values: Scores) -> None:
    """The mean over tasks of the mean over cases, and the share that passes    C-88 … C-90"""
    import numpy as np

    passed = []
    for criterion in shape.criteria:
        means = np.array(
            [
                model_sums.get(task, criterion.slug, "total")
                / model_sums.get(task, criterion.slug, "n")
                for task in criterion.tasks
            ]
        )
        known = ~np.isnan(means)
        value = np.where(known, means, 0.0).sum(axis=0) / known.sum(axis=0)
        values["criterion", criterion.slug] = value
        passed.append(_passes(value, criterion))
    if passed and shape.criteria_in_all:
        values["benchmarks",] = np.sum(passed, axis=0) / shape.criteria_in_all


def _passes(value: Floats, criterion: CriterionShape) -> Floats:
    import numpy as np

    gap = value - criterion.limit if criterion.comparison == ">=" else criterion.limit - value
    return np.asarray(gap >= -TOLERANCE, np.float64)


def _weighted_sum(terms: Sequence[tuple[float, Floats]]) -> Floats:
    import numpy as np

    total: Floats = np.zeros_like(terms[0][1])
    for weight, value in terms:
        total = total + weight * value
    return total


def final_score(
    weights: Mapping[str, float], values: Scores, size: int, zeroed: frozenset[str]
) -> Floats:
    """Σ weight × task score, or zeroed score; NaN if one is missing     003 Final Scoring, C-129"""
    import numpy as np

    missing = np.full(size, np.nan)
    keys: dict[str, ScoreKey] = {
        name: ("zeroed" if name in zeroed else "task", name) for name in weights
    }
    keys["benchmarks"] = ("benchmarks",)
    return _weighted_sum(
        [(weight, values.get(keys[name], missing)) for name, weight in weights.items() if weight]
    )


def _cost(shape: ModelShape, model_sums: _Sums, size: int) -> Floats:
    """1000 × Σ over tasks of (share of calls that need it × spend / requests)        C-83"""
    import numpy as np

    if shape.cost is not None:
        return np.full(size, shape.cost)
    terms = []
    for task in shape.workload or shape.tasks:
        spend, answers = model_sums.get(task, "", "spend"), model_sums.get(task, "", "answers")
        if answers.any():
            terms.append((1000.0 * shape.workload.get(task, 1.0), spend / answers))
    return _weighted_sum(terms) if terms else np.full(size, np.nan)


def rank_scores(models: Sequence[Scores]) -> None:
    """Add efficiency, rank and quality rank to models that are ranked together    C-84 … C-86

    A model whose cost is unknown (NaN) has a quality rank only.
    """
    import numpy as np

    finals = np.array([model["final",] for model in models])
    costs = np.array([model["cost",] for model in models])
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = np.where(costs > 0, costs, np.inf)
        efficiency = np.where(costs > 0, finals / (costs / positive.min(axis=0)), np.nan)
        order = np.where(costs == 0, FREE + finals, efficiency)
        for at, model in enumerate(models):
            better = (order - order[at] > TOLERANCE).sum(axis=0)
            model["efficiency",] = efficiency[at]
            model["rank",] = np.where(np.isnan(order[at]), np.nan, 1.0 + better)
            better = (finals - finals[at] > TOLERANCE).sum(axis=0)
            model["quality_rank",] = np.where(np.isnan(finals[at]), np.nan, 1.0 + better)
