"""The decision in sentences: which model, why, its cost, what blocks others, what is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from callscore.core.contrast import ModelContrast
from callscore.core.ranking import RankingLine
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.core.task import SCENARIO
from callscore.report.blocker_text import count_undecided_gates
from callscore.report.causes import state_causes
from callscore.report.cell import Tone
from callscore.report.cells import tasks_run
from callscore.report.numbers import show, show_count, show_money
from callscore.report.race_text import describe_decision
from callscore.report.safe_text import plain
from callscore.report.ties import (
    calls_needed,
    describe_tie,
    find_ties,
    other_model,
    sampled_unit,
)

NAMES_SHOWN = 3
MODELS_SHOWN = 3
MAX_NAME_LENGTH = 40


class Statement(NamedTuple):
    """One sentence of the decision, with a keyword in front."""

    keyword: str
    text: str
    tone: Tone = "plain"


def state_decision(card: Scorecard) -> list[Statement]:
    """Return the decision that a scorecard supports, most important statement first."""
    causes = state_causes(card, MODELS_SHOWN)
    return [
        *_race(card),
        *_decision(card),
        *_blocked_models(card),
        *(Statement(cause.keyword, cause.text, "bad") for cause in causes),
        *_unknown_facts(card),
    ]


def describe_estimate(card: Scorecard) -> str:
    """Say why a scorecard has estimates; empty if it has none        C-125"""
    if not card.estimate:
        return ""
    if card.judging is None and set(tasks_run(card)) == {SCENARIO}:
        return "Estimate: argument values without a verdict count as different."
    return "Offline estimate: built-in rules, no judge."


def _race(card: Scorecard) -> Iterator[Statement]:
    """State what a race decided; the Final Scores of its models use only the calls it asked."""
    if card.race is not UNSET:
        tone: Tone = "good" if card.race.status == "decided" else "middling"
        yield Statement("RACE", f"{describe_decision(card.race)}.", tone)


def _decision(card: Scorecard) -> Iterator[Statement]:
    official = [e for e in card.ranking if e.final_score is not None and not e.estimate]
    estimates = [e for e in card.ranking if e.final_score is not None and e.estimate]
    models = {model.model: model for model in card.models}
    if official:
        yield from _leaders(card, official, models)
    if estimates and not official:
        yield from _leaders(card, estimates, models)
        yield Statement("", _why_unofficial(card), "middling")
    if not official and not estimates:
        if card.zeroed_ranking and card.zeroed_ranking[0].rank is not None:
            yield from _closest(card)
        else:
            yield from _no_final(card)


def _why_unofficial(card: Scorecard) -> str:
    judge = card.judging.judge if card.judging is not None else None
    if judge is not None and judge.startswith("offline"):
        return "Not official: built-in rules replace a judge."
    return "Not official: rows marked approximate are estimates."


def _leaders(
    card: Scorecard, entries: Sequence[RankingLine], models: Mapping[str, ModelScore]
) -> Iterator[Statement]:
    """State best value and best quality, as far as the calls distinguish models        STATS §8"""
    value = [entry for entry in entries if entry.rank == 1]
    quality = [entry for entry in entries if entry.quality_rank == 1]
    best, of = (value, "efficiency") if value else (quality, "final")
    leader, ties = best[0], _ties_with_others(card, of, best)
    both = bool({entry.model for entry in value} & {entry.model for entry in quality})
    names, price = _names(best), f", {_price(leader)}"
    why = "best quality and best value" if both else "best value"
    if not value:
        why, price = "best quality", "; its cost is unknown, so it has no cost-adjusted rank"
    weak = _weak_rows(models[leader.model])
    if ties:
        by = " by value" if value else ""
        tied = _describe_ties(card, leader.model, ties, by)
        sentence = f"{tied}. Currently first: {names}, Final {_final(best)}{price}.{weak}"
        yield Statement(_keyword(leader, "TIE"), sentence, "middling")
    else:
        sentence = f"{names}: {why}. Final {_final(best)}{price}.{weak}"
        yield Statement(_keyword(leader, "CHOOSE"), sentence, "good")
    if value:
        yield from _quality(card, quality, leader, models)


def _keyword(entry: RankingLine, official: str) -> str:
    return "ESTIMATE" if entry.estimate else official


def _ties_with_others(
    card: Scorecard, of: str, best: Sequence[RankingLine]
) -> Sequence[ModelContrast]:
    """Return the ties of the best models with all other models."""
    first, named = best[0].model, {entry.model for entry in best}
    return [pair for pair in find_ties(card, of, first) if other_model(pair, first) not in named]


def _quality(
    card: Scorecard,
    best: Sequence[RankingLine],
    leader: RankingLine,
    models: Mapping[str, ModelScore],
) -> Iterator[Statement]:
    """State the model of best quality, if it is not the leader, and the models tied with it."""
    first, ties = best[0].model, _ties_with_others(card, "final", best)
    is_leader = leader.model in {entry.model for entry in best}
    if not is_leader:
        ties = [pair for pair in ties if other_model(pair, first) == leader.model]
    if ties:
        yield Statement("", f"{_describe_ties(card, first, ties, ' by quality')}.", "middling")
    elif not is_leader:
        cost = _times_the_cost(best[0], leader)
        sentence = f"{_names(best)}: best quality. Final {_final(best)}, {cost}."
        yield Statement("OR", sentence + _weak_rows(models[first]), "good")


def _describe_ties(card: Scorecard, model: str, ties: Sequence[ModelContrast], by: str) -> str:
    """Return `old and new cannot be distinguished with these 48 calls; about 310 would do`."""
    others = [other_model(pair, model) for pair in ties]
    sentence = describe_tie(ties[0].calls, calls_needed(ties), by, sampled_unit(card))
    return f"{plain(model, MAX_NAME_LENGTH)} and {_join_names(others)} {sentence}"


def _weak_rows(model: ModelScore) -> str:
    """Return how many rows are rated Fail, which a rank alone would hide."""
    metrics = [metric for task in model.tasks.values() for metric in task.metrics.values()]
    failing = sum(metric.rating == "Fail" for metric in metrics)
    return f" {show_count(failing, 'row')} rated Fail." if failing else ""


def _closest(card: Scorecard) -> Iterator[Statement]:
    first = card.zeroed_ranking[0]
    score = show(first.zeroed_final or 0.0)
    yield Statement(
        "NO MODEL",
        f"passes every blocker. Closest: {plain(first.model, MAX_NAME_LENGTH)}, {score} with "
        f"blocked calls counted as 0 (not official), {_cost(first.cost_per_1000_calls)}.",
        "blocked",
    )
    if ties := find_ties(card, "zeroed_final", first.model):
        yield Statement("", f"{_describe_ties(card, first.model, ties, '')}.", "middling")


def _no_final(card: Scorecard) -> Iterator[Statement]:
    """List the task scores of all models when no model has a Final Score."""
    reasons = dict.fromkeys(entry.reason for entry in card.ranking if entry.reason)
    yield Statement("NO FINAL", f"{'; '.join(list(reasons)[:NAMES_SHOWN])}.", "middling")
    for task in tasks_run(card):
        scores = [(model.model, model.tasks[task].score) for model in card.models]
        known = sorted(
            ((name, score) for name, score in scores if score is not None),
            key=lambda entry: (-entry[1], entry[0]),
        )
        if known:
            listed = ", ".join(f"{plain(name, MAX_NAME_LENGTH)} {show(s)}" for name, s in known[:4])
            yield Statement("", f"{task}: {listed}")


def _blocked_models(card: Scorecard) -> Iterator[Statement]:
    """State what blocks models from an official score, the closest model first."""
    invalid = {model.model for model in card.models if model.final.status == "invalid"}
    blocked = [entry for entry in card.zeroed_ranking if entry.model in invalid]
    for entry in blocked[:MODELS_SHOWN]:
        more = len(entry.obstacles) - 1
        rest = f"; and {more} more" if more else ""
        name = plain(entry.model, MAX_NAME_LENGTH)
        text = f"{name} ({_cost(entry.cost_per_1000_calls)}): {entry.obstacles[0]}{rest}."
        yield Statement("OUT", text, "blocked")
    if len(blocked) > MODELS_SHOWN:
        left = show_count(len(blocked) - MODELS_SHOWN, "more model")
        yield Statement("", f"{left} out; see the blockers below.", "blocked")


def _unknown_facts(card: Scorecard) -> Iterator[Statement]:
    """State what the scores do not show yet."""
    parts = [*_unfinished_models(card), *_unpriced_models(card)]
    calls = [task.n for model in card.models for task in model.tasks.values() if task.n]
    if calls and len(card.models) > 1 and not card.contrasts:
        parts.append(
            f"whether differences are significant with {show_count(min(calls), 'call')} per task"
        )
    if parts:
        yield Statement("UNKNOWN", f"{'; '.join(parts)}.", "quiet")


def _unfinished_models(card: Scorecard) -> Iterator[str]:
    has_official = any(e.final_score is not None for e in card.ranking)
    for entry in card.ranking:
        if has_official and entry.reason and entry.reason.startswith("Final Score incomplete"):
            yield f"{plain(entry.model, MAX_NAME_LENGTH)}: {entry.reason}"
    undecided = [
        model for model in card.models if count_undecided_gates(model) and not model.blockers
    ]
    if undecided:
        rows = max(count_undecided_gates(model) for model in undecided)
        yield (
            f"{show_count(rows, 'blocker row')} of {_join_names([m.model for m in undecided])} "
            "not judged (--judge, --verdicts)"
        )


def _unpriced_models(card: Scorecard) -> Iterator[str]:
    unpriced = [entry.model for entry in card.ranking if entry.cost_status == "unknown"]
    if unpriced:
        yield f"the cost of {_join_names(unpriced)} (--cost, or `price` in the eval file)"


def _names(entries: Sequence[RankingLine]) -> str:
    return _join_names([entry.model for entry in entries])


def _join_names(names: Sequence[str]) -> str:
    shown = [plain(name, MAX_NAME_LENGTH) for name in names[:NAMES_SHOWN]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _final(entries: Sequence[RankingLine]) -> str:
    return show(entries[0].final_score or 0.0)


def _price(entry: RankingLine) -> str:
    return _cost(entry.cost_per_1000_calls)


def _cost(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"{show_money(cost)} per 1000 calls"


def _times_the_cost(entry: RankingLine, cheaper: RankingLine) -> str:
    one, other = entry.cost_per_1000_calls, cheaper.cost_per_1000_calls
    if one is None or not other:
        return _price(entry)
    return f"{show_money(one)} per 1000 calls ({one / other:.1f} × as much)"
