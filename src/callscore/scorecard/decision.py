"""The decision: which models are in question, and which of them to take        C-138

`choose` is the one rule behind every decision in words: scorecards, reports, comparisons and
races. It compares the models of one card and has no words; `report.decision_lines` has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from callscore.core.measure import FEW_CALLS
from callscore.core.scorecard import (
    AS_RECOMMENDED,
    Decide,
    FloorMargin,
    MetricScore,
    ModelContrast,
    ModelScore,
    RankingLine,
    Scorecard,
)
from callscore.core.spec import TOLERANCE

STAND_INS = ("simulated", "baseline")
"""Providers that ask no model: never recommended next to a real one."""
FAIL = "Fail"

Word = Literal[
    "RECOMMENDED",
    "LIKELY",
    "TIE",
    "ONLY ONE PASSES",
    "PASSES",
    "NONE PASSES",
    "NOT DECIDED",
]
Doubt = Literal["estimate", "few_calls", "no_intervals", "floor"]
"""What makes the best possible word LIKELY."""
Basis = Literal["price", "quality", "efficiency"]


class ModelDifference(NamedTuple):
    """How far one model is above another, and what the data show about it."""

    value: float
    ci95: tuple[float, float] | None = None
    significant: bool = False
    upper_claim: float | None = None
    """The difference is at most this, one-sided at α / (k − 1); None if not known."""
    calls_needed: int | None = None
    deviation: float | None = None
    """The standard deviation of the difference from call to call; None if not known."""

    def is_at_most(self, margin: float) -> bool | None:
        """Whether the data show it: True by its claim limit, None by its interval alone."""
        if self.upper_claim is not None and self.upper_claim <= margin + TOLERANCE:
            return True
        if self.ci95 is not None and self.ci95[1] <= margin + TOLERANCE:
            return None
        return False


class Choice(NamedTuple):
    """What a card decides, and what that rests on."""

    word: Word
    models: Sequence[str]
    """The chosen model, those of a tie, or if none passes all of them, the closest first."""
    candidates: Sequence[str] = ()
    """The models in question that are compared with each other, the best first."""
    basis: Basis = "price"
    doubts: Sequence[Doubt] = ()
    is_shown: bool = False
    """Whether claim limits show that no other candidate is better by more than the margin."""


def models_in_question(card: Scorecard, decide: Decide = AS_RECOMMENDED) -> Sequence[str]:
    """The models with a Final, no blocker, no row rated Fail, and at least their floor    C-138

    Simulated and baseline models are in question only if there is no other model.
    """
    return [model.model for model in considered(card) if is_in_question(model, decide.allow_fail)]


def considered(card: Scorecard) -> Sequence[ModelScore]:
    """The models that may be recommended: the real ones, or all if none is real        C-138"""
    real = [model for model in card.models if model.origin not in STAND_INS]
    return real or card.models


def is_in_question(model: ModelScore, allow_fail: bool = False) -> bool:
    """Whether a model may be recommended: final ≥ floor − 1e-9, no Blocker, no Fail    C-138"""
    if model.final.score is None or model.blockers or corrected_breaches(model):
        return False
    if is_below_floor(model) or not_above_floor(model):
        return False
    return allow_fail or not failing_rows(model)


def not_above_floor(model: ModelScore) -> Sequence[tuple[str, FloorMargin]]:
    """What must be better than a trivial answer and is not, even at best        C-141

    A floor of 1 cannot be exceeded: it must be reached.
    """
    found = []
    for task in model.tasks.values():
        for name, margin in (task.above_floor or {}).items():
            if margin.at_best < min(margin.floor + TOLERANCE, 1 - TOLERANCE):
                found.append((name, margin))
    return found


def failing_rows(model: ModelScore) -> Sequence[tuple[str, MetricScore]]:
    """The rows rated Fail, of all tasks that ran, by slug        C-138"""
    return [(slug, metric) for slug, metric, rating in rated_rows(model) if rating == FAIL]


def rated_rows(model: ModelScore) -> Sequence[tuple[str, MetricScore, str]]:
    """The rows with a rating that counts in the decision, of all tasks that ran        C-138"""
    return [
        (slug, metric, rating)
        for task in model.tasks.values()
        for slug, metric in task.metrics.items()
        if metric.decides and (rating := decisive_rating(metric)) is not None
    ]


def is_below_floor(model: ModelScore) -> bool:
    """final < floor − 1e-9        C-135

    Both as judged: the judged parts of the floor are the model's own values.
    """
    floor, final = final_floor(model), model.final.score
    return floor is not None and final is not None and final < floor - TOLERANCE


def decisive_final(model: ModelScore) -> float | None:
    """The Final Score, as people would judge it if labels correct it    STATS §5"""
    final = model.final
    return final.score if final.corrected is None else final.corrected.value


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


def calls_of(model: ModelScore) -> int:
    """The calls behind a Final: those of the task that has fewest."""
    tasks = [model.tasks[task] for task in model.final.over if task in model.tasks]
    # without intervals only the cases are known; a call may have several
    return min((task.calls or task.n for task in tasks or model.tasks.values()), default=0)


def could_still_pass(model: ModelScore) -> bool:
    """Whether a model has no Final yet and nothing that keeps it out for good        C-138

    Further calls can change a rate; a call gate that is breached stays breached.
    """
    if model.final.score is not None or model.final.status == "invalid":
        return False
    complete = [name for name, task in model.tasks.items() if task.n and task.n == task.cases]
    return not any(blocker.task in complete for blocker in model.blockers) and not any(
        slug.partition(".")[0] in complete for slug, _ in failing_rows(model)
    )


def is_kept_out(model: ModelScore, allow_fail: bool = False) -> bool:
    """Whether a gate, a row rated Fail or the floor keeps a model out        C-138"""
    return not is_in_question(model, allow_fail) and not could_still_pass(model)


def difference(card: Scorecard, one: str, other: str, of: str = "final") -> ModelDifference:
    """How far one model is above another: by the card's contrast, else by their scores."""
    for pair in card.contrasts:
        if pair.of == of and {pair.first, pair.second} == {one, other}:
            return _directed(pair, one)
    first, second = (decisive_final(card.model(name)) or 0.0 for name in (one, other))
    return ModelDifference(first - second)


