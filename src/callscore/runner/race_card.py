"""The result of a race as a section of the scorecard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Failed, Reply
from callscore.core.race import CALL, RaceCard, RaceExit, RaceRisk, RaceStatus, RacingModel
from callscore.core.scorecard import Scorecard
from callscore.evaluate.scorecards import decide_again
from callscore.report.names import MAX_NAME_LENGTH
from callscore.report.race_text import describe_exit, race_notes
from callscore.report.safe_text import plain
from callscore.runner.race_pool import RacePool
from callscore.stats.race import EPSILON, Elimination, RaceRules, RaceState
from callscore.stats.race_schedule import Schedule
from callscore.stats.rates import upper_limit

STOP_REASONS = {
    "one left": "one model is left",
    "none left": "no valid model is left",
    "within margin": "all remaining models are within the margin",
    "futile": "even the full data is not expected to separate the remaining models (an estimate)",
    "data spent": "all {unit}s that can decide are used",
    "budget": "the budget is spent",
}
GUARANTEED = {
    "pool": "the best model of this data set, by the mean score of its {unit}s,",
    "future": "the best model for future {unit}s like these, by the mean score of a {unit},",
}

RECORDED = (
    "race: the result is the one that the run recorded; scoring again does not decide it again"
)


class ModelAccount:
    """The requests of one model in a race, and their cost."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.sent = 0
        self._costs: list[float] = []
        self._has_unpriced = False

    def add(self, reply: Reply) -> None:
        """Add a reply, paid in this run or cached."""
        if reply.cost_usd is None:
            self._has_unpriced = True
        else:
            self._costs.append(reply.cost_usd)

    def add_all(self, replies: Iterable[Reply | Failed]) -> None:
        """Add the replies that did not fail."""
        for reply in replies:
            if isinstance(reply, Reply):
                self.add(reply)

    @property
    def paid_usd(self) -> float | None:
        """The cost of its replies; None if a price is unknown."""
        return None if self._has_unpriced else math.fsum(self._costs)

    @property
    def left(self) -> int:
        """Requests of the full run that were not sent."""
        return self.total - self.sent

    @property
    def saved_usd(self) -> float | None:
        """The cost of the other requests, at the mean cost of a reply."""
        paid = self.paid_usd
        if paid is None or not self._costs:
            return None
        return paid / len(self._costs) * self.left


def restore_race(card: Scorecard, race: RaceCard, scoring: ScoreConfig) -> Scorecard:
    """The scorecard of a stored run with the race it recorded, and a note that says so."""
    notes = [*race_notes(race), RECORDED, *card.notes]
    return decide_again(scoring, msgspec.structs.replace(card, race=race, notes=notes))


def make_race_card(
    state: RaceState,
    pool: RacePool,
    rules: RaceRules,
    seed: int,
    accounts: Mapping[str, ModelAccount],
    status: str,
) -> RaceCard:
    """The section of a race in the scorecard; `seed` is that of the order of its units."""
    schedule, unit = pool.schedule, pool.source.unit
    requests = sum(account.sent for account in accounts.values())
    total = sum(account.total for account in accounts.values())
    stopped = state.stopped or status
    racing = list(state.racing)
    race_status = _status(state)
    return RaceCard(
        status=race_status,
        decision=state.winner if race_status == "decided" else None,
        tie_band=racing if race_status in ("tie", "open") else [],
        stopped=STOP_REASONS.get(stopped, stopped).format(unit=unit),
        estimate=state.estimate,
        about=schedule.about,
        alpha=rules.alpha,
        margin=rules.margin,
        seed=seed,
        guarantee=_guarantee(schedule.about, rules.alpha, unit),
        blocks=state.blocks,
        of_blocks=len(schedule.blocks),
        requests=requests,
        of_requests=total,
        saved_requests=(1 - requests / total) if total else 0.0,
        saved_cost=_saved_share(list(accounts.values())),
        models=[_model_row(model, state, accounts[model]) for model in accounts],
        clear_margin=rules.clear_margin,
        risk=_risk(state, schedule, rules.tolerance),
        unit=msgspec.UNSET if unit == CALL else unit,
    )


def _status(state: RaceState) -> RaceStatus:
    if state.winner is not None:
        return "decided"
    if state.stopped is None:
        return "open"
    if len(state.racing) > 1:
        return "tie"
    if all(eliminated.why == "withdrawn" for eliminated in state.eliminated.values()):
        return "open"  # it was not compared with any model
    return "none"


def _risk(state: RaceState, schedule: Schedule, tolerance: float) -> RaceRisk | None:
    """What may keep the winner out if its calls were not all evaluated        STATS §4.7"""
    winner = state.winner
    if winner is None or state.stopped is not None:
        return None
    calls, blocked = state.calls[winner], state.blocked[winner]
    blocks = schedule.blocks[state.read[winner] :]
    tolerated = math.floor(tolerance * min(schedule.sizes.values()) + EPSILON) - blocked
    return RaceRisk(
        open_calls=sum(len(block.calls) for block in blocks) + len(schedule.others),
        breach_share=upper_limit(blocked, calls),
        tolerated=max(0, tolerated),
        open_gates=[slug for slug, gate in state.gates[winner].items() if gate == "open"],
    )


def _guarantee(about: str, alpha: float, unit: str) -> str:
    most = f"at most {100 * alpha:g} %"
    best = GUARANTEED[about].format(unit=unit)
    return f"{best} is eliminated with a probability of {most}, at any stopping time"


def _saved_share(accounts: Sequence[ModelAccount]) -> float | None:
    paid = [account.paid_usd for account in accounts]
    saved = [account.saved_usd for account in accounts]
    if None in paid or None in saved:
        return None
    left = math.fsum(usd for usd in saved if usd is not None)
    whole = math.fsum(usd for usd in paid if usd is not None) + left
    return left / whole if whole else None


def _model_row(model: str, state: RaceState, account: ModelAccount) -> RacingModel:
    out = state.eliminated.get(model)
    read = state.read[model]
    return RacingModel(
        model=model,
        blocks=read,
        requests=account.sent,
        of_requests=account.total,
        paid_usd=account.paid_usd,
        saved_usd=account.saved_usd,
        mean_score=state.means[model] if read else None,
        out=None if out is None else _exit(out),
        gates=state.gates[model],
        finished=model in state.finished,
        clearly_worse=model in state.clearly_worse,
    )


def _exit(eliminated: Elimination) -> RaceExit:
    return RaceExit(eliminated.why, eliminated.blocks, eliminated.by, eliminated.gate)


def describe_changes(before: RaceState, now: RaceState, unit: str) -> list[str]:
    """Sentences about the models that left the race or are in it again since `before`."""
    sentences = [
        describe_exit(model, _exit(eliminated), unit)
        for model, eliminated in now.eliminated.items()
        if model not in before.eliminated
    ]
    sentences += [
        f"{plain(model, MAX_NAME_LENGTH)} is in the race again: the better model is out"
        for model in before.eliminated
        if model not in now.eliminated
    ]
    if now.winner is not None and now.stopped is None and before.winner != now.winner:
        sentences.append(
            f"{plain(now.winner, MAX_NAME_LENGTH)} is best so far: its other calls follow, as a "
            "breached gate would still keep it out"
        )
    return sentences
