"""The decision in words: one line per statement, the most important first        C-138"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.core.decide import AS_RECOMMENDED, Decide
from callscore.core.race import RaceCard
from callscore.core.scorecard import FINAL, DecisionLine, ModelScore, Scorecard
from callscore.core.spec import TOLERANCE, Spec
from callscore.report.cells import show_score_interval
from callscore.report.names import join_words, marked_name, marked_names
from callscore.report.numbers import show, show_count, show_money
from callscore.report.obstacles import describe_obstacles
from callscore.report.race_text import (
    describe_guarantee,
    race_exits,
    race_result,
    unfinished_rivals,
)
from callscore.report.safe_text import plain
from callscore.report.ties import describe_separation, sampled_unit
from callscore.scorecard.decision import (
    Choice,
    Difference,
    Doubt,
    calls_of,
    choose,
    closest_first,
    considered,
    could_still_pass,
    difference,
    failing_rows,
    final_floor,
    is_in_question,
)
from callscore.stats.claims import unseen_share
from callscore.stats.power import ALPHA, calls_for_claim

ROWS_NAMED = 2


def with_decision(card: Scorecard, spec: Spec, decide: Decide = AS_RECOMMENDED) -> Scorecard:
    """The same card with its decision in words."""
    return msgspec.structs.replace(card, decision=decision_lines(card, spec, decide))


def decision_lines(
    card: Scorecard, spec: Spec, decide: Decide = AS_RECOMMENDED
) -> list[DecisionLine]:
    """Return what a card decides, and what that rests on, the most important first        C-138"""
    if not card.models:
        return []
    facts = _Facts(card, spec, decide)
    if card.race is not msgspec.UNSET:
        return list(_race(facts, card.race))
    choice = choose(card, decide)
    lines = [*_choice(facts, choice)]
    if len(card.models) > 1:
        lines += [*_best_quality(facts), *_first_rank(facts)]
    lines += _kept_out(facts)
    if choice.word != "NOT DECIDED":
        models = considered(card)
        lines += _open_models(facts, [m.model for m in models if could_still_pass(m)])
    return [*lines, *_how_sure(facts, choice)]


def _race(facts: _Facts, race: RaceCard) -> Iterator[DecisionLine]:
    """State what a race decides; it recommends only if every cheaper model is decided    C-138"""
    rivals = unfinished_rivals(facts.card, race, facts.decide)
    if race.decision is not None and not rivals:
        yield from _race_choice(facts, race.decision)
    yield race_result(race, rivals, facts.decide.margin)
    yield from race_exits(race)
    yield DecisionLine("HOW SURE", [], describe_guarantee(race))


def _race_choice(facts: _Facts, winner: str) -> Iterator[DecisionLine]:
    """State the recommendation: by the rule if several were finished, else the winner."""
    choice = choose(facts.card, facts.decide)
    if winner not in choice.candidates:
        return
    if len(choice.candidates) > 1:
        yield from _choice(facts, choice)
        return
    parts = ["best quality, and no cheaper model is as good", _numbers(facts, choice)]
    if doubts := "; ".join(_doubt(facts, choice, doubt) for doubt in choice.doubts):
        parts.append(f"Not certain: {doubts}")
    word = "LIKELY" if doubts else "RECOMMENDED"
    yield DecisionLine(word, [winner], ". ".join(parts))


class _Facts:
    """The numbers of a card as words."""

    def __init__(self, card: Scorecard, spec: Spec, decide: Decide) -> None:
        self.card, self.spec, self.decide = card, spec, decide
        self.unit = sampled_unit(card)
        heading = plain(card.final_heading, 80)
        self.heading = "Final" if heading == FINAL else heading

    def name(self, model: str) -> str:
        """The marked name of a model."""
        return marked_name(self.card, model)

    def cost(self, model: str) -> float | None:
        """The cost of 1000 calls."""
        return self.card.model(model).cost.per_1000_calls

    def price(self, *models: str, joint: str = " and ") -> str:
        """Return `$1.20 per 1000 calls`, of several models each different price once."""
        costs = [self.cost(model) for model in models]
        known = [show_money(cost) for cost in costs if cost is not None]
        if len(known) < len(costs):
            return "price unknown"
        return f"{joint.join(dict.fromkeys(known))} per 1000 {self.unit}s"

    def score(self, model: str) -> str:
        """Return `0.912 [0.880–0.940]`."""
        final = self.card.model(model).final
        return f"{show(final.score or 0.0)} {show_score_interval(final)}".strip()

    def above(self, one: str, other: str) -> Difference:
        """How far one model is above another."""
        return difference(self.card, one, other)

    def is_in_question(self, model: ModelScore) -> bool:
        """Whether a model may be recommended."""
        return is_in_question(model, self.decide.allow_fail)

    def these_calls(self, model: str) -> str:
        """Return `these 50 calls`."""
        calls = calls_of(self.card.model(model))
        return f"this one {self.unit}" if calls == 1 else f"these {calls:,} {self.unit}s"


def _choice(facts: _Facts, choice: Choice) -> Iterator[DecisionLine]:
    """State what to take, why, and every doubt        C-138 rules 2 and 3"""
    if choice.word == "NOT DECIDED":
        yield from _open_models(facts, choice.models)
        return
    if choice.word == "NONE PASSES":
        yield DecisionLine(choice.word, choice.models, _why_none(facts, choice.models))
        return
    parts = [_reason(facts, choice), _numbers(facts, choice), *_unrated(facts, choice.models[0])]
    doubts = [*_not_shown(facts, choice), *(_doubt(facts, choice, one) for one in choice.doubts)]
    if doubts:
        parts.append(f"Not certain: {'; '.join(doubts)}")
    yield DecisionLine(choice.word, choice.models, ". ".join(parts))


def _reason(facts: _Facts, choice: Choice) -> str:
    chosen, best = choice.models[0], choice.candidates[0]
    if len(choice.candidates) == 1:
        return _reason_of_one(facts, chosen, choice.word)
    if len(choice.models) > 1:
        same = _why_quality(facts, choice) if choice.basis == "quality" else "the same price"
        if choice.basis == "efficiency":
            same = "by cost efficiency, as `decide` says"
        cheaper = "" if best in choice.models else f", cheaper than {facts.name(best)}"
        return f"{facts.these_calls(chosen)} cannot tell them apart; {same}{cheaper}"
    if choice.basis == "efficiency":
        return "best cost efficiency, as `decide` says"
    if choice.basis == "quality":
        return f"best quality; {_why_quality(facts, choice)}"
    return _reason_of_price(facts, choice)


def _reason_of_one(facts: _Facts, name: str, word: str) -> str:
    failing = failing_rows(facts.card.model(name))
    rows = f"{show_count(len(failing), 'row')} rated Fail" if failing else "no row rated Fail"
    models = considered(facts.card)
    waiting = any(could_still_pass(model) for model in models if model.model != name)
    if len(models) == 1 or waiting:
        return f"passes: no blocker, {rows}"
    only = "" if word == "ONLY ONE PASSES" else "only one passes: "
    return f"{only}of {len(models)} models, only this one has no blocker and {rows}"


def _why_quality(facts: _Facts, choice: Choice) -> str:
    """Return why prices do not count: unknown, all zero, or `decide` says so."""
    if facts.decide.by == "quality":
        return "by quality, as `decide` says"
    unknown = [name for name in choice.candidates if facts.cost(name) is None]
    if unknown:
        names = marked_names(facts.card, unknown)
        return f"by quality alone, as the price of {names} is unknown"
    return "by quality alone, as all are free"


def _reason_of_price(facts: _Facts, choice: Choice) -> str:
    chosen, best = choice.models[0], choice.candidates[0]
    cost = facts.cost(chosen) or 0.0
    if chosen != best:
        share = cost / (facts.cost(best) or 1.0)
        price = f"at {100 * share:.2g} % of its price" if share else "and free"
        margin = facts.decide.margin
        if facts.above(best, chosen).is_at_most(margin) is False:
            return f"cannot be told apart from {facts.name(best)}, {price}"
        return f"not worse than {facts.name(best)} by more than {margin:g}, {price}"
    others = choice.candidates[1:]
    cheaper = [name for name in others if (facts.cost(name) or 0.0) < cost - TOLERANCE]
    if not cheaper:
        return f"best quality and lowest price of {len(others) + 1} models that pass"
    worse = f"{facts.name(cheaper[0])} is" if len(cheaper) == 1 else f"{len(cheaper)} are"
    return f"best quality; {worse} cheaper and worse"


def _numbers(facts: _Facts, choice: Choice) -> str:
    """Return Final and price; for a cheaper model also those of the best one."""
    chosen, best = choice.models[0], choice.candidates[0]
    if chosen != best and len(choice.models) == 1:
        scores = f"{facts.score(chosen)} against {facts.score(best)}"
        return f"{facts.heading} {scores}, {facts.price(chosen, best, joint=' against ')}"
    scores = join_words(dict.fromkeys(facts.score(name) for name in choice.models))
    return f"{facts.heading} {scores}, {facts.price(*choice.models)}"


def _unrated(facts: _Facts, name: str) -> Iterator[str]:
    """Name the rows without a rating: they neither pass nor fail        C-138 rule 1"""
    rated = {s for s, rule in facts.spec.metrics.items() if rule.bands and rule.template_row}
    rows = [
        facts.spec.metrics[slug].label
        for task in facts.card.model(name).tasks.values()
        for slug, metric in task.metrics.items()
        if metric.rating is None and metric.decides and slug in rated
    ]
    if rows:
        more = len(rows) - ROWS_NAMED
        yield f"Not rated: {', '.join(rows[:ROWS_NAMED])}" + (f", {more} more" if more > 0 else "")


def _not_shown(facts: _Facts, choice: Choice) -> Iterator[str]:
    """Say what the claim limits do not show yet, and how many calls would show it."""
    if choice.is_shown or len(choice.models) > 1 or "no_intervals" in choice.doubts:
        return
    if choice.basis == "efficiency":
        yield "no limit is known for a ratio of score and price"
        return
    chosen, margin = choice.models[0], facts.decide.margin
    others = [name for name in choice.candidates if name != chosen]
    above = max((facts.above(name, chosen) for name in others), key=_highest)
    alpha = ALPHA / max(1, len(choice.candidates) - 1)
    needed = calls_for_claim(above.value, above.deviation or 0.0, margin, alpha)
    these = facts.these_calls(chosen)
    if needed is None:
        yield f"it is {above.value:.3f} lower so far, and {these} cannot tell if that is chance"
    elif needed > calls_of(facts.card.model(chosen)):
        yield f"{these} cannot show it, about {needed:,} {facts.unit}s would show it"
    else:
        yield f"{these} cannot show it"


def _highest(above: Difference) -> float:
    """The highest value of a difference that its limits leave open."""
    if above.upper_claim is not None:
        return above.upper_claim
    return above.value if above.ci95 is None else above.ci95[1]


def _doubt(facts: _Facts, choice: Choice, doubt: Doubt) -> str:
    model, judging = facts.card.model(choice.models[0]), facts.card.judging
    is_offline = judging is not None and (judging.judge or "").startswith("offline")
    why = "built-in rules replace a judge" if is_offline else "some rows are approximate"
    floor = show(final_floor(model) or 0.0)
    texts: dict[Doubt, str] = {
        "estimate": f"an estimate, {why}",
        "few_calls": f"only {show_count(calls_of(model), facts.unit)}",
        "no_intervals": "no intervals were computed",
        "floor": f"this data cannot separate it from reading nothing ({floor})",
    }
    return texts[doubt]


def _why_none(facts: _Facts, models: Sequence[str]) -> str:
    final = facts.card.model(models[0]).final
    score = final.zeroed_final if final.score is None else final.score
    remark = " with blocked calls counted as 0 (not official)" if final.score is None else ""
    shown = "" if score is None else f", {facts.heading} {show(score)}{remark}"
    if len(models) == 1:
        return f"it is kept out{shown}"
    return f"all {len(models)} are kept out; the closest is {facts.name(models[0])}{shown}"


def _open_models(facts: _Facts, names: Sequence[str]) -> Iterator[DecisionLine]:
    """Name what is missing for a Final, once for all models that lack the same        C-82"""
    reasons = {line.model: line.reason or "" for line in facts.card.ranking}
    by_reason: dict[str, list[str]] = {}
    for name in names:
        by_reason.setdefault(reasons.get(name, ""), []).append(name)
    judging = facts.card.judging
    is_judged = judging is not None and judging.judge is not None
    for reason, models in by_reason.items():
        tasks = facts.card.model(models[0]).tasks.values()
        waits = any(task.n == task.cases and task.status == "incomplete" for task in tasks)
        remedy = "; --judge or --verdicts decides them" if waits and not is_judged else ""
        yield DecisionLine("NOT DECIDED", models, reason + remedy)


def _best_quality(facts: _Facts) -> Iterator[DecisionLine]:
    names = {model.model for model in considered(facts.card)}
    ranked = [line for line in facts.card.ranking if line.model in names and line.quality_rank]
    ranked = [line for line in ranked if not line.estimate] or ranked
    if not ranked:
        return
    top = min(line.quality_rank or 0 for line in ranked)
    best = [line.model for line in ranked if line.quality_rank == top]
    is_out = not facts.is_in_question(facts.card.model(best[0]))
    why = f"{facts.heading} {facts.score(best[0])}, {facts.price(*best)}"
    yield DecisionLine("BEST QUALITY", best, why + ("; kept out, see below" if is_out else ""))


def _first_rank(facts: _Facts) -> Iterator[DecisionLine]:
    """State the framework's first rank, and how many of its rows are rated Fail        C-86"""
    first = [line for line in facts.card.ranking if line.rank == 1]
    first = [line for line in first if not line.estimate] or first
    if not first:
        return
    models = [line.model for line in first]
    rows = len(failing_rows(facts.card.model(models[0])))
    score = show(facts.card.model(models[0]).final.score or 0.0)
    why = f"by cost efficiency, {facts.heading} {score} at {facts.price(*models)}"
    fails = f"; {show_count(rows, 'row')} rated Fail" if rows else ""
    yield DecisionLine("RANK 1", models, why + fails)


