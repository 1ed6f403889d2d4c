"""Tests of rate gates in a race: a pooled rate against its limit, both ways (STATS §4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from callscore.stats.blocks import CallBlock, Schedule
from callscore.stats.e_process import Array, Draws, initial_e_process, update_future, update_pool

GateState = Literal["held", "breached", "open"]
EPSILON = 1e-9


class RateGate(NamedTuple):
    """The share of events among the items of a task must be at most `limit`."""

    slug: str
    task: str
    limit: float
    max_items: float
    """The most items of a call, counted in the references before the first request."""


class GateCounts(Protocol):
    """The counts of one call."""

    @property
    def counts(self) -> Mapping[str, tuple[float, float] | None]:
        """By gate, events and items; None if unknown."""

    @property
    def scores(self) -> Mapping[str, tuple[float, float]]:
        """The scores by task; its keys are the tasks of the call."""


class GateTests:
    """Tests of the rate gates of one model: whether each is breached, and whether it holds.

    The largest weight of a call, which bounds the bets, is the number of items of the fullest
    reference. A model whose answers have more items raises it for its later rounds.
    """

    def __init__(self, schedule: Schedule, gates: Sequence[RateGate]) -> None:
        self._schedule = schedule
        self._gates = [_GateTest(gate, schedule) for gate in gates]

    def add(self, block: CallBlock, outcomes: Sequence[GateCounts]) -> None:
        """Add the counts of a block."""
        for gate in self._gates:
            gate.add(block, outcomes)

    def update(self) -> None:
        """Update the tests with the blocks that were added since the last update."""
        for gate in self._gates:
            gate.update()

    def finish(self, outcomes: Sequence[GateCounts]) -> None:
        """Add the counts of calls that are in no block, which are only part of the whole rate."""
        for gate in self._gates:
            gate.count(outcomes)

    def states(self, log_threshold: float, *, is_complete: bool) -> dict[str, GateState]:
        """The state of every gate at this threshold; exact if all calls are counted."""
        return {
            gate.rule.slug: gate.state(log_threshold, is_complete=is_complete)
            for gate in self._gates
        }

    def may_breach(self, log_threshold: float) -> bool:
        """Whether a rate is above its limit so far and its gate is still open."""
        return any(
            gate.is_above_limit and gate.state(log_threshold, is_complete=False) == "open"
            for gate in self._gates
        )


class _BlockCounts(NamedTuple):
    block: CallBlock
    counts: Sequence[tuple[float, tuple[float, float] | None]]
    """By call, how many calls it represents, and its counts."""


class _GateTest:
    def __init__(self, rule: RateGate, schedule: Schedule) -> None:
        self.rule = rule
        self._is_pool = schedule.about == "pool"
        self._pending: list[_BlockCounts] = []
        self._state = initial_e_process(2)
        self._max_items = rule.max_items
        self._events = self._items = 0.0
        self._counted_calls = self._unknown_calls = 0

    def add(self, block: CallBlock, outcomes: Sequence[GateCounts]) -> None:
        counts = [
            (weight, outcome.counts.get(self.rule.slug))
            for weight, outcome in zip(block.sampling_weights, outcomes, strict=True)
            if self.rule.task in outcome.scores
        ]
        self._pending.append(_BlockCounts(block, counts))
        self.count(outcomes)

    def count(self, outcomes: Sequence[GateCounts]) -> None:
        for outcome in outcomes:
            if self.rule.task not in outcome.scores:
                continue
            count = outcome.counts.get(self.rule.slug)
            self._counted_calls += 1
            self._unknown_calls += count is None
            self._events += count[0] if count else 0.0
            self._items += count[1] if count else 0.0

    @property
    def is_above_limit(self) -> bool:
        """Whether the rate so far is above the limit"""
        return self._events > self.rule.limit * self._items + EPSILON

    def state(self, log_threshold: float, *, is_complete: bool) -> GateState:
        if is_complete and self._counted_calls and not self._unknown_calls:
            return "breached" if self.is_above_limit else "held"
        breached, held = self._state.peak
        if breached >= log_threshold:
            return "breached"
        return "held" if held >= log_threshold else "open"

    def update(self) -> None:
        """Bet on the pending counts; what they show about weights is for later bets"""
        if self._max_items and self._pending:
            self._observe_with_bet()
        elif self._pending:
            self._observe_without_bet()
        items = [count[1] for pending in self._pending for _, count in pending.counts if count]
        self._max_items = max([self._max_items, *items])
        self._pending.clear()

    def _observe_without_bet(self) -> None:
        """No reference has an item, so nothing is known about the weight of a call yet"""
        total = self._state.total.copy()
        for pending in self._pending:
            for _, count in pending.counts:
                total += self._values(count)
        self._state = self._state._replace(total=total)

    def _observe_with_bet(self) -> None:
        value, observed, least = (np.zeros((2, len(self._pending))) for _ in range(3))
        for at, pending in enumerate(self._pending):
            least[:, at] = self._least() * pending.block.represented.get(self.rule.task, 0.0)
            for weight, count in pending.counts:
                values = self._values(count)
                value[:, at] += weight * values
                observed[:, at] += values
        update = update_pool if self._is_pool else update_future
        self._state = update(self._state, Draws(value, observed, least), np.zeros(2))

    def _least(self) -> Array:
        limit = self.rule.limit
        return -self._max_items * np.array([limit, 1 - limit])

    def _values(self, count: tuple[float, float] | None) -> Array:
        """events − limit × items, and its negative; their lower bounds if the count is unknown"""
        if count is None:
            return self._least()
        events, items = count
        excess = events - self.rule.limit * items
        return np.array([excess, -excess])
