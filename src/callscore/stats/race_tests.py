"""The tests of a race, valid at any stopping time: pairs of models, and gates of rates (STATS §4).

Each process bets against a null hypothesis "the mean is at most L". Under the hypothesis no bet has
a positive expected gain, so wealth that ever reaches 1/α rejects it at level α, at any stopping
time (Ville). Many hypotheses are tested in parallel, in arrays with one row per hypothesis.

A pair is tested both ways: better, better by a margin, not worse by a margin (STATS §4.3). A
pooled rate is tested against its limit, both ways (STATS §4.5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from callscore.stats.race_schedule import CallBlock, Schedule

Array: TypeAlias = NDArray[np.float64]

BET_FRACTIONS = np.arange(1, 17) / 16
"""Fractions of the largest legal bet. Scores of calls differ little, so large bets are the better
ones: squares and powers of 3/4 took 3 to 20 % more calls in simulations."""
EPSILON = 1e-12
"""Rounding error of sums: a difference of more than this is certain."""


class EProcess(NamedTuple):
    """The state of e-processes, one row per hypothesis; never changed in place."""

    log_wealth: Array
    """Hypotheses × bet fractions."""
    total: Array
    """The sum of the values observed so far."""
    peak: Array
    """Running maximum of log E; infinite if the hypothesis is certainly false."""


class Draws(NamedTuple):
    """The next draws in order: hypotheses × draws."""

    value: Array
    """An unbiased estimate of the rest of the pool, or of the mean of future calls."""
    observed: Array
    """The part of the pool's total that the draw reveals."""
    least: Array
    """The lower bound of `value`, known before the draw."""


def initial_e_process(hypotheses: int) -> EProcess:
    """The state before the first draw: E = 1"""
    return EProcess(
        np.zeros((hypotheses, len(BET_FRACTIONS))), np.zeros(hypotheses), np.zeros(hypotheses)
    )


def update_pool(state: EProcess, draws: Draws, limit: Array) -> EProcess:
    """Π(1 + λ·c_s·(D_s − μ_s)), μ_s = L − S_{s−1}        STATS §4.3, H₀: total of the pool ≤ L

    Without replacement: under H₀ the rest of the pool is at most L − S, which bounds the mean of
    the next draw. If even the lower bound of a draw exceeds it, H₀ is certainly false.
    """
    before = _running_sums(state.total, draws.observed)
    return _update(state, draws, limit[:, None] - before[:, :-1], before[:, -1])


def update_future(state: EProcess, draws: Draws, limit: Array) -> EProcess:
    """Π(1 + λ·c·(D_s − L))        STATS §4.3, H₀: mean of future calls ≤ L"""
    mean = np.broadcast_to(limit[:, None], draws.value.shape)
    return _update(state, draws, mean, _running_sums(state.total, draws.observed)[:, -1])


def _running_sums(start: Array, added: Array) -> Array:
    """start, start + a₁, start + a₁ + a₂ …, one by one: splitting the draws changes no digit"""
    return np.cumsum(np.concatenate([start[:, None], added], axis=1), axis=1)


def _update(state: EProcess, draws: Draws, mean: Array, total: Array) -> EProcess:
    """Bet λ times the largest legal bet, c = 1 / (μ − least), on every draw"""
    margin = mean - draws.least
    can_bet = margin > EPSILON
    gain = np.where(can_bet, (draws.value - mean) / np.where(can_bet, margin, 1.0), 0.0)
    factors = np.maximum(1.0 + gain[:, :, None] * BET_FRACTIONS, 0.0)
    with np.errstate(divide="ignore"):  # a bet of the whole wealth can lose it
        steps = np.log(factors)
    logs = np.cumsum(np.concatenate([state.log_wealth[:, None, :], steps], axis=1), axis=1)
    peak = np.maximum(state.peak, log_mean_exp(logs).max(axis=1))
    certain = (margin < -EPSILON).any(axis=1)
    return EProcess(logs[:, -1, :], total, np.where(certain, np.inf, peak))


def log_mean_exp(logs: Array) -> Array:
    """log of the mean of exp(logs) over the bet fractions"""
    summed: Array = np.logaddexp.reduce(logs, axis=-1)
    return summed - math.log(len(BET_FRACTIONS))


def log_threshold(hypotheses: int, alpha: float) -> float:
    """log(hypotheses / α): the threshold of log E, Bonferroni-corrected"""
    return math.log(hypotheses / alpha)


OPTIMISTIC_ERRORS = 2.0
"""Standard errors that are added to the mean of an extrapolation."""
PREDICTION_QUANTILE = 1.959963984540054
"""The normal quantile of a 95 % prediction interval."""
COUNT_EPSILON = 1e-9
"""The same for sums over all calls of a race, which have more terms."""


class BlockScores(Protocol):
    """The scores of one model by block."""

    blocks: int

    def rows(self, start: int, end: int) -> Array:
        """One row per block: lower and upper bound weighted, lower and upper bound as observed."""
        ...


