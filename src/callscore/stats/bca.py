"""BCa bootstrap intervals, which correct for bias and skewness        Efron 1987"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.intervals import LEVEL, beta_quantile
from callscore.stats.resampling import Replicates

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

NORMAL = NormalDist()
EPSILON = 1e-12
"""Values that differ by less are equal up to rounding."""


class IntervalEstimate(NamedTuple):
    """An interval and its method: bca, percentile, clopper_pearson, design_effect, all_equal."""

    low: float
    high: float
    method: str


def bca_interval(
    replicates: Replicates, calls: int | None = None, level: float = LEVEL
) -> IntervalEstimate | None:
    """Percentiles of the replicates at Φ(z₀ + (z₀ + z) / (1 − a·(z₀ + z)))        Efron 1987

    Resamples of few calls vary too little: with `calls`, z is expanded by Student's t and
    √(n / (n − 1)) (Hesterberg 2015): 2.03 instead of 1.96 for 50 calls.

    Plain percentiles if the jackknife does not vary or is undefined; None if fewer than half of
    the resamples have a value. With `all_equal` nothing varies and both limits are the estimate:
    the caller replaces them by the rule of three.
    """
    import numpy as np

    values = replicates.resampled[np.isfinite(replicates.resampled)]
    if not math.isfinite(replicates.estimate) or 2 * len(values) < len(replicates.resampled):
        return None
    values.sort()
    if values[-1] - values[0] <= EPSILON * max(1.0, abs(replicates.estimate)):
        return IntervalEstimate(replicates.estimate, replicates.estimate, "all_equal")
    z = NORMAL.inv_cdf((1 + level) / 2) if calls is None else expanded_z(calls, level)
    levels = _bca_levels(replicates, values, z)
    method = "bca"
    if levels is None:
        levels, method = (NORMAL.cdf(-z), NORMAL.cdf(z)), "percentile"
    low, high = (quantile(values, share) for share in levels)
    return IntervalEstimate(low, high, method)


def _bca_levels(replicates: Replicates, values: Floats, z: float) -> tuple[float, float] | None:
    """The levels of the percentiles; None if bias or acceleration is undefined."""
    import numpy as np

    slack = EPSILON * max(1.0, abs(replicates.estimate))
    below = int(np.searchsorted(values, replicates.estimate - slack, "left"))
    up_to = int(np.searchsorted(values, replicates.estimate + slack, "right"))
    share = (below + up_to) / 2 / len(values)
    skew = acceleration(replicates.jackknife)
    if skew is None or not 0 < share < 1:
        return None
    bias = NORMAL.inv_cdf(share)
    corrected = []
    for end in (-z, z):
        denominator = 1 - skew * (bias + end)
        if denominator <= 0:
            return None
        corrected.append(NORMAL.cdf(bias + (bias + end) / denominator))
    return corrected[0], corrected[1]


@cache
def expanded_z(calls: int, level: float = LEVEL) -> float:
    """√(n / (n − 1)) · t quantile with n − 1 degrees of freedom        Hesterberg 2015"""
    if calls < 2:
        return NORMAL.inv_cdf((1 + level) / 2)
    freedom = calls - 1
    x = beta_quantile(1 - level, freedom / 2, 0.5)
    return math.sqrt(calls / freedom) * math.sqrt(freedom * (1 - x) / x)


def acceleration(jackknife: Floats) -> float | None:
    """Σ d³ / (6·(Σ d²)^1.5), d = mean − jackknife value"""
    import numpy as np

    if len(jackknife) < 2 or not np.isfinite(jackknife).all():
        return None
    distances = jackknife.mean() - jackknife
    spread = math.fsum(distances**2)
    if spread <= (EPSILON * max(1.0, abs(float(jackknife[0])))) ** 2:
        return None
    return math.fsum(distances**3) / (6 * math.pow(spread, 1.5))


def quantile(ordered: Floats, share: float) -> float:
    """The quantile of ordered values, interpolated linearly"""
    position = share * (len(ordered) - 1)
    at = min(int(position), len(ordered) - 2)
    return float(ordered[at] + (position - at) * (ordered[at + 1] - ordered[at]))


def rank_interval(replicates: Replicates, level: float = LEVEL) -> tuple[int, int] | None:
    """The range of ranks of at least `level` of the resamples"""
    import numpy as np

    values = np.sort(replicates.resampled[np.isfinite(replicates.resampled)])
    if not math.isfinite(replicates.estimate) or 2 * len(values) < len(replicates.resampled):
        return None
    tail = (1 - level) / 2
    low, high = math.floor(tail * len(values)), math.ceil((1 - tail) * len(values)) - 1
    return int(values[low]), int(values[high])
