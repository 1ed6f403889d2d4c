"""Sample sizes: calls needed for a decision, from a pilot run or from assumptions    STATS §3"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from callscore.comparison.inputs import ComparisonInput, Competitor, select_model
from callscore.comparison.row_differences import (
    FINAL,
    count_discordant,
    joint_shape,
    pair_models,
    shapes_by_unit,
)
from callscore.core.comparison import Plan, PlanLine
from callscore.core.errors import UsageError
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.report.decision_statements import MAY_BE_EQUAL, few_pairs, sampled_unit
from callscore.report.names import origins_of
from callscore.report.safe_text import plain
from callscore.stats.contributions import ModelShape
from callscore.stats.matrix import ALL_CALLS, ColumnKey, call_matrix, make_units
from callscore.stats.power import (
    ALPHA,
    LEAST_PAIRS,
    NORMAL,
    POWER,
    PilotRate,
    Spread,
    alpha_per_pair,
    calls_for_difference,
    calls_for_limit,
    calls_for_width,
    pilot_rate,
    spread_of,
)
from callscore.stats.rates import call_rates, count_calls
from callscore.stats.resampling import round_to_grid
from callscore.stats.weighted_scores import ScoreKey, scores

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats


MAX_PAIRS = 10
NO_SPREAD = "all calls of the pilot are equal"
LEFT_OPEN = "no number of calls reaches {:.0%}: the pilot leaves it open whether the gate holds"


class PlanGoals(msgspec.Struct, frozen=True):
    """The goals of a plan, and the assumptions if there is no pilot run."""

    difference: float = 0.02
    width: float = 0.04
    power: float = POWER
    deviation: float | None = None
    """Standard deviation of the difference between two models on one call."""
    limit: float | None = None
    """The limit of a rate, as a share."""
    rate: float = 0.0
    """The assumed rate, as a share."""
    items: float = 1.0
    """Items per call that the rate counts."""
    cost_per_1000: float | None = None
    """The cost of 1000 calls for all models, in US dollars."""
    models: int | None = None
    """How many models will be compared; those of the pilot, or 2, if not given."""


def plan_from_assumptions(goals: PlanGoals) -> Plan:
    """The calls needed for the goals, without a pilot run."""
    lines = []
    price = None if goals.cost_per_1000 is None else goals.cost_per_1000 / 1000
    models = goals.models or 2
    if goals.deviation is not None:
        spread = Spread(goals.deviation)
        lines.append(_with_cost(_difference_line(goals, (), spread, models), price))
        lines.append(_with_cost(_width_line(goals, "a model", spread), price))
    if goals.limit is not None:
        pilot = PilotRate(0.0, goals.items, 1, heaviest=max(1.0, goals.items))
        calls = calls_for_limit(goals.limit, pilot, goals.rate, goals.power)
        question = f"show that a rate of {goals.rate:.3g} is at most {goals.limit:g}"
        line = PlanLine("gate", question, "rate", [], goals.limit, calls)
        lines.append(_with_cost(line, price, "" if calls else "the rate is not below the limit"))
    if not lines:
        raise UsageError(
            "expected a pilot run, or assumptions: --deviation (for a difference or a width), "
            "--limit (for a gate)"
        )
    return Plan("assumptions", goals.power, 0, lines, models=models)


def plan_from_pilot(source: ComparisonInput, goals: PlanGoals) -> Plan:
    """The calls needed for every pair of models, Final Score and rate gate of a pilot run."""
    models = [select_model(source, model.model) for model in source.card.models]
    known = [model for model in models if model.contributions]
    if not known:
        raise UsageError(f"{source.label}: {source.notes[0] if source.notes else 'has no calls'}")
    compared = goals.models or max(2, len(known))
    lines = [
        *(line for pair in _pairs(known) for line in _plan_pair(*pair, goals, compared)),
        *(line for model in known for line in _plan_width(model, goals)),
        *(line for model in known for line in _plan_gates(model, goals)),
    ]
    calls = max(line.have for line in lines) if lines else 0
    notes = list(source.notes)
    if any(model.score.cost.per_1000_calls is None for model in known):
        notes.append("cost: the price of a model is unknown; set it in the eval file (`price`)")
    return Plan(
        basis=source.label,
        power=goals.power,
        calls=calls,
        lines=lines,
        notes=notes,
        decision=source.card.decision,
        origins=origins_of(source.card.models),
        models=compared,
        unit=sampled_unit(source.card),
    )


def _pairs(models: Sequence[Competitor]) -> Sequence[tuple[Competitor, Competitor]]:
    """The pairs of models, those of the best models first."""
    ordered = sorted(models, key=lambda model: -(model.score.final.zeroed_final or 0.0))
    return list(combinations(ordered, 2))[:MAX_PAIRS]


def _plan_pair(
    first: Competitor, second: Competitor, goals: PlanGoals, models: int
) -> Iterator[PlanLine]:
    """The calls that distinguish two models, for the named difference and for the pilot's."""
    assert first.contributions is not None
    assert second.contributions is not None
    shape, *_ = shapes_by_unit(
        joint_shape(first.shape, second.shape, uncounted=first.uncounted | second.uncounted)
    )
    pair = pair_models(first.contributions, second.contributions, shape)
    names = (first.score.model, second.score.model)
    price = _cost_per_call([first.score, second.score])
    jackknifed = [_leave_one_out(shape, m.place, m.dense().sums) for m in (pair.first, pair.second)]
    if pair.calls < 2 or FINAL not in jackknifed[0]:
        return
    values, jackknife = (jackknifed[1][FINAL][at] - jackknifed[0][FINAL][at] for at in (0, 1))
    gap, spread = abs(float(values[0])), spread_of(jackknife, pair.calls)
    if not math.isfinite(gap):
        return
    line = _difference_line(goals, names, spread, models)
    calls = calls_for_difference(gap, spread, goals.power, alpha_per_pair(models))
    question = f"distinguish {_join_names(names)} if they differ by {gap:.3f}, as in the pilot"
    observed = PlanLine("observed_difference", question, "final", names, gap, calls)
    shown, may_be_equal = _shown_by(first.card, names, gap, spread)
    differing, unit = count_discordant(pair, FINAL), sampled_unit(first.card)
    for one in (line, observed):
        why = ""
        if 0 < differing < LEAST_PAIRS:
            why = few_pairs(differing, unit)
        elif one is observed and (may_be_equal or not gap):
            why = MAY_BE_EQUAL.format(unit)
        elif one is observed and calls is None:
            why = f"every {unit} of the pilot differs by the same, so its spread is unknown"
        found = None if why else one.calls
        planned = msgspec.structs.replace(one, calls=found, have=pair.calls, shown=shown)
        yield _with_cost(planned, price, why)