class PairTests:
    """E-processes of all ordered pairs (i, j), one row each, over the blocks of both models."""

    def __init__(self, schedule: Schedule, models: int, margin: float, clear_margin: float) -> None:
        """`margin`: models within it are equal. `clear_margin`: beyond it, one is clearly worse."""
        self._schedule = schedule
        self._models = models
        self._margin = margin
        self._clear_margin = clear_margin
        rows = models * models
        self._superiority = initial_e_process(rows)
        self._noninferiority = initial_e_process(rows)
        self._clear_superiority = initial_e_process(rows)
        self._read = np.zeros(rows, dtype=np.int64)
        self._sums = np.zeros(rows)
        self._squares = np.zeros(rows)
        blocks = schedule.blocks
        self._max_scores = np.array([block.max_score for block in blocks])
        self._remaining = np.array([1.0, *(block.remaining for block in blocks)])

    def update(self, models: Sequence[BlockScores]) -> None:
        """Update every pair with its new blocks; those with the same blocks together."""
        lengths = np.array([scores.blocks for scores in models])
        readable = np.minimum.outer(lengths, lengths).ravel()
        first, second = np.divmod(np.arange(self._models**2), self._models)
        open_rows = (first != second) & (readable > self._read)
        for start, end in {
            (int(self._read[r]), int(readable[r])) for r in np.flatnonzero(open_rows)
        }:
            rows = np.flatnonzero(open_rows & (self._read == start) & (readable == end))
            new = {int(m): models[m].rows(start, end) for m in {*first[rows], *second[rows]}}
            one = np.stack([new[int(i)] for i in first[rows]])
            other = np.stack([new[int(j)] for j in second[rows]])
            max_score = self._max_scores[start:end]
            value = one[:, :, 0] - other[:, :, 1]
            observed = one[:, :, 2] - other[:, :, 3]
            draws = Draws(value, observed, np.broadcast_to(-max_score, value.shape))
            self._update_rows(rows, draws, value / max_score)
            self._read[rows] = end

    def _update_rows(self, at: NDArray[np.intp], draws: Draws, scaled: Array) -> None:
        update = update_pool if self._schedule.about == "pool" else update_future
        for state, limit in (
            (self._superiority, 0.0),
            (self._noninferiority, -self._margin),
            (self._clear_superiority, self._clear_margin),
        ):
            part = update(EProcess(*(part[at] for part in state)), draws, np.full(len(at), limit))
            for whole, new in zip(state, part, strict=True):
                whole[at] = new
        self._sums[at] += scaled.sum(axis=1)
        self._squares[at] += (scaled**2).sum(axis=1)

    def peak(self, i: int, j: int) -> float:
        """The running maximum of log E for "i is better than j"."""
        return float(self._superiority.peak[i * self._models + j])

    def noninferiority_peak(self, i: int, j: int) -> float:
        """The running maximum of log E for "i is not worse than j by the margin"."""
        return float(self._noninferiority.peak[i * self._models + j])

    def is_certain(self, i: int, j: int) -> bool:
        """Whether i stays better than j whatever the remaining calls are        STATS §4.4

        This holds for the pool only, not for future calls.
        """
        return self._is_total_above(i, j, 0.0)

    def is_clearly_better(self, i: int, j: int, log_threshold: float) -> bool:
        """Whether i is shown to be better than j by more than the clear margin        C-138"""
        peak = float(self._clear_superiority.peak[i * self._models + j])
        return peak >= log_threshold or self._is_total_above(i, j, self._clear_margin)

    def _is_total_above(self, i: int, j: int, limit: float) -> bool:
        """Whether the difference in the pool exceeds the limit whatever the remaining calls are"""
        row = i * self._models + j
        remaining = self._remaining[self._read[row]]
        return self._schedule.about == "pool" and bool(
            self._superiority.total[row] > limit + remaining + COUNT_EPSILON
        )

    def is_futile(self, i: int, j: int, log_threshold: float) -> bool:
        """Whether, by an estimate, the full data would not show that i is better than j

        For future calls: log E would not reach the threshold even with a mean that is two standard
        errors better. For the pool, which the full data always decides: the 95 % prediction
        interval of the difference is within the margin.
        """
        row = i * self._models + j
        n, blocks = int(self._read[row]), len(self._schedule.blocks)
        mean = self._sums[row] / n
        variance = max(0.0, self._squares[row] / n - mean**2) * n / (n - 1)
        if self._schedule.about == "pool":
            remaining = self._remaining[n]
            spread = remaining * math.sqrt(variance * (1 / max(1, blocks - n) + 1 / n))
            expected = abs(self._superiority.total[row] + remaining * mean)
            return bool(expected + PREDICTION_QUANTILE * spread < self._margin)
        optimistic_mean = mean + OPTIMISTIC_ERRORS * math.sqrt(variance / n)
        if optimistic_mean <= 0:
            return True
        square = variance + optimistic_mean**2
        bet = min(1.0, optimistic_mean / square)
        growth = bet * optimistic_mean - bet**2 * square / 2
        now = float(log_mean_exp(self._superiority.log_wealth[row]))
        return bool(now + growth * (blocks - n) < log_threshold)


GateState = Literal["held", "breached", "open"]


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
        return self._events > self.rule.limit * self._items + COUNT_EPSILON

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
