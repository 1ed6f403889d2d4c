"""All ordered pairs of a race: is i better than j, and are they within the margin (STATS §4.3)?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from callscore.stats.betting import (
    Array,
    Draws,
    Evidence,
    bet_future,
    bet_pool,
    log_mean,
    no_evidence,
)
from callscore.stats.blocks import Schedule

OPTIMISM = 2.0
"""Standard errors above the mean that an extrapolation grants."""
PREDICTION = 1.959963984540054
"""Normal quantile of a 95 % prediction interval."""
FUZZ = 1e-9


class BlockScores(Protocol):
    """The scores of one model, block by block."""

    blocks: int

    def rows(self, start: int, end: int) -> Array:
        """least and most by stake, least and most as seen: one row a block."""
        ...


class Pairs:
    """Evidence for every ordered pair (i, j), one row each; read as far as both models were."""

    def __init__(self, plan: Schedule, models: int, margin: float) -> None:
        self._plan = plan
        self._models = models
        self._limit = np.array([0.0, -margin])
        rows = models * models
        self._better = no_evidence(rows)
        self._close = no_evidence(rows)
        self._read = np.zeros(rows, dtype=np.int64)
        self._mean_of = np.zeros(rows)
        self._squares = np.zeros(rows)
        blocks = plan.blocks
        self._reach = np.array([block.reach for block in blocks])
        self._left = np.array([1.0, *(block.left for block in blocks)])

    def bet(self, models: Sequence[BlockScores]) -> None:
        """Bet on the blocks that are new to a pair; pairs that are equally far go together."""
        lengths = np.array([scores.blocks for scores in models])
        to = np.minimum.outer(lengths, lengths).ravel()
        first, second = np.divmod(np.arange(self._models**2), self._models)
        open_rows = (first != second) & (to > self._read)
        for start, end in {(int(self._read[r]), int(to[r])) for r in np.flatnonzero(open_rows)}:
            rows = np.flatnonzero(open_rows & (self._read == start) & (to == end))
            new = {int(m): models[m].rows(start, end) for m in {*first[rows], *second[rows]}}
            one = np.stack([new[int(i)] for i in first[rows]])
            other = np.stack([new[int(j)] for j in second[rows]])
            reach = self._reach[start:end]
            value = one[:, :, 0] - other[:, :, 1]
            seen = one[:, :, 2] - other[:, :, 3]
            draws = Draws(value, seen, np.broadcast_to(-reach, value.shape))
            self._take(rows, draws, value / reach)
            self._read[rows] = end

    def _take(self, at: NDArray[np.intp], draws: Draws, scaled: Array) -> None:
        bet = bet_pool if self._plan.about == "pool" else bet_future
        for kept, limit in ((self._better, self._limit[0]), (self._close, self._limit[1])):
            part = bet(Evidence(*(of[at] for of in kept)), draws, np.full(len(at), limit))
            for whole, new in zip(kept, part, strict=True):
                whole[at] = new
        self._mean_of[at] += scaled.sum(axis=1)
        self._squares[at] += (scaled**2).sum(axis=1)

    def peak(self, i: int, j: int) -> float:
        """Running maximum of log E that i is better than j."""
        return float(self._better.peak[i * self._models + j])

    def margin_peak(self, i: int, j: int) -> float:
        """The same that i is not worse than j by the margin."""
        return float(self._close.peak[i * self._models + j])

    def is_certain(self, i: int, j: int) -> bool:
        """Whether the calls that are left could not bring j up to i        STATS §4.4

        That is a fact about this data set. About future calls it says nothing.
        """
        row = i * self._models + j
        left = self._left[self._read[row]]
        return self._plan.about == "pool" and bool(self._better.total[row] > left + FUZZ)

    def is_futile(self, i: int, j: int, log_threshold: float) -> bool:
        """An estimate: the full data would not show i to be better than j

        About future calls: growth as now, with a mean that is two standard errors better, does not
        reach the threshold. About the pool, which the full data always decides: 95 % of what is
        to be expected lies within the margin.
        """
        row = i * self._models + j
        n, blocks = int(self._read[row]), len(self._plan.blocks)
        mean = self._mean_of[row] / n
        variance = max(0.0, self._squares[row] / n - mean**2) * n / (n - 1)
        if self._plan.about == "pool":
            left = self._left[n]
            spread = left * math.sqrt(variance * (1 / max(1, blocks - n) + 1 / n))
            expected = abs(self._better.total[row] + left * mean)
            return bool(expected + PREDICTION * spread < -self._limit[1])
        hoped = mean + OPTIMISM * math.sqrt(variance / n)
        if hoped <= 0:
            return True
        square = variance + hoped**2
        bet = min(1.0, hoped / square)
        growth = bet * hoped - bet**2 * square / 2
        now = float(log_mean(self._better.logs[row]))
        return bool(now + growth * (blocks - n) < log_threshold)
