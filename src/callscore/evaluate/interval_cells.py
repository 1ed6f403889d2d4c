"""The interval of each number of one model, by the kind of number        STATS §2"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.measure import FEW_CALLS, GateClaim
from callscore.core.scorecard import (
    BenchmarkScore,
    FinalScore,
    MetricScore,
    ModelScore,
    RankingLine,
    SubScore,
    TaskScore,
)
from callscore.core.spec import MetricSpec
from callscore.stats.contributions import MetricShape, ModelShape
from callscore.stats.intervals import Interval
from callscore.stats.rates import (
    CallRates,
    TaskCounts,
    calls_needed,
    rate_interval,
    rule_of_three_interval,
)
from callscore.stats.resampling import IntervalEstimate, Replicates, bca_interval, rank_interval
from callscore.stats.weighted_scores import ScoreKey

SHARE = (0.0, 1.0)
IntervalFields = Mapping[str, Any]
"""The fields of an interval."""


class IntervalInputs(msgspec.Struct, frozen=True):
    """The data behind the intervals of one model."""

    model: ModelScore
    shape: ModelShape
    counts: Mapping[str, TaskCounts]
    """By task, how many calls there are."""
    found: Mapping[ScoreKey, Replicates]
    claims: Mapping[ScoreKey, Interval]
    """The claim limits of every value (STATS §2)."""
    specs: Mapping[str, MetricSpec]


def _cell(bounds: IntervalEstimate | None, calls: int) -> IntervalFields:
    if bounds is None:
        return {"few_calls": True} if calls == 1 else {}
    return {
        "ci95": (bounds.low, bounds.high),
        "ci95_method": bounds.method,
        "few_calls": calls < FEW_CALLS,
    }


def _interval(
    inputs: IntervalInputs, key: ScoreKey, calls: int, reach: tuple[float, float] | None = SHARE
) -> IntervalEstimate | None:
    """BCa over calls; if all calls are equal and the range is known, the rule of three.

    A single call has no interval: nothing is known about how calls differ.
    """
    found = inputs.found.get(key)
    bounds = bca_interval(found, calls) if found is not None and calls > 1 else None
    if bounds is None or bounds.method != "all_equal" or reach is None:
        return bounds
    return rule_of_three_interval(bounds.low, calls, reach)


def fill_model(inputs: IntervalInputs) -> ModelScore:
    """Add the intervals to the column of a model."""
    model = inputs.model
    tasks = {name: _task(name, task, inputs) for name, task in model.tasks.items()}
    calls = min(
        (task.calls for name, task in tasks.items() if inputs.shape.final.get(name)), default=0
    )
    cost = model.cost
    if cost.status == "known":
        spread = _interval(inputs, ("cost",), calls_of(inputs), reach=None)
        cost = msgspec.structs.replace(cost, **_cell(spread, calls_of(inputs)))
    return msgspec.structs.replace(
        model,
        tasks=tasks,
        benchmarks=_benchmarks(model.benchmarks, inputs),
        final=_final(model.final, inputs, calls),
        cost=cost,
    )


def calls_of(inputs: IntervalInputs) -> int:
    """Distinct calls of the task that has most of them."""
    return max((task.calls for task in inputs.counts.values()), default=0)


def _task(name: str, task: TaskScore, inputs: IntervalInputs) -> TaskScore:
    counts = inputs.counts.get(name)
    calls = counts.calls if counts is not None else 0
    rows = {row.slug: row for row in inputs.shape.tasks[name].rows}
    metrics = {
        slug: _metric(name, rows[slug], metric, inputs) for slug, metric in task.metrics.items()
    }
    subscores = {
        part: _part(name, part, sub, calls, inputs) for part, sub in task.subscores.items()
    }
    gated = _interval(inputs, ("task", name), calls)
    cell: IntervalFields = {}
    if task.score is not None:
        cell = {**_cell(gated, calls), "claim95": inputs.claims.get(("task", name))}
    if task.ungated_score is not None:
        key = ("ungated", name)
        ungated = _limits(_interval(inputs, key, calls))
        cell = {**cell, "ungated_ci95": ungated, "ungated_claim95": inputs.claims.get(key)}
    if task.zeroed_score is not None:
        zeroed = _limits(_interval(inputs, ("zeroed", name), calls))
        cell = {**cell, "zeroed_ci95": zeroed, "few_calls": calls < FEW_CALLS}
    return msgspec.structs.replace(task, metrics=metrics, subscores=subscores, calls=calls, **cell)


def _part(task: str, name: str, part: SubScore, calls: int, inputs: IntervalInputs) -> SubScore:
    if part.score is None:
        return part
    key = ("part", task, name)
    cell = _cell(_interval(inputs, key, min(calls, part.n)), part.n)
    return msgspec.structs.replace(part, claim95=inputs.claims.get(key), **cell)


def _limits(bounds: IntervalEstimate | None) -> tuple[float, float] | None:
    return (bounds.low, bounds.high) if bounds is not None else None


def _metric(
    task: str, row: MetricShape, metric: MetricScore, inputs: IntervalInputs
) -> MetricScore:
    counts = inputs.counts.get(task)
    if metric.value is None or counts is None:
        return msgspec.structs.replace(metric, ci95=None)
    calls = counts.with_value[row.slug]
    if row.kind == "pooled" and not inputs.specs[row.slug].resampled:
        return _rate(task, row, metric, inputs)
    reach = (0.0, 100.0) if row.percent else SHARE
    if row.kind == "count":
        reach = (0.0, metric.value + calls)  # as if one more call differed from all others
    bounds = _interval(inputs, ("row", row.slug), calls, reach)
    claim = inputs.claims.get(("row", row.slug))
    return msgspec.structs.replace(metric, claim95=claim, **{"ci95": None, **_cell(bounds, calls)})


def _rate(task: str, row: MetricShape, metric: MetricScore, inputs: IntervalInputs) -> MetricScore:
    """Add the interval of a pooled rate, and whether the data show that it meets its gate."""
    rates = inputs.counts[task].rates.get(row.slug)
    counts = rates.counts() if rates is not None else None
    if rates is None or counts is None:  # nothing to count in any call: the value is by definition
        return msgspec.structs.replace(metric, ci95=None)
    metric = msgspec.structs.replace(
        metric, ci95=None, claim95=inputs.claims.get(("row", row.slug))
    )
    metric = msgspec.structs.replace(metric, claim=_claim(rates, row, metric, inputs))
    if counts.calls < 2:
        return metric
    scale = 100.0 if row.percent else 1.0
    spread = bca_interval(inputs.found["row", row.slug], counts.calls)
    if spread is not None:
        spread = IntervalEstimate(spread.low / scale, spread.high / scale, spread.method)
    low, high, method = rate_interval(counts, spread)
    bounds = IntervalEstimate(scale * low, scale * high, method)
    return msgspec.structs.replace(metric, **_cell(bounds, counts.calls))


def _claim(
    rates: CallRates, row: MetricShape, metric: MetricScore, inputs: IntervalInputs
) -> GateClaim | None:
    """Whether the claim limit of a rate meets its gate        STATS §2"""
    gate, limits = inputs.specs[row.slug].gate, metric.claim95
    if gate is None or limits is None or metric.gate_value is None:
        return None
    if gate.is_breached(metric.gate_value):
        return None
    is_floor = gate.comparison in ("<", "<=")
    bound = limits[0] if is_floor else limits[1]
    holds = not gate.is_breached(bound)
    counts = rates.counts(complement=is_floor)
    if counts is None:
        return None
    share = gate.limit / (100.0 if row.percent else 1.0)
    needed = calls_needed(counts, 1 - share if is_floor else share)
    if not holds:
        needed = max(needed, counts.calls + 1)
    return GateClaim(holds, gate.limit, bound, counts.calls, counts.calls_with_events, needed)


def _benchmarks(benchmarks: BenchmarkScore, inputs: IntervalInputs) -> BenchmarkScore:
    criteria = {}
    for slug, criterion in benchmarks.criteria.items():
        if criterion.value is not None:
            reach = (0.0, 100.0) if criterion.unit == "percent" else SHARE
            calls = min(criterion.n, calls_of(inputs))
            bounds = _interval(inputs, ("criterion", slug), calls, reach)
            criterion = msgspec.structs.replace(criterion, **_cell(bounds, calls))
        criteria[slug] = criterion
    cell: IntervalFields = {}
    if benchmarks.score is not None:
        cases = [criterion.n for criterion in criteria.values() if criterion.value is not None]
        calls = min(*cases, calls_of(inputs))
        cell = _cell(_interval(inputs, ("benchmarks",), calls), calls)
    return msgspec.structs.replace(benchmarks, criteria=criteria, **cell)


def _final(final: FinalScore, inputs: IntervalInputs, calls: int) -> FinalScore:
    cell: IntervalFields = {}
    if final.score is not None:
        bounds = _interval(inputs, ("final",), calls)
        cell = {**_cell(bounds, calls), "claim95": inputs.claims.get(("final",))}
    if final.zeroed_final is not None:
        zeroed = _limits(_interval(inputs, ("zeroed",), calls or calls_of(inputs)))
        cell = {**cell, "zeroed_ci95": zeroed, "few_calls": calls < FEW_CALLS}
    return msgspec.structs.replace(final, calls=calls, **cell)


def fill_ranking_line(line: RankingLine, inputs: IntervalInputs, final: FinalScore) -> RankingLine:
    """Add the intervals to a line of the ranking."""
    cell: dict[str, Any] = {"few_calls": final.few_calls}
    if line.efficiency is not None:
        cell["efficiency_ci95"] = _efficiency(line.efficiency, inputs, final)
    for name in ("rank", "quality_rank"):
        if getattr(line, name) is not None and final.calls > 1:
            cell[f"{name}_ci95"] = rank_interval(inputs.found[name,])
    return msgspec.structs.replace(line, **cell)


def _efficiency(
    efficiency: float, inputs: IntervalInputs, final: FinalScore
) -> tuple[float, float] | None:
    """BCa over calls; if nothing varies, the limits of the Final Score at the same cost."""
    if final.calls < 2:
        return None
    bounds = bca_interval(inputs.found["efficiency",], final.calls)
    if bounds is None or bounds.method != "all_equal":
        return _limits(bounds)
    if final.ci95 is None or not final.score:
        return None
    return efficiency * final.ci95[0] / final.score, efficiency * final.ci95[1] / final.score
