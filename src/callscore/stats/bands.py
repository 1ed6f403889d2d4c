"""Rank bands: models that are not distinguishable share a band."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.intervals import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EPSILON = 1e-12


class RankRange(NamedTuple):
    """The best and the worst rank of a model that the data allow."""

    best: int
    worst: int


class Contrast(NamedTuple):
    """The difference of two models, given by index, with its simultaneous interval."""

    first: int
    second: int
    difference: float
    """Second minus first."""
    standard_error: float
    low: float
    high: float
    """Simultaneous interval: at the level, the intervals of all pairs hold together."""

    @property
    def significant(self) -> bool:
        """Whether the simultaneous interval excludes 0."""
        return self.low > EPSILON or self.high < -EPSILON


def compare_pairs(
    values: Sequence[float], resamples: Array, calls: int, level: float = LEVEL
) -> list[Contrast]:
    """difference ± q · se, q the quantile of max |t*| over all pairs        max-t; STATS §3

    `resamples` has a row per resample of calls and a column per model. A pair whose difference does
    not vary is significant only if a sign test on this many calls would be:
    2^(1 − n) · pairs ≤ 1 − level.
    """
    import numpy as np

    defined = resamples[~np.isnan(resamples).any(axis=1)]
    pairs = list(combinations(range(len(values)), 2))
    differences = [values[j] - values[i] for i, j in pairs]
    resampled_differences = [defined[:, j] - defined[:, i] for i, j in pairs]
    errors = [
        float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0
        for sample in resampled_differences
    ]
    max_t = np.zeros(len(defined))
    for difference, sample, error in zip(differences, resampled_differences, errors, strict=True):
        if error > EPSILON:
            max_t = np.maximum(max_t, np.abs(sample - difference) / error)
    max_t_quantile = float(np.quantile(max_t, level)) if len(max_t) else float("inf")
    sign_test_significant = calls > 1 and 2.0 ** (1 - min(calls, 1000)) * len(pairs) <= 1 - level
    contrasts = []
    for (i, j), difference, error in zip(pairs, differences, errors, strict=True):
        half = (
            max_t_quantile * error
            if error > EPSILON
            else (0.0 if sign_test_significant else float("inf"))
        )
        contrasts.append(Contrast(i, j, difference, error, difference - half, difference + half))
    return contrasts


def rank_bands(models: int, pairs: Sequence[Contrast]) -> list[RankRange]:
    """1 + models significantly better … k − models significantly worse        STATS §3"""
    better, worse = [0] * models, [0] * models
    for pair in pairs:
        if pair.significant:
            upper, lower = (
                (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
            )
            better[lower] += 1
            worse[upper] += 1
    return [RankRange(1 + better[at], models - worse[at]) for at in range(models)]