def _shown_by(
    card: Scorecard, names: Sequence[str], gap: float, spread: Spread
) -> tuple[bool, bool]:
    """Whether the pilot distinguishes two models; whether they may be equal, as its interval says

    A card without intervals is read by the normal approximation.
    """
    for pair in card.contrasts:
        if pair.of != "efficiency" and {pair.first, pair.second} == set(names):
            return pair.significant, pair.ci95 is None or pair.ci95[0] <= 0 <= pair.ci95[1]
    error = NORMAL.inv_cdf(1 - ALPHA / 2) * spread.deviation / math.sqrt(max(1, spread.calls))
    return False, gap <= error


def _leave_one_out(
    shape: ModelShape, place: Mapping[ColumnKey, int], sums: Floats
) -> dict[ScoreKey, tuple[Floats, Floats]]:
    """Every score on all calls, and its jackknife values."""
    exact = round_to_grid(sums)
    whole = exact.sum(axis=1, keepdims=True)
    of_all, without = scores(shape, place, whole), scores(shape, place, whole - exact)
    return {key: (of_all[key], without[key]) for key in of_all}


def _difference_line(
    goals: PlanGoals, models: Sequence[str], spread: Spread, compared: int
) -> PlanLine:
    alpha = alpha_per_pair(compared)
    calls = calls_for_difference(goals.difference, spread, goals.power, alpha)
    who = _join_names(models) if models else "two models"
    question = f"distinguish {who} if they differ by {goals.difference:g}"
    return PlanLine("difference", question, "final", models, goals.difference, calls)


