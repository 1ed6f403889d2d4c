"""How many calls a decision takes: for a difference, for a limit, for the width of an interval."""

from __future__ import annotations

import math
from collections.abc import Callable

from callscore.stats.intervals import LEVEL
from callscore.stats.rates import upper_limit

POWER = 0.8
ALPHA = 0.05
MOST_CALLS = 100_000_000
"""More than this is said to be out of reach."""
NORMAL_FROM = 1_000
"""With so many calls Student's t and the normal distribution agree to three digits of power."""


def paired_power(
    difference: float, deviation: float, calls: int, alpha: float = ALPHA
) -> float | None:
    """P(|T'| > t(1 − α/2)), T' noncentral t, ν = n − 1, δ = √n · difference / sd        STATS §3

    The probability that n calls show a true mean difference. None where the calls do not vary.
    """
    if calls < 2 or not deviation > 0:
        return None
    shift = math.sqrt(calls) * abs(difference) / deviation
    if calls > NORMAL_FROM:
        from scipy.special import ndtr, ndtri

        limit = float(ndtri(1 - alpha / 2))
        return float(ndtr(shift - limit) + ndtr(-shift - limit))
    from scipy.special import nctdtr, stdtrit

    limit = float(stdtrit(calls - 1, 1 - alpha / 2))
    beyond = float(nctdtr(calls - 1, shift, limit))
    below = float(nctdtr(calls - 1, shift, -limit))
    return 1 - beyond + (below if math.isfinite(below) else 0.0)


def detectable_difference(
    deviation: float, calls: int, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """The smallest difference that n calls show with the given power        STATS §3"""
    if calls < 2 or not deviation > 0:
        return None
    low, high = 0.0, deviation
    while (paired_power(high, deviation, calls, alpha) or 0.0) < power:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        if (paired_power(middle, deviation, calls, alpha) or 0.0) < power:
            low = middle
        else:
            high = middle
    return high


def calls_for_difference(
    difference: float, deviation: float, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """The fewest calls that show a difference with the given power        STATS §3

    None where there is no difference, or no number of calls within reach shows it.
    """
    if not difference or not deviation > 0:
        return None

    def suffices(calls: int) -> bool:
        return (paired_power(difference, deviation, calls, alpha) or 0.0) >= power

    return _fewest(suffices, 2)


def calls_for_width(deviation: float, width: float, level: float = LEVEL) -> int | None:
    """n = (2 · z · sd / width)², rounded up: an interval no wider than that        STATS §3"""
    if not width > 0 or not deviation >= 0:
        return None
    from scipy.special import ndtri

    calls = math.ceil((2 * float(ndtri((1 + level) / 2)) * deviation / width) ** 2)
    return max(2, calls) if calls <= MOST_CALLS else None


def calls_for_limit(
    limit: float, rate: float, items_a_call: float, design_effect: float = 1.0
) -> int | None:
    """The fewest calls that demonstrate a rate below a limit, at the rate expected        STATS §2

    The errors expected among the items grow with them; items of one call go together, so that
    `design_effect` of them count as one. At a rate of 0 nothing tells how far they do, and calls
    with something to count are counted instead. None where the rate is not below the limit.
    """
    if not 0 <= rate < limit < 1 or not items_a_call > 0:
        return None

    counted = items_a_call / max(1.0, design_effect) if rate else min(1.0, items_a_call)

    def suffices(calls: int) -> bool:
        effective = calls * counted
        return effective >= 1 and upper_limit(rate * effective, effective) <= limit + 1e-15

    return _fewest(suffices, 1)


def _fewest(suffices: Callable[[int], bool], least: int) -> int | None:
    """The smallest number from `least` on that suffices; every larger one does, too."""
    low, high = least - 1, least
    while not suffices(high):
        low, high = high, high * 2
        if high > MOST_CALLS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
        else:
            low = middle
    return high
