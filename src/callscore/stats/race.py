"""The race: which models are still in, read round by round in a seeded order (STATS §4).

Only complete rounds are read, never the order of completion, so what a race says depends on its
seed and on the answers alone. The best model is dropped with a probability of at most α, whenever
one looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from callscore.stats.betting import Array, log_threshold
from callscore.stats.blocks import Schedule
from callscore.stats.race_gates import GateState, GateWatch, RateGate
from callscore.stats.race_pairs import Pairs

RANKING_SHARE = 0.6
"""Of α, spent on the ranking; the rest is for models × rate gates (STATS §4.5: .03 and .02)."""
FUZZ = 1e-9
FEWEST_FOR_ESTIMATES = 30
"""Blocks before anything is extrapolated."""

Why = Literal["worse", "bound", "call_gate", "rate_gate", "withdrawn"]
Stop = Literal["one left", "none left", "within margin", "futile", "data spent"]


class Outcome(NamedTuple):
    """What one model made of one call."""

    scores: Mapping[str, tuple[float, float]]
    """By task, the least and the most that the score can be: equal, unless the call failed.

    The sum where a call has several cases of a task; about future calls, their mean.
    """
    counts: Mapping[str, tuple[float, float] | None] = {}
    """By rate gate, events and items; None if unknown."""
    breached: frozenset[str] = frozenset()
    """The call gates in breach."""


class Rules(NamedTuple):
    """What a race decides, and how surely."""

    alpha: float = 0.05
    margin: float = 0.01
    """Models whose Finals differ by less are as good as equal."""
    round_size: int | None = None
    """Blocks a round; else as many as fit the size of the data."""
    gates: Sequence[RateGate] = ()
    call_gates: Mapping[str, str] = {}
    """Slug of a call gate to its task."""
    tolerance: float = 0.0
    """The share of calls that may breach a call gate."""


class Dropped(NamedTuple):
    """When a model left the race, and why."""

    why: Why
    blocks: int
    """Blocks of it that were read."""
    by: str | None = None
    """The better model."""
    gate: str | None = None


class Standing(NamedTuple):
    """The state of a race after its last complete round."""

    blocks: int
    racing: Sequence[str]
    dropped: Mapping[str, Dropped]
    stopped: Stop | None
    means: Mapping[str, tuple[float, float]]
    """By model, the mean score of its blocks: least and most, where calls failed."""
    read: Mapping[str, int]
    """By model, how many blocks of it were read."""
    gates: Mapping[str, Mapping[str, GateState]]
    """By model and rate gate: shown to hold, shown to be breached, or open."""

    @property
    def estimate(self) -> bool:
        """Whether it stopped on an estimate instead of on a guarantee"""
        return self.stopped == "futile"


class Race:
    """Takes outcomes in any order, reads complete rounds, and decides what to request next."""

    def __init__(self, plan: Schedule, models: Sequence[str], rules: Rules) -> None:
        self._plan = plan
        self._models = list(models)
        self._rules = rules
        self._size = rules.round_size or min(20, max(10, len(plan.blocks) // 50))
        self._target = min(self._size, len(plan.blocks))
        self._outcomes: dict[str, dict[str, Outcome]] = {model: {} for model in models}
        self._scores = {model: _Scores() for model in models}
        self._pairs = Pairs(plan, len(self._models), rules.margin)
        self._gates = {model: GateWatch(plan, rules.gates) for model in models}
        self._breaches: dict[str, dict[str, int]] = {model: {} for model in models}
        self._beaten: dict[str, dict[str, Dropped]] = {model: {} for model in models}
        """By model, the model that is shown to be better."""
        self._invalid: dict[str, Dropped] = {}
        self._ranking = log_threshold(max(1, len(models) - 1), rules.alpha * RANKING_SHARE)
        tested = max(1, len(models) * len(rules.gates))
        self._gating = log_threshold(tested, rules.alpha * (1 - RANKING_SHARE))
        self._stopped: Stop | None = None
        self._settle()

    def observe(self, model: str, call: str, outcome: Outcome) -> None:
        """Take note of what a model made of a call; nothing is decided by it yet."""
        self._outcomes[model].setdefault(call, outcome)

    def withdraw(self, model: str) -> None:
        """Remove a model that cannot be requested any more; those it had dropped may race again."""
        self._invalid.setdefault(model, Dropped("withdrawn", self._scores[model].blocks))
        self._settle()

    def wanted(self) -> dict[str, list[str]]:
        """By model still racing, the calls that the current round lacks."""
        if self._stopped is not None:
            return {}
        found = {}
        for model in self._racing():
            seen, read = self._outcomes[model], self._scores[model].blocks
            blocks = self._plan.blocks[read : self._target]
            missing = [call for block in blocks for call in block.calls if call not in seen]
            if missing:
                found[model] = missing
        return found

    def advance(self) -> bool:
        """Read the current round if it is complete; returns whether it was."""
        if self._stopped is not None or self.wanted():
            return False
        for model in self._racing():
            self._read(model)
        self._compare()
        self._settle()
        if self._stopped is None and not self._behind():
            self._target = min(self._target + self._size, len(self._plan.blocks))
        return True

    def standing(self) -> Standing:
        """The state of the race as a value."""
        out = {
            model: self._invalid.get(model) or next(iter(self._beating(model).values()))
            for model in self._models
            if model in self._invalid or self._beating(model)
        }
        return Standing(
            blocks=max((scores.blocks for scores in self._scores.values()), default=0),
            racing=self._racing(),
            dropped=out,
            stopped=self._stopped,
            means={model: self._scores[model].mean(self._plan) for model in self._models},
            read={model: self._scores[model].blocks for model in self._models},
            gates={model: self._gates[model].states(self._gating) for model in self._models},
        )

    def _racing(self) -> list[str]:
        return [m for m in self._models if m not in self._invalid and not self._beating(m)]

    def _beating(self, model: str) -> dict[str, Dropped]:
        """Who has shown to be better and may itself win: one that became invalid drops no other"""
        return {by: how for by, how in self._beaten[model].items() if by not in self._invalid}

    def _behind(self) -> bool:
        """Whether a model that is racing again lacks rounds that the others have"""
        return any(self._scores[model].blocks < self._target for model in self._racing())

    def _read(self, model: str) -> None:
        scores, outcomes = self._scores[model], self._outcomes[model]
        blocks = self._plan.blocks[scores.blocks : self._target]
        for block in blocks:
            found = [outcomes.pop(call) for call in block.calls]
            scores.add(block.stakes, found, self._plan.weights)
            for outcome in found:
                for slug in outcome.breached:
                    counted = self._breaches[model]
                    counted[slug] = counted.get(slug, 0) + 1
            self._gates[model].take(block, found)
        self._gates[model].bet()
        self._check_gates(model)

    def _check_gates(self, model: str) -> None:
        """Invalid for certain where no later call can mend it, by evidence where a rate is high"""
        blocks = self._scores[model].blocks
        for slug, number in self._breaches[model].items():
            size = self._plan.sizes[self._rules.call_gates[slug]]
            if number / size > self._rules.tolerance + FUZZ:
                self._invalid.setdefault(model, Dropped("call_gate", blocks, gate=slug))
        for slug, state in self._gates[model].states(self._gating).items():
            if state == "breached":
                self._invalid.setdefault(model, Dropped("rate_gate", blocks, gate=slug))

    def _compare(self) -> None:
        """Bet on every pair as far as both were read, and note who is beaten"""
        self._pairs.bet(list(self._scores.values()))
        racing = [self._models.index(model) for model in self._racing()]
        for i in racing:
            for j in racing:
                if i == j or self._models[i] in self._beaten[self._models[j]]:
                    continue
                sure = self._pairs.is_certain(i, j)
                if sure or self._pairs.peak(i, j) >= self._ranking:
                    beaten, by = self._models[j], self._models[i]
                    blocks = self._scores[beaten].blocks
                    self._beaten[beaten][by] = Dropped("bound" if sure else "worse", blocks, by)

    def _settle(self) -> None:
        racing = self._racing()
        if self._models and not racing:
            self._stopped = "none left"
        elif len(racing) == 1:
            self._stopped = "one left"
        elif not self._behind():
            self._stopped = self._enough(racing)

    def _enough(self, racing: Sequence[str]) -> Stop | None:
        """Why no further round is needed, though several models are left

        A rate that is above its limit so far may yet drop a model, so that the race continues.
        """
        if self._target >= len(self._plan.blocks):
            return "within margin" if self._within_margin(racing) else "data spent"
        if any(self._gates[model].may_breach(self._gating) for model in racing):
            return None
        if self._within_margin(racing):
            return "within margin"
        return "futile" if self._is_futile(racing) else None

    def _within_margin(self, racing: Sequence[str]) -> bool:
        at = [self._models.index(model) for model in racing]
        return bool(self._rules.margin) and all(
            self._pairs.margin_peak(i, j) >= self._ranking for i in at for j in at if i != j
        )

    def _is_futile(self, racing: Sequence[str]) -> bool:
        """An estimate: not even the full data would separate them"""
        at = [self._models.index(model) for model in racing]
        if self._scores[racing[0]].blocks < FEWEST_FOR_ESTIMATES:
            return False
        return all(self._pairs.is_futile(i, j, self._ranking) for i in at for j in at if i != j)


class _Scores:
    """The scores of one model, block by block."""

    def __init__(self) -> None:
        self.blocks = 0
        self._rows: list[tuple[float, float, float, float]] = []
        self._totals = (0.0, 0.0)

    def add(
        self, stakes: Sequence[float], outcomes: Sequence[Outcome], weights: Mapping[str, float]
    ) -> None:
        """Add one block: what it represents, and its bounds."""
        least_stake = most_stake = least = most = 0.0
        for stake, outcome in zip(stakes, outcomes, strict=True):
            for task, (low, high) in outcome.scores.items():
                weight = weights[task]
                least += weight * low
                most += weight * high
                least_stake += stake * weight * low
                most_stake += stake * weight * high
        self._rows.append((least_stake, most_stake, least, most))
        self._totals = (self._totals[0] + least, self._totals[1] + most)
        self.blocks += 1

    def rows(self, start: int, end: int) -> Array:
        """least and most by stake, least and most as seen: one row a block."""
        return np.array(self._rows[start:end])

    def mean(self, plan: Schedule) -> tuple[float, float]:
        """The mean score of what was read, at least and at most."""
        if not self.blocks:
            return 0.0, 1.0
        whole = self.blocks if plan.about == "future" else 1 - plan.blocks[self.blocks - 1].left
        return self._totals[0] / whole, self._totals[1] / whole
