"""How many calls a decision takes, from a pilot run or from assumptions        STATS §3"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from callscore.comparison.rows import FINAL, joint_shape, paired
from callscore.comparison.sides import Competitor, Loaded, competitor
from callscore.core.errors import UsageError
from callscore.core.plan import Plan, PlanLine
from callscore.core.scorecard import ModelScore
from callscore.report.safe_text import plain
from callscore.stats.call_counts import calls_in, rate_counts
from callscore.stats.contributions import ModelShape
from callscore.stats.matrix import Place, call_matrix, units_of
from callscore.stats.power import (
    POWER,
    calls_for_difference,
    calls_for_limit,
    calls_for_width,
    influence_deviation,
)
from callscore.stats.resampling import summable
from callscore.stats.weighted_scores import Key, scores

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

ALL_CALLS = 1 << 40
MOST_PAIRS = 10
NO_SPREAD = "no call differs in the pilot"


class Wishes(msgspec.Struct, frozen=True):
    """The goal of a plan, and what is assumed without a pilot run."""

    difference: float = 0.02
    width: float = 0.04
    power: float = POWER
    deviation: float | None = None
    """Of a call's difference between two models."""
    limit: float | None = None
    """Of a rate, as a share."""
    rate: float = 0.0
    items: float = 1.0
    """The number per call of what the rate counts."""
    cost_per_1000: float | None = None
    """US dollars of 1000 calls, all models together."""


def plan_from_assumptions(wishes: Wishes) -> Plan:
    """Calls for what the wishes name, without a pilot."""
    lines = []
    price = None if wishes.cost_per_1000 is None else wishes.cost_per_1000 / 1000
    if wishes.deviation is not None:
        lines.append(_priced(_difference(wishes, (), wishes.deviation), price))
        lines.append(_priced(_width(wishes, "a model", wishes.deviation), price))
    if wishes.limit is not None:
        calls = calls_for_limit(wishes.limit, wishes.rate, wishes.items)
        question = f"show that a rate of {wishes.rate:.3g} is at most {wishes.limit:g}"
        line = PlanLine("gate", question, "rate", [], wishes.limit, calls)
        lines.append(_priced(line, price, "" if calls else "the rate is not below the limit"))
    if not lines:
        raise UsageError(
            "expected a pilot run, or what to assume: --deviation (for a difference or a width), "
            "--limit (for a gate)"
        )
    return Plan("assumptions", wishes.power, 0, lines)


def plan_from_pilot(loaded: Loaded, wishes: Wishes) -> Plan:
    """Calls for every pair of models, every Final Score and every rate gate of a pilot."""
    models = [competitor(loaded, model.model) for model in loaded.card.models]
    known = [model for model in models if model.contributions]
    if not known:
        raise UsageError(f"{loaded.label}: {loaded.notes[0] if loaded.notes else 'has no calls'}")
    lines = [
        *(line for pair in _pairs(known) for line in _of_pair(*pair, wishes)),
        *(line for model in known for line in _of_final(model, wishes)),
        *(line for model in known for line in _of_gates(model)),
    ]
    calls = max(line.have for line in lines) if lines else 0
    notes = list(loaded.notes)
    if any(model.score.cost.per_1000_calls is None for model in known):
        notes.append("cost: the price of a model is unknown; name it in the eval file (`price`)")
    return Plan(loaded.label, wishes.power, calls, lines, notes)


def _pairs(models: Sequence[Competitor]) -> Sequence[tuple[Competitor, Competitor]]:
    """Pairs of models, those of the best first."""
    ordered = sorted(models, key=lambda model: -(model.score.final.zeroed_final or 0.0))
    return list(combinations(ordered, 2))[:MOST_PAIRS]


