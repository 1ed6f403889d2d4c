"""Final Score, cost and rank in fractions (C-79 … C-86)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from exact_twin.exact import TOLERANCE
from exact_twin.framework import OPTION_B
from exact_twin.scoring import Column, weighted


class Final(NamedTuple):
    """The Final Score of one model, option B."""

    status: str
    score: Fraction | None
    floor: Fraction | None
    zeroed: Fraction | None
    is_official: bool
    reasons: list[str]


def final(columns: Mapping[str, Column]) -> Final:
    """Σ weight × task score; with an invalid task only a lower bound (C-81, C-82)."""
    statuses = {task: columns[task].status if task in columns else "not_run" for task in OPTION_B}
    scores = {task: column.score for task, column in columns.items()}
    zeroed = weighted(
        OPTION_B,
        {task: c.zeroed if c.status == "invalid" else c.score for task, c in columns.items()},
    )
    invalid = [task for task, status in statuses.items() if status == "invalid"]
    unready = [task for task, status in statuses.items() if status != "valid"]
    if invalid:
        lowest = {task: Fraction(0) if task in invalid else scores.get(task) for task in OPTION_B}
        return Final("invalid", None, weighted(OPTION_B, lowest), zeroed, False, invalid)
    if unready:
        all_errors = all(statuses[task] == "error" for task in unready)
        return Final("error" if all_errors else "incomplete", None, None, zeroed, False, unready)
    is_official = all(column.is_official for column in columns.values())
    return Final("valid", weighted(OPTION_B, scores), None, zeroed, is_official, [])


def cost(spend: Mapping[str, Sequence[Fraction | None]]) -> Fraction | None:
    """1000 × the cost of a telephone call with all its tasks (C-83); None if unknown."""
    paid = {task: prices for task, prices in spend.items() if prices}
    if not paid or any(price is None for prices in paid.values() for price in prices):
        return None
    means = {
        task: sum((p or Fraction(0) for p in ps), Fraction(0)) / len(ps)
        for task, ps in paid.items()
    }
    return 1000 * sum(means.values(), Fraction(0))


class Entry(NamedTuple):
    """A model to be ranked."""

    model: str
    score: Fraction
    cost: Fraction | None
    is_estimate: bool


class RankedModel(NamedTuple):
    """A model with its rank; None if its cost is unknown."""

    model: str
    rank: int | None
    efficiency: Fraction | None
    quality_rank: int
    pareto: bool


def rank_models(entries: Sequence[Entry]) -> list[RankedModel]:
    """Rank official results first, then estimates among themselves (C-125)."""
    ranked: list[RankedModel] = []
    for is_estimate in (False, True):
        group = [entry for entry in entries if entry.is_estimate == is_estimate]
        found = [_rank_model(entry, group) for entry in group]
        scores = {entry.model: entry.score for entry in group}
        found.sort(key=lambda p: (p.rank is None, p.rank or 0, -scores[p.model], p.model))
        ranked += found
    return ranked


def _rank_model(entry: Entry, group: Sequence[Entry]) -> RankedModel:
    ahead = sum(_is_ahead(other, entry, group) for other in group)
    quality = 1 + sum(other.score > entry.score + TOLERANCE for other in group)
    dominated = any(_dominates(other, entry) for other in group)
    return RankedModel(
        entry.model,
        None if entry.cost is None else 1 + ahead,
        _efficiency(entry, group),
        quality,
        entry.cost is not None and not dominated,
    )


def _efficiency(entry: Entry, group: Sequence[Entry]) -> Fraction | None:
    if not entry.cost:
        return None
    cheapest = min(other.cost for other in group if other.cost)
    return entry.score / (entry.cost / cheapest)


def _is_ahead(one: Entry, other: Entry, group: Sequence[Entry]) -> bool:
    """Free models come first, ordered by score; the others are ordered by efficiency."""
    if one.cost is None or other.cost is None:
        return False
    if (one.cost == 0) != (other.cost == 0):
        return one.cost == 0
    if one.cost == 0:
        return one.score > other.score + TOLERANCE
    first, second = _efficiency(one, group), _efficiency(other, group)
    return first is not None and second is not None and first > second + TOLERANCE


def _dominates(one: Entry, other: Entry) -> bool:
    if one.cost is None or other.cost is None:
        return False
    better, cheaper = one.score - other.score, other.cost - one.cost
    is_no_worse = better >= -TOLERANCE and cheaper >= -TOLERANCE
    return is_no_worse and (better > TOLERANCE or cheaper > TOLERANCE)
