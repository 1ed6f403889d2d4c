"""The formulas of one model's scores, in the form that `stats` uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from callscore.core.scorecard import BenchmarkScore, Cost, FinalScore, ModelScore, TaskScore
from callscore.core.spec import Criterion, MetricSpec
from callscore.scorecard.formula import TaskFormula, counts_zero
from callscore.stats.contributions import CriterionShape, MetricShape, ModelShape, TaskShape


def model_shape(
    model: ModelScore,
    formula_of: Callable[[str], TaskFormula],
    criteria: Mapping[str, Criterion],
) -> ModelShape:
    """The formulas that turn the contributions of a model into its column of the card."""
    return ModelShape(
        tasks={task: task_shape(formula_of(task), score) for task, score in model.tasks.items()},
        final=model.final.weights,
        zeroed=_zeroed_weights(model.final),
        invalid=frozenset(name for name, task in model.tasks.items() if task.status == "invalid"),
        workload=model.cost.workload,
        cost=_fixed_cost(model.cost),
        criteria=[
            CriterionShape(slug, criterion.tasks, criterion.comparison, criterion.limit)
            for slug, criterion in criteria.items()
            if slug in model.benchmarks.criteria
            and model.benchmarks.criteria[slug].value is not None
        ],
        criteria_in_all=_criteria_in_all(model.benchmarks),
    )


def task_shape(formula: TaskFormula, score: TaskScore) -> TaskShape:
    """Rows and weights of a task, without rows that count 0 because no case defines them.

    A resample that lacks another row has no number: what is due depends on the data (C-113).
    """
    zeros = {slug for slug, m in score.metrics.items() if counts_zero(formula.specs[slug], m)}
    return TaskShape(
        rows=[
            MetricShape(slug, _kind(formula.specs[slug]), formula.specs[slug].unit == "percent")
            for slug in formula.slugs
        ],
        parts=[
            (name, part.weight, [(s, w) for s, w in part.weights.items() if s not in zeros])
            for name, part in formula.score.formula.items()
        ],
    )


def _fixed_cost(cost: Cost) -> float | None:
    """The cost independent of calls: given by the user, zero, or NaN if unknown."""
    if cost.status == "known":
        return None
    return math.nan if cost.per_1000_calls is None else cost.per_1000_calls


def _kind(spec: MetricSpec) -> str:
    if spec.unit == "count":
        return "count"
    return "pooled" if spec.pooled else "mean"


def _zeroed_weights(final: FinalScore) -> Mapping[str, float]:
    """The weights of the tasks that ran, scaled up if some did not        C-129"""
    ran = {name: final.weights[name] for name in final.zeroed_tasks}
    if len(ran) == len(final.weights):
        return ran
    whole = math.fsum(ran.values())
    return {name: weight / whole for name, weight in ran.items()}


def _criteria_in_all(benchmarks: BenchmarkScore) -> int:
    """The denominator of the passed criteria: all of them, or those that ran        C-89"""
    if benchmarks.score is None:
        return 0
    passed = sum(entry.binary or 0 for entry in benchmarks.criteria.values())
    in_all = len(benchmarks.criteria)
    return in_all if math.isclose(passed / in_all, benchmarks.score) else benchmarks.ran
