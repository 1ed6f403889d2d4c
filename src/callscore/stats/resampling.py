"""Bootstrap resampling of calls: seeded weights, exact sums, BCa intervals.

A resample draws as many units as there are, with replacement; a unit is a call, or a random group
of calls if there are more than `matrix.MAX_UNITS`. Calls are assigned to groups at random (by the
hash of their id), so groups are exchangeable and their spread is that of calls, estimated from
2,000 units with a relative error of 1.6 %.

The same seed gives the same draws on every machine: raw bits of PCG64, whose stream numpy
guarantees, and integer arithmetic. Sums are exact (see `round_to_grid`): neither the order of
addition nor the number of threads changes a digit of an interval.

The intervals correct for bias and skewness (BCa, Efron 1987).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.intervals import LEVEL, beta_quantile
from callscore.stats.matrix import CallMatrix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats


SEED = 20_250
RESAMPLES = 10_000
"""STATS §2. The seed is fixed, so the same results give the same limits."""
BATCH_CELLS = 1 << 18
"""Weights in memory at a time: 2 MB."""
MAX_BATCH = 1_000
"""Resamples in memory at a time."""
MIN_JOINED = 1_500
"""Resamples whose scores are computed together."""

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""The variable that commands set to 1."""
SMALL_PRODUCT = 8_000_000
"""Below, several threads of BLAS cost more than they save."""

ModelValues = dict[tuple[str, ...], "Floats"]
Statistic = Callable[[Sequence["Floats"]], Sequence[ModelValues]]
"""Computes the values of every model from its sums, one entry per column of the sums."""


class Replicates(NamedTuple):
    """One value of one model: its estimate, its bootstrap replicates, its jackknife values."""

    estimate: float
    resampled: Floats
    jackknife: Floats


