"""Tests of all ordered pairs of a race: better, better by a margin, not worse by a margin
(STATS §4.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from callscore.stats.blocks import Schedule
from callscore.stats.e_process import (
    Array,
    Draws,
    EProcess,
    initial_e_process,
    log_mean_exp,
    update_future,
    update_pool,
)

OPTIMISTIC_ERRORS = 2.0
"""Standard errors that are added to the mean of an extrapolation."""
PREDICTION_QUANTILE = 1.959963984540054
"""The normal quantile of a 95 % prediction interval."""
EPSILON = 1e-9


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
            self._superiority.total[row] > limit + remaining + EPSILON
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
