"""Rate gates in a race: a pooled rate against its limit, in both directions (STATS §4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from callscore.stats.betting import Array, Draws, bet_future, bet_pool, no_evidence
from callscore.stats.blocks import Block, Schedule

GateState = Literal["held", "breached", "open"]
FUZZ = 1e-9


class RateGate(NamedTuple):
    """Events of all items of a task must be at most `limit`."""

    slug: str
    task: str
    limit: float


class Counted(Protocol):
    """What was counted on a call."""

    @property
    def counts(self) -> Mapping[str, tuple[float, float] | None]:
        """By gate, events and items; None if unknown."""

    @property
    def scores(self) -> Mapping[str, tuple[float, float]]:
        """By task: which tasks the call has."""


class GateWatch:
    """The rate gates of one model: evidence that each is breached, and that it holds.

    What a call weighs is bounded by the fullest call of the rounds before the first bet: a later
    one with more items counts as one with this many, at the same rate.
    """

    def __init__(self, plan: Schedule, gates: Sequence[RateGate]) -> None:
        self._plan = plan
        self._gates = [_OneGate(gate, plan) for gate in gates]

    def take(self, block: Block, outcomes: Sequence[Counted]) -> None:
        """Note the counts of a block."""
        for gate in self._gates:
            gate.take(block, outcomes)

    def bet(self) -> None:
        """Bet on what was noted since the last time."""
        for gate in self._gates:
            gate.bet()

    def states(self, log_threshold: float) -> dict[str, GateState]:
        """What is shown about every gate at this level."""
        return {gate.rule.slug: gate.state(log_threshold) for gate in self._gates}

    def may_breach(self, log_threshold: float) -> bool:
        """Whether a rate is above its limit so far, and nothing is shown yet."""
        return any(gate.is_above and gate.state(log_threshold) == "open" for gate in self._gates)


class _Noted(NamedTuple):
    block: Block
    counts: Sequence[tuple[float, tuple[float, float] | None]]
    """How many calls each represents, and what was counted."""


class _OneGate:
    def __init__(self, rule: RateGate, plan: Schedule) -> None:
        self.rule = rule
        self._pool = plan.about == "pool"
        self._calls = plan.sizes.get(rule.task, 0)
        self._new: list[_Noted] = []
        self._evidence = no_evidence(2)
        self._fullest = 0.0
        self._events = self._items = 0.0
        self._seen = self._unknown = 0

    def take(self, block: Block, outcomes: Sequence[Counted]) -> None:
        counts = [
            (stake, outcome.counts.get(self.rule.slug))
            for stake, outcome in zip(block.stakes, outcomes, strict=True)
            if self.rule.task in outcome.scores
        ]
        self._new.append(_Noted(block, counts))
        for _, count in counts:
            self._seen += 1
            self._unknown += count is None
            self._events += count[0] if count else 0.0
            self._items += count[1] if count else 0.0

    @property
    def is_above(self) -> bool:
        """Whether more than the limit of what was counted so far are events"""
        return self._events > self.rule.limit * self._items + FUZZ

    def state(self, log_threshold: float) -> GateState:
        if self._calls and self._seen >= self._calls and not self._unknown:
            return "breached" if self.is_above else "held"
        breached, held = self._evidence.peak
        if breached >= log_threshold:
            return "breached"
        return "held" if held >= log_threshold else "open"

    def bet(self) -> None:
        """The first counts only bound what a call may weigh; they are seen, but not bet on"""
        if not self._fullest:
            items = [count[1] for noted in self._new for _, count in noted.counts if count]
            self._fullest = max(items, default=0.0)
            if not self._fullest:
                return
            self._skip()
        elif self._new:
            self._stake()
        self._new.clear()

    def _skip(self) -> None:
        total = self._evidence.total.copy()
        for noted in self._new:
            for _, count in noted.counts:
                total += self._values(count)
        self._evidence = self._evidence._replace(total=total)

    def _stake(self) -> None:
        value, seen, least = (np.zeros((2, len(self._new))) for _ in range(3))
        for at, noted in enumerate(self._new):
            least[:, at] = self._least() * noted.block.drawn.get(self.rule.task, 0.0)
            for stake, count in noted.counts:
                values = self._values(count)
                value[:, at] += stake * values
                seen[:, at] += values
        bet = bet_pool if self._pool else bet_future
        self._evidence = bet(self._evidence, Draws(value, seen, least), np.zeros(2))

    def _least(self) -> Array:
        limit = self.rule.limit
        return -self._fullest * np.array([limit, 1 - limit])

    def _values(self, count: tuple[float, float] | None) -> Array:
        """events − limit × items, and its opposite; a call that could not be counted is at
        its worst
        """
        if count is None:
            return self._least()
        events, items = count
        excess = events - self.rule.limit * items
        if items > self._fullest:
            excess *= self._fullest / items
        return np.array([excess, -excess])
