"""Clopper–Pearson intervals of a proportion, with the beta distribution.

Importing scipy takes ten times as long as scoring a small data set; the tests compare these
functions with those of scipy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

# Our own instead of scipy.special: scipy is 143 MB, and the tests compare the two.
MAX_STEPS = 400
TOLERANCE = 1e-15
TINY = 1e-300
"""Instead of a denominator of 0 (Lentz)."""


def beta_cdf(x: float, a: float, b: float) -> float:
    """I_x(a, b), the regularised incomplete beta function, by Lentz's continued fraction"""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only on the other side
        return 1 - beta_cdf(1 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / (a * _continued_fraction(x, a, b))


def _continued_fraction(x: float, a: float, b: float) -> float:
    """1 + d₁/(1 + d₂/(1 + …))        DLMF 8.17.22"""
    value, numerator, denominator = 1.0, 1.0, 0.0
    for step in range(1, MAX_STEPS):
        m, is_odd = divmod(step, 2)
        if is_odd:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / (1 + d * denominator or TINY)
        numerator = 1 + d / numerator or TINY
        change = numerator * denominator
        value *= change
        if abs(change - 1) < TOLERANCE:
            break
    return value


@lru_cache(4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p, by bisection; in closed form if a or b is 1

    I_x(a, 1) = xᵃ and I_x(1, b) = 1 − (1 − x)ᵇ.
    """
    if b == 1:
        return math.pow(p, 1 / a)
    if a == 1:
        return -math.expm1(math.log1p(-p) / b)
    low, high = 0.0, 1.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_cdf(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


LEVEL = 0.95


class Interval(NamedTuple):
    """The limits of an interval."""

    low: float
    high: float


def binomial_interval(events: float, items: float, level: float = LEVEL) -> tuple[float, float]:
    """Beta quantiles at (1 ± level) / 2        Clopper & Pearson 1934; counts can be fractions"""
    tail, events = (1 - level) / 2, min(max(events, 0.0), items)
    low = beta_quantile(tail, events, items - events + 1) if events > 0 else 0.0
    high = beta_quantile(1 - tail, events + 1, items - events) if events < items else 1.0
    return low, high


def clopper_pearson(successes: int, trials: int) -> Interval | None:
    """Beta quantiles at (1 ± LEVEL) / 2        Clopper & Pearson 1934; None without trials

    No or all successes have a quantile in closed form.
    """
    if not trials:
        return None
    tail, failures = (1 - LEVEL) / 2, trials - successes
    if not successes:
        return Interval(0.0, 1 - tail ** (1 / trials))
    if not failures:
        return Interval(tail ** (1 / trials), 1.0)
    return Interval(*binomial_interval(successes, trials))