def _kept_out(facts: _Facts) -> Iterator[DecisionLine]:
    """State what keeps models out, the closest first        C-138 rule 4"""
    reasons = {line.model: line.reason or "" for line in facts.card.ranking}
    for model in sorted(considered(facts.card), key=closest_first):
        if not facts.is_in_question(model) and not could_still_pass(model):
            why = describe_obstacles(model, facts.spec, allow_fail=facts.decide.allow_fail)
            yield DecisionLine("OUT", [model.model], why or reasons.get(model.model, ""))


def _how_sure(facts: _Facts, choice: Choice) -> Iterator[DecisionLine]:
    """State the calls, the share that may fail unseen, and what separates first and second."""
    calls = max(calls_of(facts.card.model(name)) for name in choice.models)
    if not calls:
        return
    share = f"{100 * unseen_share(calls):.2g} %"
    parts = [f"{show_count(calls, facts.unit)}: up to {share} of {facts.unit}s could fail unseen"]
    first = choice.models[0]
    others = [name for name in choice.candidates if name != first]
    if others and facts.card.intervals is not None:
        second = choice.models[1] if len(choice.models) > 1 else others[0]
        names = (facts.name(first), facts.name(second))
        parts.append(describe_separation(facts.above(first, second), *names, unit=facts.unit))
    yield DecisionLine("HOW SURE", [], "; ".join(parts))