def _width_line(goals: PlanGoals, name: str, spread: Spread) -> PlanLine:
    calls = calls_for_width(spread, goals.width, goals.power)
    question = f"estimate the Final Score of {name} with an interval of {goals.width:g}"
    return PlanLine("width", question, "final", [], goals.width, calls)


def _plan_width(model: Competitor, goals: PlanGoals) -> Iterator[PlanLine]:
    assert model.contributions is not None
    shape, *_ = shapes_by_unit(model.shape)
    contributions = {task: of for task, of in model.contributions.items() if task in shape.tasks}
    units = make_units([contributions], most=ALL_CALLS)
    matrix = call_matrix(contributions, shape, units)
    jackknifed = _leave_one_out(shape, matrix.place, matrix.sums)
    if FINAL not in jackknifed or units.size < 2:
        return
    values = jackknifed[FINAL][1]
    if not all(map(math.isfinite, values)):
        return
    spread = spread_of(values, units.size)
    line = _width_line(goals, plain(model.score.model, 40), spread)
    final = model.score.final
    limits = final.ci95 or final.zeroed_ci95
    shown = limits is not None and limits[1] - limits[0] <= goals.width
    line = msgspec.structs.replace(line, models=[model.score.model], have=units.size, shown=shown)
    yield _with_cost(line, _cost_per_call([model.score]))


def _plan_gates(model: Competitor, goals: PlanGoals) -> Iterator[PlanLine]:
    """The calls needed to demonstrate every rate gate, by its claim limit        STATS §2, §3"""
    assert model.contributions is not None
    for gate in model.rate_gates:
        name = gate.slug.partition(".")[0]
        task = None if name in model.uncounted else model.contributions.get(name)
        rates = None if task is None else call_rates(task, gate.slug, complement=gate.is_floor)
        if task is None or rates is None or not rates[1].any():
            continue
        have = count_calls(task)
        limit = gate.limit / 100 if gate.percent else gate.limit
        limit = 1 - limit if gate.is_floor else limit
        pilot = pilot_rate(*rates, have)
        is_breached = pilot.events / pilot.items > limit
        calls = None if is_breached else calls_for_limit(limit, pilot, power=goals.power)
        why = "the observed rate breaches the limit" if is_breached else ""
        if not is_breached and calls is None:
            why = LEFT_OPEN.format(goals.power)
        word = "at least" if gate.is_floor else "at most"
        unit = " %" if gate.percent else ""
        shown_name = plain(model.score.model, 40)
        question = f"show that {gate.label} of {shown_name} is {word} {gate.limit:g}{unit}"
        line = PlanLine("gate", question, gate.slug, [model.score.model], gate.limit, calls)
        claim = model.score.tasks[name].metrics[gate.slug].claim
        shown = claim is not None and claim.holds
        line = msgspec.structs.replace(line, have=have, shown=shown)
        yield _with_cost(line, _cost_per_call([model.score]), why)


def _with_cost(line: PlanLine, price: float | None, why: str = "") -> PlanLine:
    """The line with the cost of its calls, or the reason why it has no number."""
    why = why or ("" if line.calls is not None else NO_SPREAD)
    cost = None if price is None or line.calls is None else price * line.calls
    return msgspec.structs.replace(line, cost_usd=cost, why=why)


def _cost_per_call(models: Sequence[ModelScore]) -> float | None:
    """The cost of one call in all tasks for these models; None if a price is unknown"""
    prices = [model.cost.per_1000_calls for model in models]
    if any(price is None for price in prices):
        return None
    return math.fsum(price for price in prices if price is not None) / 1000


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(plain(name, 40) for name in names)
