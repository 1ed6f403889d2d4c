"""Cost per 1000 calls, cost-adjusted rank, quality rank, Pareto front (C-83 … C-86)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.measure import Interval
from callscore.core.scorecard import (
    Blocker,
    Cost,
    CostStatus,
    ModelScore,
    RankingLine,
    ZeroedRankingLine,
)
from callscore.core.spec import TOLERANCE, Spec
from callscore.scorecard.final import BENCHMARKS
from callscore.scorecard.tally import TaskTally

ROWS_NAMED = 2
"""Rows without a value that a sentence names."""


def model_cost(
    tallies: Mapping[str, TaskTally],
    workload: Mapping[str, float] | None = None,
    stated_per_1000: float | None = None,
) -> Cost:
    """1000 × Σ over tasks of (share of calls that need it × spend / requests)        C-83

    `stated_per_1000` is the cost in the eval file, if it has one; it replaces the formula.
    """
    calls = sum(tally.calls for tally in tallies.values())
    priced = all(not tally.unpriced for tally in tallies.values()) and calls > 0
    total = math.fsum(tally.spend for tally in tallies.values()) if priced else None
    answered = {task: tally for task, tally in tallies.items() if tally.calls}
    shares = {task: (workload or {}).get(task, 1.0) for task in answered}
    per_1000_requests = {
        task: None if tally.unpriced else 1000 * tally.spend / tally.calls
        for task, tally in answered.items()
    }

    def cost(status: CostStatus, per_1000: float | None) -> Cost:
        return Cost(status, "USD", per_1000, total, calls, per_1000_requests, shares)

    if stated_per_1000 is not None:
        return cost("given" if stated_per_1000 else "zero", stated_per_1000)
    if not priced:
        return cost("unknown", None)
    per_1000 = math.fsum(shares[task] * (per_1000_requests[task] or 0.0) for task in answered)
    return cost("known" if per_1000 else "zero", per_1000)


class CostAtVolume(NamedTuple):
    """What a number of calls costs."""

    value: float
    ci95: Interval | None


def cost_at_volume(cost: Cost, calls: float) -> CostAtVolume | None:
    """per_1000_calls × calls / 1000, as its interval; None if the cost is unknown        C-83"""
    if cost.per_1000_calls is None:
        return None
    thousands = calls / 1000
    limits = None
    if cost.ci95 is not None:
        limits = (thousands * cost.ci95[0], thousands * cost.ci95[1])
    return CostAtVolume(thousands * cost.per_1000_calls, limits)


class _RankEntry(msgspec.Struct):
    """A model with a Final Score, and its ranks as they are computed."""

    model: str
    score: float
    cost: float | None
    cost_status: str
    estimate: bool
    option: str
    reason: str | None = None
    """Why it has no rank, if it has none."""
    normalised: float | None = None
    efficiency: float | None = None
    rank: int | None = None
    quality_rank: int | None = None
    pareto: bool = False


def rank(models: Sequence[ModelScore], spec: Spec) -> list[RankingLine]:
    """Cost Efficiency = Final Score / normalised cost, descending        003, C-84 … C-86

    Official results come first, then estimates, ranked among themselves (C-125), then models
    without a Final Score, each with its reason.
    """
    official: list[_RankEntry] = []
    estimates: list[_RankEntry] = []
    unranked: list[RankingLine] = []
    for model in models:
        if model.final.score is None:
            unranked.append(_unranked_line(model, spec))
        else:
            entry = _rank_entry(model)
            (estimates if entry.estimate else official).append(entry)
    for group in (official, estimates):
        _rank_group(group)
    ranked = [_ranking_line(entry) for group in (official, estimates) for entry in group]
    return ranked + sorted(unranked, key=lambda line: line.model)


def _rank_entry(model: ModelScore) -> _RankEntry:
    score = model.final.score
    assert score is not None  # checked by the caller
    cost = model.cost
    return _RankEntry(
        model=model.model,
        score=score,
        cost=cost.per_1000_calls,
        cost_status=cost.status,
        estimate=not model.final.official,
        option=model.final.option,
    )


def _rank_group(group: list[_RankEntry]) -> None:
    """Rank the entries among themselves and sort them; an entry without a rank gets a reason."""
    comparable = _comparable_entries(group)
    positive = [entry.cost for entry in comparable if entry.cost]
    cheapest = min(positive, default=None)
    for entry in comparable:
        if entry.cost is None:
            entry.reason = "the cost is unknown"
        if entry.cost and cheapest is not None:
            entry.normalised = entry.cost / cheapest
            entry.efficiency = entry.score / entry.normalised
    _assign_ranks([entry for entry in comparable if entry.cost is not None])
    _assign_quality_ranks(comparable)
    group.sort(key=lambda e: (e.rank is None, e.rank or 0, -e.score, e.model))


def _comparable_entries(group: Sequence[_RankEntry]) -> list[_RankEntry]:
    """The models with option A, if any; each of the others gets a reason        C-79"""
    best = min((entry.option for entry in group), default="")
    for entry in group:
        if entry.option != best:
            entry.reason = (
                f"its Final Score is of option {entry.option}, that of others of option {best}"
            )
    return [entry for entry in group if entry.option == best]


def _assign_ranks(priced: list[_RankEntry]) -> None:
    """Rank free models by score, then paid ones by efficiency, as 1, 2, 2, 4        C-85, C-86"""
    free = sorted((e for e in priced if not e.cost), key=lambda e: -e.score)
    paid = sorted((e for e in priced if e.cost), key=lambda e: -(e.efficiency or 0.0))
    position = shared_rank = 0
    for tier in (free, paid):
        previous: float | None = None
        for entry in tier:
            position += 1
            key = entry.score if entry.efficiency is None else entry.efficiency
            if previous is None or previous - key > TOLERANCE:
                shared_rank = position
            entry.rank, previous = shared_rank, key


def _assign_quality_ranks(group: list[_RankEntry]) -> None:
    """Rank by score alone, and mark the models that no other dominates        C-86"""
    for entry in group:
        entry.quality_rank = 1 + sum(other.score - entry.score > TOLERANCE for other in group)
        entry.pareto = entry.cost is not None and not any(
            _dominates(other, entry) for other in group if other.cost is not None
        )


def _dominates(one: _RankEntry, other: _RankEntry) -> bool:
    """At least as good and as cheap, and better in one of them."""
    assert one.cost is not None and other.cost is not None  # only priced models are compared
    better, cheaper = one.score - other.score, other.cost - one.cost
    return (
        better >= -TOLERANCE
        and cheaper >= -TOLERANCE
        and (better > TOLERANCE or cheaper > TOLERANCE)
    )


def _ranking_line(entry: _RankEntry) -> RankingLine:
    return RankingLine(
        model=entry.model,
        rank=entry.rank,
        efficiency=entry.efficiency,
        final_score=entry.score,
        cost_per_1000_calls=entry.cost,
        normalised_cost=entry.normalised,
        cost_status=entry.cost_status,
        quality_rank=entry.quality_rank,
        pareto=entry.pareto,
        estimate=entry.estimate,
        reason=entry.reason,
    )


def _unranked_line(model: ModelScore, spec: Spec) -> RankingLine:
    return RankingLine(
        model=model.model,
        rank=None,
        efficiency=None,
        final_score=None,
        cost_per_1000_calls=model.cost.per_1000_calls,
        normalised_cost=None,
        cost_status=model.cost.status,
        quality_rank=None,
        pareto=False,
        estimate=False,
        reason=_why_no_final(model, spec),
    )


def _why_no_final(model: ModelScore, spec: Spec) -> str:
    """Why there is no Final Score, and how to get one if only answers are missing        C-82"""
    final = model.final
    if final.status == "not_run":
        return "Final Score not run: no task of the data has a weight in it"
    if final.status == "invalid":
        return f"Final Score invalid: {_task_labels(spec, final.reasons)}"
    whys = [_why_open(model, name, spec) for name in final.reasons]
    sentence = f"Final Score {final.status}: {', '.join(whys)}"
    missing = {name for name in final.reasons if _has_no_answers(model, name)}
    answered = [name for name in final.over if name not in final.reasons]
    if missing != set(final.reasons) or not answered:
        return sentence
    weights = ",".join(
        f"{task}={share:g}" for task, share in _rounded_weights(answered, final.weights).items()
    )
    return f"{sentence}; --weights {weights} gives one over {_task_labels(spec, answered)}"


def _has_no_answers(model: ModelScore, name: str) -> bool:
    return name not in model.tasks or model.tasks[name].n == 0


def _why_open(model: ModelScore, name: str, spec: Spec) -> str:
    """What a part of the Final Score lacks: answers, verdicts, benchmarks        C-82"""
    if name == BENCHMARKS:
        return f"the benchmarks are {model.benchmarks.status.replace('_', ' ')}"
    label = _task_labels(spec, [name])
    task = model.tasks.get(name)
    if task is None or task.n == 0:
        return f"{label} has no answers"
    if task.n < task.cases:
        return f"{label} has answers to {task.n} of {task.cases} cases"
    if not task.reasons:
        return f"{label} is {task.status}"
    rows = "1 row" if len(task.reasons) == 1 else f"{len(task.reasons)} rows"
    named = [spec.metrics[slug].label for slug in task.reasons if slug in spec.metrics]
    more = len(task.reasons) - ROWS_NAMED
    names = ", ".join([*named[:ROWS_NAMED], *([f"{more} more"] if more > 0 else [])])
    return f"{label} has {rows} without a value{f' ({names})' if named else ''}"


def _task_labels(spec: Spec, tasks: Sequence[str]) -> str:
    return ", ".join(spec.scores[name].label if name in spec.scores else name for name in tasks)


def _rounded_weights(tasks: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of some tasks as shares of their sum, in whole per cents that add up to 1."""
    total = math.fsum(weights.get(task, 0.0) for task in tasks) or 1.0
    shares = {task: round(100 * weights.get(task, 0.0) / total) for task in tasks}
    shares[tasks[-1]] += 100 - sum(shares.values())
    return {task: share / 100 for task, share in shares.items()}