def _directed(pair: ModelContrast, upper: str) -> ModelDifference:
    """The contrast as `upper` minus the other; a contrast is second minus first."""
    if pair.second == upper:
        claim = None if pair.claim is None else pair.claim[1]
        return ModelDifference(
            pair.difference, pair.ci95, pair.significant, claim, pair.calls_needed, pair.deviation
        )
    ci95 = None if pair.ci95 is None else (-pair.ci95[1], -pair.ci95[0])
    claim = None if pair.claim is None else -pair.claim[0]
    return ModelDifference(
        -pair.difference, ci95, pair.significant, claim, pair.calls_needed, pair.deviation
    )


def choose(card: Scorecard, decide: Decide = AS_RECOMMENDED) -> Choice:
    """The model to take, the tie, or that there is none        C-138 rules 1 to 3"""
    names = _candidates(card, decide)
    if not names:
        return _no_choice(card)
    if len(names) == 1:
        return _only_choice(card, names[0], decide)
    basis = _basis(card, names, decide)
    chosen = _CHOOSE[basis](card, names, decide)
    rest = [name for name in names if name not in chosen]
    is_shown = basis != "efficiency" and all(
        difference(card, other, name).is_at_most(decide.margin) is True
        for name in chosen
        for other in rest
    )
    doubts = _doubts(card, chosen[0], decide)
    word: Word = "RECOMMENDED" if is_shown and not doubts else "LIKELY"
    if len(chosen) > 1:
        word = "TIE"
    return Choice(word, chosen, names, basis, doubts, is_shown)


def _candidates(card: Scorecard, decide: Decide) -> Sequence[str]:
    """The models in question that are ranked together, the best first: official ones before
    estimates (C-125), those of one option (C-79).
    """
    in_question = models_in_question(card, decide)
    lines = [line for line in card.ranking if line.model in in_question]
    comparable = [line for line in lines if line.quality_rank is not None]
    official = [line for line in comparable if not line.estimate]
    models = [card.model(line.model) for line in official or comparable]
    return [model.model for model in sorted(models, key=_best_first)]


def _best_first(model: ModelScore) -> tuple[float, float, str]:
    cost = model.cost.per_1000_calls
    return -(decisive_final(model) or 0.0), math.inf if cost is None else cost, model.model


def _no_choice(card: Scorecard) -> Choice:
    """None passes; not decided if one could still pass        C-138 rule 3"""
    models = sorted(considered(card), key=closest_first)
    pending = [model.model for model in models if could_still_pass(model)]
    if pending:
        return Choice("NOT DECIDED", pending)
    return Choice("NONE PASSES", [model.model for model in models])


