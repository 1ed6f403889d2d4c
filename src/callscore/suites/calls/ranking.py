"""Cost per 1000 calls, cost-adjusted rank, quality rank, Pareto front (C-83 … C-86)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.rating import TOLERANCE
from callscore.core.scorecard import Cost, ModelScore, Ranked
from callscore.suites.calls.spec import load
from callscore.suites.calls.tally import TaskTally


def cost_of(
    tallies: Mapping[str, TaskTally], weights: Mapping[str, float], given: float | None = None
) -> Cost:
    """1000 × spend / calls, the tasks' means weighted like the Final Score        C-83"""
    calls = sum(tally.calls for tally in tallies.values())
    priced = all(not tally.unpriced for tally in tallies.values()) and calls > 0
    total = math.fsum(tally.spend for tally in tallies.values())
    if given is not None:
        return Cost("given" if given else "zero", "USD", given, total if priced else None, calls)
    if not priced:
        return Cost("unknown", "USD", None, None, calls)
    per_call = {task: tally.spend / tally.calls for task, tally in tallies.items() if tally.calls}
    shares = {task: weights.get(task, 0.0) for task in per_call}
    if not any(shares.values()):
        shares = {task: tallies[task].calls for task in per_call}
    spend = math.fsum(shares[task] * per_call[task] for task in per_call)
    mean = spend / math.fsum(shares.values())
    return Cost("known" if mean else "zero", "USD", 1000 * mean, total, calls)


class _Entry(msgspec.Struct):
    """A model on its way into the ranking."""

    model: str
    score: float
    cost: float | None
    cost_status: str
    estimate: bool
    option: str
    reason: str | None = None
    """Why it has no rank, where it has none."""
    normalised: float | None = None
    efficiency: float | None = None
    rank: int | None = None
    quality_rank: int | None = None
    pareto: bool = False


def rank(models: Sequence[ModelScore]) -> list[Ranked]:
    """Cost Efficiency = Final Score / normalised cost, descending        003, C-84 … C-86

    Official results are ranked first, estimates among themselves after them (C-125), models
    without a Final Score last, each with its reason.
    """
    official: list[_Entry] = []
    estimates: list[_Entry] = []
    unranked: list[Ranked] = []
    for model in models:
        if model.final.score is None:
            unranked.append(_unranked(model))
        else:
            entry = _entry(model)
            (estimates if entry.estimate else official).append(entry)
    for group in (official, estimates):
        _rank_group(group)
    ranked = [_ranked(entry) for group in (official, estimates) for entry in group]
    return ranked + sorted(unranked, key=lambda entry: entry.model)


def _entry(model: ModelScore) -> _Entry:
    score = model.final.score
    assert score is not None  # callers rank models that have one
    cost = model.cost
    return _Entry(
        model=model.model,
        score=score,
        cost=cost.per_1000_calls,
        cost_status=cost.status,
        estimate=not model.final.official,
        option=model.final.option,
    )


def _rank_group(group: list[_Entry]) -> None:
    comparable = _of_one_option(group)
    positive = [entry.cost for entry in comparable if entry.cost]
    cheapest = min(positive, default=None)
    for entry in comparable:
        if entry.cost is None:
            entry.reason = "the cost is unknown"
        if entry.cost and cheapest is not None:
            entry.normalised = entry.cost / cheapest
            entry.efficiency = entry.score / entry.normalised
    _give_ranks([entry for entry in comparable if entry.cost is not None])
    _give_quality_ranks(comparable)
    group.sort(key=lambda e: (e.rank is None, e.rank or 0, -e.score, e.model))


def _of_one_option(group: Sequence[_Entry]) -> list[_Entry]:
    """Those with option A, where any has it; the others cannot be ranked with them        C-79"""
    best = min((entry.option for entry in group), default="")
    for entry in group:
        if entry.option != best:
            entry.reason = (
                f"its Final Score is of option {entry.option}, that of others of option {best}"
            )
    return [entry for entry in group if entry.option == best]


def _give_ranks(priced: list[_Entry]) -> None:
    """1, 2, 2, 4: free models first by score, then by efficiency; equals share (C-85, C-86)."""
    free = sorted((e for e in priced if not e.cost), key=lambda e: -e.score)
    paid = sorted((e for e in priced if e.cost), key=lambda e: -(e.efficiency or 0.0))
    place = 0
    for tier in (free, paid):
        previous: float | None = None
        shared = place
        for entry in tier:
            place += 1
            key = entry.score if entry.efficiency is None else entry.efficiency
            if previous is None or previous - key > TOLERANCE:
                shared = place
            entry.rank, previous = shared, key


def _give_quality_ranks(group: list[_Entry]) -> None:
    for entry in group:
        entry.quality_rank = 1 + sum(other.score - entry.score > TOLERANCE for other in group)
        entry.pareto = entry.cost is not None and not any(
            _dominates(other, entry) for other in group if other.cost is not None
        )


def _dominates(one: _Entry, other: _Entry) -> bool:
    """At least as good and as cheap, and better in one of them."""
    assert one.cost is not None and other.cost is not None  # only priced models are compared
    better, cheaper = one.score - other.score, other.cost - one.cost
    return (
        better >= -TOLERANCE
        and cheaper >= -TOLERANCE
        and (better > TOLERANCE or cheaper > TOLERANCE)
    )


def _ranked(entry: _Entry) -> Ranked:
    return Ranked(
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


def _unranked(model: ModelScore) -> Ranked:
    labels = {task: score.label for task, score in load().scores.items()}
    culprits = ", ".join(labels.get(name, name) for name in model.final.reasons)
    return Ranked(
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
        reason=f"Final Score {model.final.status}: {culprits}",
    )
