"""What a race decided, as a section of the scorecard and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from callscore.config.file import RaceEntry
from callscore.core.case import Reply
from callscore.core.race import OutOfRace, RaceCard, RaceStatus, RacingModel
from callscore.report.race_text import LONGEST_NAME, describe_exit
from callscore.report.safe_text import plain
from callscore.stats.blocks import Schedule
from callscore.stats.race import Dropped, Standing

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
        """What its answers cost; None if a price is unknown."""
        return None if self._unpriced else math.fsum(self._costs)

    @property
    def left(self) -> int:
        """Requests of the full run that were not asked."""
        return self.total - self.asked

    @property
    def saved_usd(self) -> float | None:
        """What the other requests would have cost, at the mean of those answered."""
        paid = self.paid_usd
        if paid is None or not self._costs:
            return None
        return paid / len(self._costs) * self.left


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
    found = _status(standing)
    return RaceCard(
        status=found,
        decision=racing[0] if found == "decided" else None,
        tie_band=racing if found in ("tie", "open") else [],
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
    if len(standing.racing) > 1:
        return "tie"
    if all(dropped.why == "withdrawn" for dropped in standing.dropped.values()):
        return "open"  # it was compared with no other model
    return "decided" if standing.racing else "none"


def _guarantee(about: str, alpha: float) -> str:
    most = f"at most {100 * alpha:g} %"
    return f"{ABOUT[about]} is dropped with a probability of {most}, whenever one looks"


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
        out=None if out is None else _out(out),
        gates=standing.gates[model],
    )


def _out(dropped: Dropped) -> OutOfRace:
    return OutOfRace(dropped.why, dropped.blocks, dropped.by, dropped.gate)


def news(before: Standing, now: Standing) -> list[str]:
    """In words, who left the race or came back since."""
    told = [
        describe_exit(model, _out(dropped))
        for model, dropped in now.dropped.items()
        if model not in before.dropped
    ]
    told += [
        f"{plain(model, LONGEST_NAME)} races again: what had dropped it is out"
        for model in before.dropped
        if model not in now.dropped
    ]
    return told
