"""Intervals: Clopper–Pearson of a proportion, percentile bootstrap of any statistic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

RESAMPLES = 2_000
LEVEL = 0.95

T = TypeVar("T")


class Interval(NamedTuple):
    """The limits of an interval."""

    low: float
    high: float


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> Interval | None:
    """Beta quantiles at (1 ± level) / 2        Clopper & Pearson 1934; None without trials

    No or all successes have a quantile in closed form, which needs no library. `stats/rates.py` has
    the same interval for counts that are fractions, without scipy and to 13 digits.
    """
    if not trials:
        return None
    tail, failures = (1 - level) / 2, trials - successes
    if not successes:
        return Interval(0.0, 1 - tail ** (1 / trials))
    if not failures:
        return Interval(tail ** (1 / trials), 1.0)
    from scipy.special import betaincinv

    low = betaincinv(successes, failures + 1, tail)
    return Interval(float(low), float(betaincinv(successes + 1, failures, 1 - tail)))


def bootstrap(
    statistic: Callable[[Sequence[T]], float | None],
    data: Sequence[T],
    seed: int,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | None:
    """Percentiles of a statistic over resamples of the data        Efron 1979

    Resamples on which the statistic is undefined are left out; None if none is left.
    """
    if len(data) < 2:
        return None
    import numpy as np

    random = np.random.default_rng(seed)
    values: list[float] = []
    for _ in range(resamples):
        resample = [data[at] for at in random.integers(0, len(data), len(data))]
        value = statistic(resample)
        if value is not None:
            values.append(value)
    if not values:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
