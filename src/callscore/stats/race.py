"""The race: eliminates models round by round in a seeded order of calls (STATS §4).

Only complete rounds are read, never the order of completion, so the result depends only on the seed
and the replies. The best model is eliminated with a probability of at most α, at any stopping time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from callscore.stats.race_schedule import Schedule
from callscore.stats.race_tests import (
    Array,
    GateState,
    GateTests,
    PairTests,
    RateGate,
    log_threshold,
)

RANKING_ALPHA_SHARE = 0.6
"""The share of α for the ranking; the rest is for models × rate gates (STATS §4.5: .03, .02)."""
EPSILON = 1e-9
MIN_BLOCKS_FOR_ESTIMATES = 30
"""Blocks to read before anything is extrapolated."""
FINISHING_ROUNDS = 5
"""Rounds that are sent at once when one model is left. It is finished before it is named: of
winners with one broken answer in 200, the full run disqualified 39 % (STATS §4.7)."""

EliminationReason = Literal["worse", "bound", "call_gate", "rate_gate", "withdrawn"]
StopReason = Literal["one left", "none left", "within margin", "futile", "data spent"]


class CallOutcome(NamedTuple):
    """The scores and counts of one model on one call."""

    scores: Mapping[str, tuple[float, float]]
    """By task, the lower and upper bound of the score, which are equal unless the call failed.

    If a call has several cases of a task, their sum; for future calls, their mean.
    """
    counts: Mapping[str, tuple[float, float] | None] = {}
    """By rate gate, events and items; None if unknown."""
    breached: frozenset[str] = frozenset()
    """The call gates that it breaches."""


class RaceRules(NamedTuple):
    """The error level, the margin and the gates of a race."""

    alpha: float = 0.05
    margin: float = 0.01
    """Models whose Finals differ by less are equivalent."""
    clear_margin: float = 0.02
    """A model whose Final is lower by more than this is clearly worse: `decide.margin` (C-138)."""
    round_size: int | None = None
    """Blocks per round; None for a size that depends on the data."""
    least_round: int = 1
    """The fewest blocks per round, where a round is slow however small it is (batch APIs)."""
    gates: Sequence[RateGate] = ()
    call_gates: Mapping[str, str] = {}
    """Slug of a call gate to its task."""
    tolerance: float = 0.0
    """The share of calls that may breach a call gate."""


class Elimination(NamedTuple):
    """When and why a model was eliminated."""

    why: EliminationReason
    blocks: int
    """Blocks of the model that were read."""
    by: str | None = None
    """The better model."""
    gate: str | None = None


class RaceState(NamedTuple):
    """The state of a race after its last complete round."""

    blocks: int
    racing: Sequence[str]
    eliminated: Mapping[str, Elimination]
    stopped: StopReason | None
    means: Mapping[str, tuple[float, float]]
    """By model, the lower and upper bound of the mean score of its blocks."""
    read: Mapping[str, int]
    """By model, the number of blocks that were read."""
    gates: Mapping[str, Mapping[str, GateState]]
    """The state of every rate gate, by model."""
    calls: Mapping[str, int]
    """By model, the number of calls that were read."""
    blocked: Mapping[str, int]
    """By model, how many of them breach a call gate."""
    finished: frozenset[str]
    """Models of which every call was read."""
    clearly_worse: frozenset[str]
    """Models that are shown to be worse than the only one left by more than the clear margin."""

    @property
    def estimate(self) -> bool:
        """Whether the race stopped because of an estimate, not of a guarantee"""
        return self.stopped == "futile"

    @property
    def winner(self) -> str | None:
        """The only model left, if it was compared with another one        STATS §4.7"""
        compared = any(one.why != "withdrawn" for one in self.eliminated.values())
        return self.racing[0] if len(self.racing) == 1 and compared else None


class Race:
    """Collects outcomes in any order, reads complete rounds, and says which calls to send next."""

    def __init__(self, plan: Schedule, models: Sequence[str], rules: RaceRules) -> None:
        self._plan = plan
        self._models = list(models)
        self._rules = rules
        size = rules.round_size or min(20, max(10, len(plan.blocks) // 50))
        self._round_size = max(size, rules.least_round)
        self._outcomes: dict[str, dict[str, CallOutcome]] = {model: {} for model in models}
        self._scores = {model: _ModelScores() for model in models}
        self._pairs = PairTests(plan, len(self._models), rules.margin, rules.clear_margin)
        self._finished: set[str] = set()
        """Models of which every call is read, those in no block too."""
        self._gates = {model: GateTests(plan, rules.gates) for model in models}
        self._breaches: dict[str, dict[str, int]] = {model: {} for model in models}
        self._calls = dict.fromkeys(models, 0)
        self._blocked = dict.fromkeys(models, 0)
        self._beaten_by: dict[str, dict[str, Elimination]] = {model: {} for model in models}
        """By model, the models that were shown to be better."""
        self._invalid: dict[str, Elimination] = {}
        self._ranking_threshold = log_threshold(
            max(1, len(models) - 1), rules.alpha * RANKING_ALPHA_SHARE
        )
        tested = max(1, len(models) * len(rules.gates))
        self._gate_threshold = log_threshold(tested, rules.alpha * (1 - RANKING_ALPHA_SHARE))
        self._stopped: StopReason | None = None
        self._update_stop()

    def observe(self, model: str, call: str, outcome: CallOutcome) -> None:
        """Add the outcome of a model on a call; it is read with its round."""
        self._outcomes[model].setdefault(call, outcome)

    def withdraw(self, model: str) -> None:
        """Remove a model that fails; models that only it had eliminated are in the race again."""
        self._invalid.setdefault(model, Elimination("withdrawn", self._scores[model].blocks))
        self._update_stop()

    def missing_calls(self) -> dict[str, list[str]]:
        """The calls that the current round still needs, by model."""
        if self._stopped is not None:
            return {}
        missing_by_model = {}
        end = self._round_end()
        for model in self._racing_models():
            seen, read = self._outcomes[model], self._scores[model].blocks
            calls = [call for block in self._plan.blocks[read:end] for call in block.calls]
            if self._reads_others(end):
                calls += self._plan.others
            missing = [call for call in calls if call not in seen]
            if missing:
                missing_by_model[model] = missing
        return missing_by_model

    def _round_end(self) -> int:
        """The block at which the current round ends

        Models that are in the race again catch up first. The only model left is finished in larger
        rounds: no other model can be eliminated, and a gate that it breaches ends them.
        """
        read = [self._scores[model].blocks for model in self._racing_models()]
        if min(read) < max(read):
            return max(read)
        size = self._round_size if len(read) > 1 else FINISHING_ROUNDS * self._round_size
        return min(read[0] + size, len(self._plan.blocks))

    def _reads_others(self, end: int) -> bool:
        """Whether the round of the only model left also has the calls that are in no block"""
        return len(self._racing_models()) == 1 and end == len(self._plan.blocks)

    def advance(self) -> bool:
        """Read the current round if it is complete; returns whether it was."""
        if self._stopped is not None or self.missing_calls():
            return False
        end = self._round_end()
        reads_others = self._reads_others(end)
        for model in self._racing_models():
            self._read(model, end)
            if reads_others:
                self._read_others(model)
            self._check_gates(model)
        self._compare()
        self._update_stop()
        return True

    def state(self) -> RaceState:
        """The current state, as an immutable value."""
        eliminated = {
            model: self._invalid.get(model) or next(iter(self._valid_betters(model).values()))
            for model in self._models
            if model in self._invalid or self._valid_betters(model)
        }
        racing = self._racing_models()
        return RaceState(
            blocks=max((scores.blocks for scores in self._scores.values()), default=0),
            racing=racing,
            eliminated=eliminated,
            stopped=self._stopped,
            means={model: self._scores[model].mean(self._plan) for model in self._models},
            read={model: self._scores[model].blocks for model in self._models},
            gates={model: self._gate_states(model) for model in self._models},
            calls=dict(self._calls),
            blocked=dict(self._blocked),
            finished=frozenset(self._finished),
            clearly_worse=self._clearly_worse_than(racing[0]) if len(racing) == 1 else frozenset(),
        )

    def _clearly_worse_than(self, best: str) -> frozenset[str]:
        i = self._models.index(best)
        return frozenset(
            model
            for j, model in enumerate(self._models)
            if i != j and self._pairs.is_clearly_better(i, j, self._ranking_threshold)
        )

    def _gate_states(self, model: str) -> dict[str, GateState]:
        is_complete = model in self._finished
        return self._gates[model].states(self._gate_threshold, is_complete=is_complete)

    def _racing_models(self) -> list[str]:
        return [m for m in self._models if m not in self._invalid and not self._valid_betters(m)]

    def _valid_betters(self, model: str) -> dict[str, Elimination]:
        """The better models that can win themselves: an invalid model eliminates no other"""
        return {
            by: elimination
            for by, elimination in self._beaten_by[model].items()
            if by not in self._invalid
        }

    def _read(self, model: str, end: int) -> None:
        scores, outcomes = self._scores[model], self._outcomes[model]
        for block in self._plan.blocks[scores.blocks : end]:
            popped = [outcomes.pop(call) for call in block.calls]
            scores.add(block.sampling_weights, popped, self._plan.weights)
            self._count_breaches(model, popped)
            self._gates[model].add(block, popped)
        self._gates[model].update()
        if scores.blocks == len(self._plan.blocks) and not self._plan.others:
            self._finished.add(model)

    def _read_others(self, model: str) -> None:
        popped = [self._outcomes[model].pop(call) for call in self._plan.others]
        self._count_breaches(model, popped)
        self._gates[model].finish(popped)
        self._finished.add(model)

    def _count_breaches(self, model: str, outcomes: Sequence[CallOutcome]) -> None:
        breaches = self._breaches[model]
        self._calls[model] += len(outcomes)
        for outcome in outcomes:
            self._blocked[model] += bool(outcome.breached)
            for slug in outcome.breached:
                breaches[slug] = breaches.get(slug, 0) + 1

    def _check_gates(self, model: str) -> None:
        """Eliminate a model whose call gate cannot hold any more, or whose rate gate is breached"""
        blocks = self._scores[model].blocks
        for slug, number in self._breaches[model].items():
            size = self._plan.sizes[self._rules.call_gates[slug]]
            if number / size > self._rules.tolerance + EPSILON:
                self._invalid.setdefault(model, Elimination("call_gate", blocks, gate=slug))
        for slug, state in self._gate_states(model).items():
            if state == "breached":
                self._invalid.setdefault(model, Elimination("rate_gate", blocks, gate=slug))

    def _compare(self) -> None:
        """Update the test of every pair, and note which models are beaten"""
        self._pairs.update(list(self._scores.values()))
        racing = [self._models.index(model) for model in self._racing_models()]
        for i in racing:
            for j in racing:
                if i == j or self._models[i] in self._beaten_by[self._models[j]]:
                    continue
                certain = self._pairs.is_certain(i, j)
                if certain or self._pairs.peak(i, j) >= self._ranking_threshold:
                    beaten, by = self._models[j], self._models[i]
                    blocks = self._scores[beaten].blocks
                    self._beaten_by[beaten][by] = Elimination(
                        "bound" if certain else "worse", blocks, by
                    )

    def _update_stop(self) -> None:
        racing = self._racing_models()
        read = {self._scores[model].blocks for model in racing}
        if self._models and not racing:
            self._stopped = "none left"
        elif len(racing) == 1:
            self._stopped = "one left" if self._is_settled(racing[0]) else None
        else:
            self._stopped = self._stop_reason(racing) if len(read) == 1 else None

    def _is_settled(self, model: str) -> bool:
        """Whether no further call can change that the only model left is valid        STATS §4.7

        It need not be valid if it was compared with no other model.
        """
        if model in self._finished or all(
            other in self._invalid and self._invalid[other].why == "withdrawn"
            for other in self._models
            if other != model
        ):
            return True
        return not self._rules.gates and not self._rules.call_gates

    def _stop_reason(self, racing: Sequence[str]) -> StopReason | None:
        """Why no further round is needed although several models are left; None if one is

        While a rate is above its limit, it can still eliminate a model, and the race continues.
        """
        if self._scores[racing[0]].blocks >= len(self._plan.blocks):
            return "within margin" if self._within_margin(racing) else "data spent"
        if any(self._gates[model].may_breach(self._gate_threshold) for model in racing):
            return None
        if self._within_margin(racing):
            return "within margin"
        return "futile" if self._is_futile(racing) else None

    def _within_margin(self, racing: Sequence[str]) -> bool:
        at = [self._models.index(model) for model in racing]
        return bool(self._rules.margin) and all(
            self._pairs.noninferiority_peak(i, j) >= self._ranking_threshold
            for i in at
            for j in at
            if i != j
        )

    def _is_futile(self, racing: Sequence[str]) -> bool:
        """Whether, by an estimate, even the full data would not separate them"""
        at = [self._models.index(model) for model in racing]
        if self._scores[racing[0]].blocks < MIN_BLOCKS_FOR_ESTIMATES:
            return False
        return all(
            self._pairs.is_futile(i, j, self._ranking_threshold) for i in at for j in at if i != j
        )


class _ModelScores:
    """The scores of one model by block."""

    def __init__(self) -> None:
        self.blocks = 0
        self._rows: list[tuple[float, float, float, float]] = []
        self._totals = (0.0, 0.0)

    def add(
        self, stakes: Sequence[float], outcomes: Sequence[CallOutcome], weights: Mapping[str, float]
    ) -> None:
        """Add the bounds of one block, weighted by what it represents and as observed."""
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
        """One row per block: lower and upper bound weighted, lower and upper bound as observed."""
        return np.array(self._rows[start:end])

    def mean(self, plan: Schedule) -> tuple[float, float]:
        """The lower and upper bound of the mean score of the blocks read."""
        if not self.blocks:
            return 0.0, 1.0
        whole = (
            self.blocks if plan.about == "future" else 1 - plan.blocks[self.blocks - 1].remaining
        )
        return self._totals[0] / whole, self._totals[1] / whole