def rank_zeroed(models: Sequence[ModelScore], spec: Spec) -> list[ZeroedRankingLine]:
    """By `zeroed_final`, descending; empty if no model is invalid        C-129

    It shows which model is closest and why it fails. No gate, official rank or exit code uses it.
    """
    if not any(model.final.status == "invalid" for model in models):
        return []
    ordered = sorted(models, key=lambda model: (-_zeroed_final(model), model.model))
    return [_zeroed_line(model, ordered, spec) for model in ordered]


def _zeroed_final(model: ModelScore) -> float:
    return -math.inf if model.final.zeroed_final is None else model.final.zeroed_final


def _zeroed_line(model: ModelScore, models: Sequence[ModelScore], spec: Spec) -> ZeroedRankingLine:
    score = model.final.zeroed_final
    better = sum(_zeroed_final(other) - _zeroed_final(model) > TOLERANCE for other in models)
    return ZeroedRankingLine(
        model=model.model,
        rank=None if score is None else 1 + better,
        zeroed_final=score,
        cost_per_1000_calls=model.cost.per_1000_calls,
        tasks=model.final.zeroed_tasks,
        estimate=any(
            metric.approximate
            for task in model.final.zeroed_tasks
            if task in model.tasks
            for metric in model.tasks[task].metrics.values()
        ),
        obstacles=_obstacles(model, spec),
    )


def _obstacles(model: ModelScore, spec: Spec) -> list[str]:
    """What prevents an official score: the blockers, then the unfinished tasks."""
    blockers = [_obstacle(blocker, model, spec) for blocker in model.blockers if blocker.gating]
    return blockers + [
        f"{_task_labels(spec, [name])} is {score.status}"
        for name, score in model.tasks.items()
        if score.status not in ("valid", "invalid")
    ]


def _obstacle(blocker: Blocker, model: ModelScore, spec: Spec) -> str:
    """One blocker as text: calls in breach of a call gate, or a rate and its limit."""
    metric, score = spec.metrics[blocker.metric], spec.scores[blocker.task]
    assert metric.gate is not None  # only gates block
    if metric.gate.kind == "call":
        calls = model.tasks[blocker.task].n
        return f"{score.label}: {metric.label}, {len(blocker.cases)} of {calls} calls"
    percent = " %" if metric.unit == "percent" else ""
    side = "above" if metric.gate.comparison == ">" else "below"
    return f"{score.label}: {metric.label} {blocker.value:.4g}{percent}, {side} {blocker.limit:g}"
