"""Sample sizes: calls needed for a difference, a limit, or the width of an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING

from callscore.stats.claims import unseen_share
from callscore.stats.intervals import LEVEL
from callscore.stats.rates import upper_limit

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

POWER = 0.8
ALPHA = 0.05
MAX_CALLS = 100_000_000
"""Larger sample sizes are reported as None."""
NOISE = 0.03
NORMAL = NormalDist()


def calls_for_difference(
    difference: float, deviation: float, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """n = ((z(1 − α/2) + z(power)) · sd / difference)² + z(1 − α/2)² / 2        Guenther 1981

    The smallest sample in which a paired t-test shows a true mean difference with this power. None
    if there is no difference or no variance, or the sample would be too large.
    """
    if not difference or not deviation > 0:
        return None
    z_alpha, z_sum = _quantiles(power, alpha)
    calls = (z_sum * deviation / difference) ** 2 + z_alpha**2 / 2
    return max(2, math.ceil(calls)) if calls <= MAX_CALLS else None


def detectable_difference(
    deviation: float, calls: int, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """(z(1 − α/2) + z(power)) · sd / √(n − z(1 − α/2)² / 2)        STATS §3

    The smallest difference that n calls show with this power; None for fewer than three calls.
    """
    z_alpha, z_sum = _quantiles(power, alpha)
    effective = calls - z_alpha**2 / 2
    if effective < 1 or not deviation > 0:
        return None
    return z_sum * deviation / math.sqrt(effective)


def _quantiles(power: float, alpha: float) -> tuple[float, float]:
    """z(1 − α/2), and z(1 − α/2) + z(power)"""
    z_alpha = NORMAL.inv_cdf(1 - alpha / 2)
    return z_alpha, z_alpha + NORMAL.inv_cdf(power)


def influence_deviation(jackknife: Floats, calls: int) -> float:
    """√(calls / units) · (units − 1) · sd of the jackknife: the sd of the influence of a call

    A unit is a call or a group of calls. 0 if a jackknife value is undefined.
    """
    import numpy as np

    units = len(jackknife)
    if units < 2 or not np.isfinite(jackknife).all():
        return 0.0
    return float(math.sqrt(calls / units) * (units - 1) * np.std(jackknife, ddof=1))


def calls_for_width(deviation: float, width: float, level: float = LEVEL) -> int | None:
    """n = (2 · z · sd / width)², rounded up        STATS §3"""
    if not width > 0 or not deviation >= 0:
        return None
    calls = math.ceil((2 * NORMAL.inv_cdf((1 + level) / 2) * deviation / width) ** 2)
    return max(2, calls) if calls <= MAX_CALLS else None


def calls_for_limit(
    limit: float, rate: float, items_per_call: float, design_effect: float = 1.0
) -> int | None:
    """The fewest calls that prove a rate below the limit, if it is as expected        STATS §2

    The upper limit of the rate must not exceed `limit`. Items of one call are correlated:
    `design_effect` of them count as one. At a rate of 0 the design effect is unknown, and calls
    with items are counted instead. None if the rate is not below the limit.
    """
    if not 0 <= rate < limit < 1 or not items_per_call > 0:
        return None
    effective_items = items_per_call / max(1.0, design_effect) if rate else min(1.0, items_per_call)

    def suffices(calls: int) -> bool:
        effective = calls * effective_items
        return effective >= 1 and upper_limit(rate * effective, effective) <= limit + 1e-15

    return _smallest(suffices)


def calls_for_claim(distance: float, deviation: float = 0.0, level: float = LEVEL) -> int | None:
    """The fewest n with z(level) · sd / √n + 1 − (1 − level)^(1/n) ≤ distance        STATS §2

    About the calls after which a claim limit is this near to its value: the spread of the calls,
    and what they may leave unseen. At least ln 0.05 / ln(1 − distance). None if the value is not on
    the right side of what is claimed, or the sample would be too large.
    """
    return _calls_within(distance, NORMAL.inv_cdf(level) * deviation, 1.0, level)


def more_calls_for_claim(calls: int, reached: float, wanted: float, reach: float) -> int | None:
    """About the calls after which a claim limit is as near to its value as wanted        STATS §2

    `reached` is its distance now and `reach` that of the worst value: what the calls leave unseen
    shrinks by 1/n, the rest by 1/√n. The draws of a limit may move it by up to `NOISE`.
    """
    unseen = (1 + NOISE) * reach * unseen_share(calls)
    spread = max(0.0, reached - unseen) * math.sqrt(calls)
    found = _calls_within(wanted, spread, reach, LEVEL)
    return None if found is None else max(found, calls + 1)


def _calls_within(distance: float, spread: float, reach: float, level: float) -> int | None:
    """The fewest n with spread / √n + reach · unseen(n) ≤ distance"""
    if not distance > 0:
        return None

    def suffices(calls: int) -> bool:
        return spread / math.sqrt(calls) + reach * unseen_share(calls, level) <= distance

    return _smallest(suffices)


def _smallest(suffices: Callable[[int], bool]) -> int | None:
    """The smallest positive number that suffices, by bisection."""
    low, high = 0, 1
    while not suffices(high):
        low, high = high, high * 2
        if high > MAX_CALLS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
        else:
            low = middle
    return high