def resample_weights(units: int, seed: int, resamples: int) -> Iterator[Floats]:
    """The number of times each unit is drawn: units × resamples, in batches."""
    import numpy as np

    source = np.random.PCG64(seed)
    batch_size = max(1, min(MAX_BATCH, BATCH_CELLS // max(1, units)))
    for start in range(0, resamples, batch_size):
        size = min(batch_size, resamples - start)
        halves = -(-units * size // 2)
        raw = source.random_raw(halves)
        bits = np.empty(2 * halves, np.uint64)
        np.bitwise_and(raw, np.uint64(0xFFFFFFFF), out=bits[:halves])
        np.right_shift(raw, np.uint64(32), out=bits[halves:])
        bits *= np.uint64(units)
        bits >>= np.uint64(32)
        drawn = bits.view(np.int64)[: units * size]  # numbers of units: the sign bit is never set
        drawn.reshape(size, units)[...] += np.arange(size)[:, None] * units
        counts = np.bincount(drawn, minlength=units * size)
        yield counts.reshape(size, units).T.astype(np.float64)


def round_to_grid(sums: Floats) -> Floats:
    """The sums rounded to a grid of powers of two on which doubles add without rounding

    Any sum of this many units then fits 53 bits, in any order. For 2,000 units it changes a value
    by less than one part in 2⁴⁰.
    """
    import numpy as np

    if not sums.size:
        return sums
    found = np.zeros_like(sums)
    for line, rounded in zip(sums, found, strict=True):  # one at a time: a matrix may be large
        largest = np.abs(line).max() * len(line)
        if largest > 0:
            grid = np.ldexp(1.0, np.frexp(largest)[1] - 52)
            np.round(line / grid, out=rounded)
            rounded *= grid
    return found


def multiply_exactly(sums: Floats, weights: Floats) -> Floats:
    """sums @ weights; by BLAS if the product is large, or if BLAS has one thread

    `einsum` takes two to six times as long as one thread of BLAS. Both give the same digits, as the
    sums are exact.
    """
    import numpy as np

    has_one_thread = os.environ.get(BLAS_THREADS) == "1"
    if has_one_thread or sums.size * weights.shape[1] > SMALL_PRODUCT:
        return sums @ weights
    return np.asarray(np.einsum("cu,ub->cb", sums, weights), np.float64)


def join_batches(batches: Iterable[Floats]) -> Iterator[Floats]:
    """The same columns in wider batches: formulas take about as long for one as for 1,000."""
    import numpy as np

    waiting: list[Floats] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.shape[1] for part in waiting) >= MIN_JOINED:
            yield np.concatenate(waiting, axis=1)
            waiting = []
    if waiting:
        yield np.concatenate(waiting, axis=1)


class DistinctLines(NamedTuple):
    """The distinct lines of several matrices, and which of them each matrix has."""

    lines: Floats
    of_matrix: Sequence[npt.NDArray[np.intp]]

    def values(self, statistic: Statistic, products: Floats) -> Sequence[ModelValues]:
        """The values of every model from products of the lines with weights."""
        return statistic([products[own] for own in self.of_matrix])

    def leave_one_out(
        self, statistic: Statistic
    ) -> tuple[Sequence[ModelValues], Sequence[ModelValues]]:
        """The values of every model on all calls, and without each unit: its jackknife values."""
        whole = self.lines.sum(axis=1, keepdims=True)
        return self.values(statistic, whole), self.values(statistic, whole - self.lines)


def distinct_lines(matrices: Sequence[Floats]) -> DistinctLines:
    """Find lines that are equal, such as numbers of cases, so that each is multiplied once.

    By their bytes: `np.unique` sorts them, which takes as long as 2,000 resamples.
    """
    import numpy as np

    places: dict[bytes, int] = {}
    of_matrix = [
        np.array([places.setdefault(line.tobytes(), len(places)) for line in matrix], np.intp)
        for matrix in matrices
    ]
    lines = np.frombuffer(b"".join(places), np.float64)
    return DistinctLines(lines.reshape(len(places), matrices[0].shape[1]), of_matrix)


def exact_lines(matrices: Sequence[CallMatrix]) -> DistinctLines:
    """The distinct sums of all models on a grid on which they add exactly."""
    return distinct_lines([round_to_grid(matrix.sums) for matrix in matrices])


def make_replicates(
    matrices: Sequence[CallMatrix],
    statistic: Statistic,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Sequence[Mapping[tuple[str, ...], Replicates]]:
    """The replicates of every value of every model; all models have the same resamples.

    The matrices must have the same units. Sums that are equal, such as numbers of cases, are
    resampled once.
    """
    import numpy as np

    lines = exact_lines(matrices)
    estimates, jackknife = lines.leave_one_out(statistic)
    resampled = [{key: np.empty(resamples) for key in of_model} for of_model in estimates]
    filled = 0
    weights = resample_weights(lines.lines.shape[1], seed, resamples)
    for products in join_batches(multiply_exactly(lines.lines, batch) for batch in weights):
        size = products.shape[1]
        for own, batch in zip(resampled, lines.values(statistic, products), strict=True):
            for key, numbers in batch.items():
                own[key][filled : filled + size] = numbers
        filled += size
    return [
        {
            key: Replicates(float(estimate[0]), resampled[at][key], jackknife[at][key])
            for key, estimate in of_model.items()
        }
        for at, of_model in enumerate(estimates)
    ]


NORMAL = NormalDist()
EPSILON = 1e-12
"""Values that differ by less are equal up to rounding."""


class IntervalEstimate(NamedTuple):
    """An interval and its method: bca, percentile, clopper_pearson, design_effect, all_equal."""

    low: float
    high: float
    method: str


def bca_interval(replicates: Replicates, calls: int | None = None) -> IntervalEstimate | None:
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
    z = NORMAL.inv_cdf((1 + LEVEL) / 2) if calls is None else expanded_z(calls)
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
    """√(n / (n − 1)) · t quantile with n − 1 degrees of freedom        Hesterberg 2015

    Few calls widen the limits as Student's t does; without it they would cover too little.
    """
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


def rank_interval(replicates: Replicates) -> tuple[int, int] | None:
    """The range of ranks of at least LEVEL of the resamples"""
    import numpy as np

    values = np.sort(replicates.resampled[np.isfinite(replicates.resampled)])
    if not math.isfinite(replicates.estimate) or 2 * len(values) < len(replicates.resampled):
        return None
    tail = (1 - LEVEL) / 2
    low, high = math.floor(tail * len(values)), math.ceil((1 - tail) * len(values)) - 1
    return int(values[low]), int(values[high])