def _of_pair(first: Competitor, second: Competitor, wishes: Wishes) -> Iterator[PlanLine]:
    assert first.contributions is not None
    assert second.contributions is not None
    shape = joint_shape(
        first.shape, second.shape, has_counts=first.has_counts and second.has_counts
    )
    pair = paired(first.contributions, second.contributions, shape)
    names = (first.score.model, second.score.model)
    price = _price([first.score, second.score])
    found = [_with_each_left_out(shape, m.place, m.sums) for m in (pair.first, pair.second)]
    if pair.calls < 2 or FINAL not in found[0]:
        return
    values, jackknife = (found[1][FINAL][at] - found[0][FINAL][at] for at in (0, 1))
    gap, deviation = abs(float(values[0])), influence_deviation(jackknife, pair.calls)
    if not math.isfinite(gap):
        return
    line = _difference(wishes, names, deviation)
    yield _priced(msgspec.structs.replace(line, have=pair.calls), price)
    calls = calls_for_difference(gap, deviation, wishes.power)
    question = f"tell {_listed(names)} apart if they differ by {gap:.3f}, as they do here"
    seen = PlanLine("seen_difference", question, "final", names, gap, calls, have=pair.calls)
    why = "" if calls is not None else "they do not differ, or by too little for any number"
    yield _priced(seen, price, why)


def _with_each_left_out(
    shape: ModelShape, place: Mapping[Place, int], sums: Floats
) -> dict[Key, tuple[Floats, Floats]]:
    """Every score on all calls, and without each of them in turn."""
    exact = summable(sums)
    whole = exact.sum(axis=1, keepdims=True)
    of_all, without = scores(shape, place, whole), scores(shape, place, whole - exact)
    return {key: (of_all[key], without[key]) for key in of_all}


def _difference(wishes: Wishes, models: Sequence[str], deviation: float) -> PlanLine:
    calls = calls_for_difference(wishes.difference, deviation, wishes.power)
    who = _listed(models) if models else "two models"
    question = f"tell {who} apart if they differ by {wishes.difference:g}"
    return PlanLine("difference", question, "final", models, wishes.difference, calls)


def _width(wishes: Wishes, name: str, deviation: float) -> PlanLine:
    calls = calls_for_width(deviation, wishes.width) if deviation else None
    question = f"know the Final Score of {name} to within an interval of {wishes.width:g}"
    return PlanLine("width", question, "final", [], wishes.width, calls)


def _of_final(model: Competitor, wishes: Wishes) -> Iterator[PlanLine]:
    assert model.contributions is not None
    units = units_of([model.contributions], most=ALL_CALLS)
    matrix = call_matrix(model.contributions, model.shape, units)
    found = _with_each_left_out(model.shape, matrix.place, matrix.sums)
    if FINAL not in found or units.size < 2:
        return
    deviation = influence_deviation(found[FINAL][1], units.size)
    line = _width(wishes, plain(model.score.model, 40), deviation)
    line = msgspec.structs.replace(line, models=[model.score.model], have=units.size)
    yield _priced(line, _price([model.score]))


def _of_gates(model: Competitor) -> Iterator[PlanLine]:
    """Calls that demonstrate every official rate gate, at the rate seen        STATS §2"""
    assert model.contributions is not None
    if not model.has_counts:
        return
    for gate in model.rate_gates:
        task = model.contributions.get(gate.slug.partition(".")[0])
        counts = None
        if task is not None:
            counts = rate_counts(task, gate.slug, complement=gate.is_floor)
        if task is None or counts is None:
            continue
        have = calls_in(task)
        limit = 1 - gate.limit if gate.is_floor else gate.limit / 100
        rate = counts.events / counts.items
        items = counts.items / have if rate else counts.calls / have
        calls = calls_for_limit(limit, rate, items, counts.design_effect)
        word = "at least" if gate.is_floor else "at most"
        unit = "" if gate.is_floor else " %"
        name = plain(model.score.model, 40)
        question = f"show that {gate.label} of {name} is {word} {gate.limit:g}{unit}"
        line = PlanLine("gate", question, gate.slug, [model.score.model], gate.limit, calls)
        line = msgspec.structs.replace(line, have=have)
        yield _priced(line, _price([model.score]), "" if calls else "it is not, at the rate seen")


def _priced(line: PlanLine, price: float | None, why: str = "") -> PlanLine:
    """The line with what its calls cost, and why it has none."""
    why = why or ("" if line.calls is not None else NO_SPREAD)
    cost = None if price is None or line.calls is None else price * line.calls
    return msgspec.structs.replace(line, cost_usd=cost, why=why)


def _price(models: Sequence[ModelScore]) -> float | None:
    """Dollars of one call through all tasks, these models together; None if one is unknown"""
    prices = [model.cost.per_1000_calls for model in models]
    if any(price is None for price in prices):
        return None
    return math.fsum(price for price in prices if price is not None) / 1000


def _listed(names: Sequence[str]) -> str:
    return " and ".join(plain(name, 40) for name in names)
