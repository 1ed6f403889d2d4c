"""What a race decided, as a section of the scorecard and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from callscore.config.file import RaceEntry
from callscore.core.case import Reply
from callscore.core.race import OutOfRace, RaceCard, RaceStatus, RacingModel
from callscore.report.safe_text import plain
from callscore.stats.blocks import Schedule
from callscore.stats.race import Dropped, Standing

LONGEST_NAME = 40
STOPPED = {
    "one left": "one model is left",
    "none left": "no valid model is left",
    "within margin": "all models left are within the margin",
    "futile": "not even the full data is expected to separate the models left (an estimate)",
    "data spent": "all calls that can tell are used",
    "budget": "the budget is spent",
}
ABOUT = {
    "pool": "the best model of this data set, by the mean score of its calls,",
    "future": "the best model for future calls like these, by the mean score of a call,",
}


class Account:
    """What one model was asked in a race, and what that cost."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.asked = 0
        self._costs: list[float] = []
        self._unpriced = False

    def add(self, reply: Reply) -> None:
        """Take in one answer, paid now or before."""
        if reply.cost_usd is None:
            self._unpriced = True
        else:
            self._costs.append(reply.cost_usd)

    @property
    def paid_usd(self) -> float | None:
        """What its answers cost; None where a price is unknown."""
        return None if self._unpriced else math.fsum(self._costs)

    @property
    def saved_usd(self) -> float | None:
        """What the other requests would have cost, at the mean of those answered."""
        paid = self.paid_usd
        if paid is None or not self._costs:
            return None
        return paid / len(self._costs) * (self.total - self.asked)


def race_card(
    standing: Standing,
    plan: Schedule,
    rules: RaceEntry,
    accounts: Mapping[str, Account],
    status: str,
) -> RaceCard:
    """The race as reports and the JSON have it."""
    requests = sum(account.asked for account in accounts.values())
    total = sum(account.total for account in accounts.values())
    stopped = standing.stopped or status
    racing = list(standing.racing)
    decided = standing.stopped is not None
    return RaceCard(
        status=_status(standing),
        decision=racing[0] if decided and len(racing) == 1 else None,
        tie_band=racing if len(racing) > 1 else [],
        stopped=STOPPED.get(stopped, stopped),
        estimate=standing.estimate,
        about=plan.about,
        alpha=rules.alpha,
        margin=rules.margin,
        seed=rules.seed,
        guarantee=_guarantee(plan.about, rules.alpha),
        blocks=standing.blocks,
        of_blocks=len(plan.blocks),
        requests=requests,
        of_requests=total,
        saved_requests=(1 - requests / total) if total else 0.0,
        saved_cost=_saved(list(accounts.values())),
        models=[_racing(model, standing, accounts[model]) for model in accounts],
    )


def _status(standing: Standing) -> RaceStatus:
    if standing.stopped is None:
        return "open"
    if not standing.racing:
        return "none"
    return "decided" if len(standing.racing) == 1 else "tie"


def _guarantee(about: str, alpha: float) -> str:
    return (
        f"{ABOUT[about]} is dropped with a probability of at most {alpha:.0%}, whenever one looks"
    )


def _saved(accounts: Sequence[Account]) -> float | None:
    paid = [account.paid_usd for account in accounts]
    saved = [account.saved_usd for account in accounts]
    if None in paid or None in saved:
        return None
    left = math.fsum(usd for usd in saved if usd is not None)
    whole = math.fsum(usd for usd in paid if usd is not None) + left
    return left / whole if whole else None


def _racing(model: str, standing: Standing, account: Account) -> RacingModel:
    out = standing.dropped.get(model)
    read = standing.read[model]
    return RacingModel(
        model=model,
        blocks=read,
        requests=account.asked,
        of_requests=account.total,
        paid_usd=account.paid_usd,
        saved_usd=account.saved_usd,
        mean_score=standing.means[model] if read else None,
        out=None if out is None else OutOfRace(out.why, out.blocks, out.by, out.gate),
        gates=standing.gates[model],
    )


def news(before: Standing, now: Standing) -> list[str]:
    """In words, who left the race or came back since."""
    told = [
        _left(model, dropped)
        for model, dropped in now.dropped.items()
        if model not in before.dropped
    ]
    told += [
        f"{_name(model)} races again: what had dropped it is out"
        for model in before.dropped
        if model not in now.dropped
    ]
    return told


def _left(model: str, dropped: Dropped) -> str:
    after = f"after {dropped.blocks} blocks"
    by = _name(dropped.by or "")
    why = {
        "worse": f"worse than {by}",
        "bound": f"the calls left could not bring it up to {by}",
        "call_gate": f"invalid for certain, {dropped.gate}",
        "rate_gate": f"invalid, {dropped.gate} is over its limit",
        "withdrawn": "it cannot be asked any more",
    }
    return f"{_name(model)} is out {after}: {why[dropped.why]}"


def race_notes(race: RaceCard) -> list[str]:
    """The race in words, for the notes of the card."""
    cost = "" if race.saved_cost is None else f", {race.saved_cost:.0%} of the cost saved"
    paid = f"after {race.requests:,} of {race.of_requests:,} calls{cost}"
    notes = [f"race: {_decision(race, paid)}"]
    notes += [
        f"race: {_left(m.model, Dropped(m.out.why, m.out.after_blocks, m.out.by, m.out.gate))}"  # type: ignore[arg-type]
        for m in race.models
        if m.out is not None
    ]
    about = "this data set (pool)" if race.about == "pool" else "future calls (future)"
    notes.append(f"race: the guarantee is about {about}: {race.guarantee}")
    notes.append(
        "race: the scores rest on the calls that were asked; the same command without --race asks "
        "the rest, and pays for nothing twice"
    )
    return notes


def _decision(race: RaceCard, paid: str) -> str:
    if race.status == "decided":
        return f"{_name(race.decision or '')} decided {paid}"
    names = " and ".join(map(_name, race.tie_band))
    if race.status == "tie":
        return f"{names} cannot be told apart {paid}; {race.stopped}"
    if race.status == "none":
        return f"no valid model is left, decided {paid}"
    return f"not decided {paid}; still in: {names}; {race.stopped}"


def _name(model: str) -> str:
    return plain(model, LONGEST_NAME)
