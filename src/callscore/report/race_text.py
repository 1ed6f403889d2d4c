"""A race in sentences: its decision, who left it and why, its guarantee."""

from __future__ import annotations

from callscore.core.race import RaceCard, RaceExit
from callscore.report.safe_text import plain

MAX_NAME_LENGTH = 40


def describe_decision(race: RaceCard) -> str:
    """Describe what the race decided, after how many requests."""
    cost = "" if race.saved_cost is None else f", {_percent(race.saved_cost)} of the cost saved"
    paid = f"after {race.requests:,} of {race.of_requests:,} requests{cost}"
    names = " and ".join(map(_name, race.tie_band))
    if race.status == "decided":
        return f"{_name(race.decision or '')} is best: decided {paid}"
    if race.status == "tie":
        return f"{names} cannot be distinguished: ended {paid}; {race.stopped}"
    if race.status == "none":
        return f"no model is valid: decided {paid}"
    return f"not decided {paid}; still in the race: {names}; {race.stopped}"


def describe_guarantee(race: RaceCard) -> str:
    """Describe what the race guarantees."""
    about = "this data set (pool)" if race.about == "pool" else "future calls (future)"
    return f"the guarantee is about {about}: {race.guarantee}"


def describe_exit(model: str, out: RaceExit) -> str:
    """Describe when and why a model left the race."""
    by, blocks = _name(out.by or ""), "block" if out.after_blocks == 1 else "blocks"
    why = {
        "worse": f"worse than {by}",
        "bound": f"the remaining calls cannot bring it up to {by}",
        "call_gate": f"invalid for certain, {out.gate}",
        "rate_gate": f"invalid, {out.gate} is beyond its limit",
        "withdrawn": "it cannot be asked any more",
    }
    return f"{_name(model)} is out after {out.after_blocks} {blocks}: {why[out.why]}"


def race_notes(race: RaceCard) -> list[str]:
    """Return the notes about a race for a scorecard."""
    notes = [describe_decision(race)]
    notes += [
        describe_exit(model.model, model.out) for model in race.models if model.out is not None
    ]
    notes.append(describe_guarantee(race))
    notes.append(
        "the scores use only the requests that were sent; the same command without --race sends "
        "the rest and pays for no request twice"
    )
    return [f"race: {note}" for note in notes]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _name(model: str) -> str:
    return plain(model, MAX_NAME_LENGTH)