def closest_first(model: ModelScore) -> tuple[float, str]:
    """A key to sort models by their Final, or by the one with blocked calls counted as 0."""
    final = model.final
    score = final.zeroed_final if final.score is None else decisive_final(model)
    return -(score or 0.0), model.model


def _only_choice(card: Scorecard, name: str, decide: Decide) -> Choice:
    """One passes: of several that are kept out, or the only one that is compared        C-138"""
    others = [model for model in considered(card) if model.model != name]
    doubts = _doubts(card, name, decide)
    are_out = all(is_kept_out(model, decide.allow_fail) for model in others)
    word: Word = "ONLY ONE PASSES" if others and are_out else "PASSES"
    return Choice("LIKELY" if doubts else word, [name], [name], doubts=doubts, is_shown=True)


def _basis(card: Scorecard, names: Sequence[str], decide: Decide) -> Basis:
    """What decides: the price if all are known and one is positive, else quality alone    C-138"""
    costs = [card.model(name).cost.per_1000_calls for name in names]
    if decide.by == "quality" or None in costs or not any(costs):
        return "quality"
    return "efficiency" if decide.by == "efficiency" else "price"


def _by_price(card: Scorecard, names: Sequence[str], decide: Decide) -> Sequence[str]:
    """The cheapest that is the best or not worse, as far as the data show it        C-138 rule 2"""
    best = names[0]
    good = [name for name in names if name == best or _may_be_chosen(card, best, name, decide)]
    lowest = min(_cost(card, name) for name in good)
    cheapest = [name for name in good if _cost(card, name) <= lowest + TOLERANCE]
    return _not_separated(card, cheapest, decide)


def _may_be_chosen(card: Scorecard, best: str, name: str, decide: Decide) -> bool:
    """Whether a model is lower by at most the margin, and the data do not speak against that.

    One that is lower by more is not likely to be as good, even if it cannot be distinguished.
    """
    above = difference(card, best, name)
    if above.value > decide.margin + TOLERANCE:
        return False
    return not above.significant or above.is_at_most(decide.margin) is not False


def _by_score(card: Scorecard, names: Sequence[str], decide: Decide) -> Sequence[str]:
    """The best in quality, and those that no interval separates from it        C-138 rule 2"""
    return _not_separated(card, names, decide)


def _not_separated(card: Scorecard, names: Sequence[str], decide: Decide) -> Sequence[str]:
    best = names[0]
    return [name for name in names if name == best or _is_tied(card, best, name, decide)]


def _is_tied(card: Scorecard, best: str, name: str, decide: Decide) -> bool:
    above = difference(card, best, name)
    if above.ci95 is None and not above.significant:
        return above.value <= decide.margin + TOLERANCE
    return not above.significant


def _by_efficiency(card: Scorecard, names: Sequence[str], decide: Decide) -> Sequence[str]:
    """The first by the framework's rank, and those whose efficiency may be the same        C-86"""
    lines = {line.model: line for line in card.ranking if line.model in names}
    best = min(lines.values(), key=lambda line: (line.rank or math.inf, names.index(line.model)))

    def is_tied(line: RankingLine) -> bool:
        if line.model == best.model or line.rank == best.rank:
            return True
        if best.efficiency is None or line.efficiency is None:
            return False
        above = difference(card, best.model, line.model, "efficiency")
        return above.ci95 is not None and not above.significant

    return [name for name in names if is_tied(lines[name])]


_CHOOSE: dict[Basis, Callable[[Scorecard, Sequence[str], Decide], Sequence[str]]] = {
    "price": _by_price,
    "quality": _by_score,
    "efficiency": _by_efficiency,
}


def _cost(card: Scorecard, name: str) -> float:
    return card.model(name).cost.per_1000_calls or 0.0


def _doubts(card: Scorecard, name: str, decide: Decide) -> Sequence[Doubt]:
    """What makes the best possible word LIKELY        C-138 rule 2"""
    model = card.model(name)
    floor, final = final_floor(model), model.final.score or 0.0
    found: list[Doubt] = []
    if not model.final.official:
        found.append("estimate")
    if calls_of(model) < FEW_CALLS:
        found.append("few_calls")
    if card.intervals is None:
        found.append("no_intervals")
    if floor is not None and final - floor <= decide.margin + TOLERANCE:
        found.append("floor")
    return found
