"""A race in sentences: its decision, who left it and why, its guarantee."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.race import CALL, RaceCard, RaceExit, RacingModel
from callscore.core.scorecard import Decide, DecisionLine, Scorecard
from callscore.report.names import MAX_NAME_LENGTH
from callscore.report.safe_text import plain
from callscore.scorecard.decision import considered


def describe_decision(race: RaceCard) -> str:
    """Describe what the race decided, after how many requests."""
    paid = _paid(race)
    names = " and ".join(map(_name, race.tie_band))
    if race.status == "decided":
        return f"{_name(race.decision or '')} has the best quality: decided {paid}{_risk(race)}"
    if race.status == "tie":
        return f"{names} cannot be distinguished: ended {paid}; {race.stopped}"
    if race.status == "none":
        return f"no model is valid: decided {paid}"
    return f"not decided {paid}; still in the race: {names}; {race.stopped}"


def _paid(race: RaceCard) -> str:
    cost = "" if race.saved_cost is None else f", {_percent(race.saved_cost)} of the cost saved"
    return f"after {race.requests:,} of {race.of_requests:,} requests{cost}"


def race_result(race: RaceCard, rivals: Sequence[str], margin: float) -> DecisionLine:
    """Return what a race decides: best quality, a tie, or nothing        C-138 rule 6

    `rivals` are cheaper models that are not shown to be worse by more than the margin.
    """
    paid = _paid(race)
    if race.status == "tie":
        return DecisionLine("TIE", race.tie_band, f"by quality: ended {paid}; {race.stopped}")
    if race.status == "none":
        return DecisionLine("NONE PASSES", [], f"no model is valid: decided {paid}")
    if race.decision is None:
        return DecisionLine("NOT DECIDED", race.tie_band, f"in the race {paid}; {race.stopped}")
    lost = ""
    if rivals:
        names = " or ".join(map(_name, rivals))
        lost = f"; it does not decide by price: {names} may be less than {margin:g} below"
    return DecisionLine("BEST QUALITY", [race.decision], f"decided {paid}{lost}{_risk(race)}")


def _risk(race: RaceCard) -> str:
    """Return what may still keep the winner out, if some of its calls are open    STATS §4.7"""
    risk = race.risk
    if risk is None:
        return ""
    enough = "one" if not risk.tolerated else str(risk.tolerated + 1)
    verb = "is" if not risk.tolerated else "are"
    gates = f"; not shown to hold: {', '.join(risk.open_gates)}" if risk.open_gates else ""
    return (
        f"; with 95 % confidence at most {100 * risk.breach_share:.1f} % of calls breach a call"
        f" gate; {enough} of the {risk.open_calls:,} open ones {verb} enough{gates}"
    )


def unfinished_rivals(card: Scorecard, race: RaceCard, decide: Decide) -> Sequence[str]:
    """The cheaper models that might be not worse than the winner if they were finished    C-138"""
    winner = race.decision
    if winner is None or decide.by == "quality":
        return []
    price = card.model(winner).cost.per_1000_calls
    rivals = [model.model for model in considered(card)]

    def is_rival(model: RacingModel) -> bool:
        is_out = model.out is not None and model.out.why in ("call_gate", "rate_gate")
        is_behind = model.clearly_worse and decide.margin <= race.clear_margin
        if is_out or is_behind or model.finished or model.model not in rivals:
            return False
        cost = card.model(model.model).cost.per_1000_calls
        return cost is None or price is None or cost < price

    return [model.model for model in race.models if model.model != winner and is_rival(model)]


def race_exits(race: RaceCard) -> list[DecisionLine]:
    """Return when and why models left the race before its end."""
    return [
        DecisionLine("OUT", [model.model], _why_out(model.out, race.drawn))
        for model in race.models
        if model.out is not None and not model.finished
    ]


def describe_guarantee(race: RaceCard) -> str:
    """Describe what the race guarantees."""
    about = "this data set (pool)" if race.about == "pool" else f"future {race.drawn}s (future)"
    return f"the guarantee is about {about}: {race.guarantee}"


def describe_exit(model: str, out: RaceExit, unit: str) -> str:
    """Describe when and why a model left the race."""
    return f"{_name(model)} is out {_why_out(out, unit)}"


def _why_out(out: RaceExit, unit: str) -> str:
    by, blocks = _name(out.by or ""), "block" if out.after_blocks == 1 else "blocks"
    why = {
        "worse": f"worse than {by}",
        "bound": f"the remaining {unit}s cannot bring it up to {by}",
        "call_gate": f"invalid for certain, {out.gate}",
        "rate_gate": f"invalid, {out.gate} is beyond its limit",
        "withdrawn": "it cannot be asked any more",
    }
    return f"after {out.after_blocks} {blocks}: {why[out.why]}"


def race_name(unit: str) -> str:
    """Return the name of a race: `race`, or `race of scenarios`."""
    return "race" if unit == CALL else f"race of {unit}s"


def race_notes(race: RaceCard) -> list[str]:
    """Return the notes about all races of a run for a scorecard."""
    return [note for each in race.all for note in _notes_on(each)]


def _notes_on(race: RaceCard) -> list[str]:
    notes = [describe_decision(race)]
    notes += [
        describe_exit(model.model, model.out, race.drawn)
        for model in race.models
        if model.out is not None
    ]
    notes.append(describe_guarantee(race))
    notes.append(
        "the scores use only the requests that were sent; the same command without --race sends "
        "the rest and pays for no request twice"
    )
    return [f"{race_name(race.drawn)}: {note}" for note in notes]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _name(model: str) -> str:
    return plain(model, MAX_NAME_LENGTH)
