"""Which ranks the data allow: models that cannot be distinguished share a band."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.intervals import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CLOSE = 1e-12


class Band(NamedTuple):
    """The best and the worst rank that a model may have."""

    best: int
    worst: int


class Contrast(NamedTuple):
    """Two models, by their place: how far apart they are, and whether that is significant."""

    first: int
    second: int
    difference: float
    """Second minus first."""
    standard_error: float
    low: float
    high: float
    """The simultaneous interval: all pairs hold theirs at once, at the level."""

    @property
    def significant(self) -> bool:
        """Whether the simultaneous interval leaves 0 out."""
        return self.low > CLOSE or self.high < -CLOSE


def contrasts(
    values: Sequence[float], resamples: Array, calls: int, level: float = LEVEL
) -> list[Contrast]:
    """difference ± q · se, q the quantile of max |t*| over all pairs        max-t; STATS §3

    `resamples` has one line per resample of calls and one column per model: all models on the same
    calls. Pairs whose difference does not vary are significant only if even the sign of this many
    calls would be: 2^(1 − n) · pairs ≤ 1 − level.
    """
    import numpy as np

    defined = resamples[~np.isnan(resamples).any(axis=1)]
    pairs = list(combinations(range(len(values)), 2))
    gaps = [values[j] - values[i] for i, j in pairs]
    drawn = [defined[:, j] - defined[:, i] for i, j in pairs]
    errors = [float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0 for sample in drawn]
    largest = np.zeros(len(defined))
    for gap, sample, error in zip(gaps, drawn, errors, strict=True):
        if error > CLOSE:
            largest = np.maximum(largest, np.abs(sample - gap) / error)
    factor = float(np.quantile(largest, level)) if len(largest) else float("inf")
    shows_signs = calls > 1 and 2.0 ** (1 - min(calls, 1000)) * len(pairs) <= 1 - level
    found = []
    for (i, j), gap, error in zip(pairs, gaps, errors, strict=True):
        half = factor * error if error > CLOSE else (0.0 if shows_signs else float("inf"))
        found.append(Contrast(i, j, gap, error, gap - half, gap + half))
    return found


def rank_bands(models: int, pairs: Sequence[Contrast]) -> list[Band]:
    """1 + models significantly better … k − models significantly worse        STATS §3"""
    better, worse = [0] * models, [0] * models
    for pair in pairs:
        if pair.significant:
            upper, lower = (
                (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
            )
            better[lower] += 1
            worse[upper] += 1
    return [Band(1 + better[at], models - worse[at]) for at in range(models)]
