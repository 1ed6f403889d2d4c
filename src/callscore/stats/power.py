"""Sample sizes: calls needed for a difference, a limit, or the width of an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from callscore.stats.claims import unseen_share
from callscore.stats.intervals import LEVEL, beta_cdf
from callscore.stats.pilot import NORMAL, PilotRate, Spread, is_claimed

POWER = 0.8
ALPHA = 0.05
MAX_CALLS = 100_000_000
"""Larger sample sizes are reported as None."""
LEAST_PAIRS = 6
"""Of fewer calls that differ, no test at 5 % can show anything: 2 / 2⁵ is more (STATS §3)."""
ROUNDING = 1e-9
"""A smaller deviation is the error of floating point: all calls are equal."""
NOISE = 0.03
AGREEMENT = 1.12
"""Two models are separated if both rank bands and the interval do so, which takes more calls than
one test (`python -m bench plan`)."""
MOST_TIMES = 100
"""A plan for a gate that takes more than 100 times the calls of its pilot rests on too little."""


def alpha_per_pair(models: int) -> float:
    """α / (k · (k − 1) / 2): rank bands test every two of k models at once        STATS §3"""
    return ALPHA / max(1, models * (models - 1) // 2)


def calls_for_difference(
    difference: float, spread: Spread, power: float = POWER, alpha: float = ALPHA
) -> int | None:
    """The fewest calls in which a paired test shows a mean difference with this power    STATS §3

    The power is the mean over the deviations that the pilot leaves possible. None if there is no
    difference or no variance, or the sample would be too large.
    """
    if not difference or not spread.deviation > 0:
        return None
    z_alpha = NORMAL.inv_cdf(1 - alpha / 2)
    effects = [abs(difference) / deviation for deviation in spread.deviations()]

    def suffices(calls: int) -> bool:
        root = math.sqrt(max(0.0, calls - z_alpha**2 / 2))
        return _mean([NORMAL.cdf(effect * root - z_alpha) for effect in effects]) >= power

    found = _smallest(suffices)
    return None if found is None else max(LEAST_PAIRS, math.ceil(AGREEMENT * found))


def detectable_difference(
    deviation: float, calls: int, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """(z(1 − α/2) + z(power)) · sd / √(n − z(1 − α/2)² / 2)        Guenther 1981, STATS §3

    The smallest difference that n calls show with this power; None for fewer than six calls.
    """
    z_alpha = NORMAL.inv_cdf(1 - alpha / 2)
    effective = calls - z_alpha**2 / 2
    if calls < LEAST_PAIRS or not deviation > 0:
        return None
    return (z_alpha + NORMAL.inv_cdf(power)) * deviation / math.sqrt(effective)


def calls_for_width(
    spread: Spread, width: float, power: float = POWER, level: float = LEVEL
) -> int | None:
    """The fewest calls whose interval is at most this wide, in this share of samples    STATS §3

    The interval is 2 · z · s / √n wide, and s varies by √((κ − 1) / 4n) of the deviation. If all
    calls are equal, the rule of three makes it 1 − ((1 − level) / 2)^(1/n) wide.
    """
    if not width > 0:
        return None
    if spread.deviation < ROUNDING:
        return math.ceil(math.log((1 - level) / 2) / math.log1p(-width)) if width < 1 else 1
    z, deviations = NORMAL.inv_cdf((1 + level) / 2), spread.deviations()

    def suffices(calls: int) -> bool:
        error = math.sqrt((spread.kurtosis - 1) / (4 * calls))
        largest = width * math.sqrt(max(0.0, calls - z**2 / 2)) / (2 * z)
        return _mean([NORMAL.cdf((largest / sd - 1) / error) for sd in deviations]) >= power

    return _smallest(suffices)


def calls_for_limit(
    limit: float, pilot: PilotRate, rate: float | None = None, power: float = POWER
) -> int | None:
    """The fewest calls that demonstrate a rate below the limit with this power        STATS §2, §3

    By the exact binomial, as the mean over the rates that the pilot leaves possible; or at the
    assumed `rate`. From there on every number of calls suffices: a few calls more allow no error
    more, which alone would lower the power. None if the pilot leaves open whether the rate is below
    the limit.
    """
    if not 0 < limit < 1 or not pilot.items > 0:
        return None
    if pilot.share_below(limit) < power if rate is None else rate >= limit:
        return None
    rates = pilot.rates() if rate is None else [rate]
    most = MAX_CALLS if rate is not None else MOST_TIMES * pilot.calls

    def allowed(calls: int) -> int:
        """The most errors with which this many calls demonstrate it; −1 if none."""
        units = calls * pilot.units_per_call
        weight = max(1.0, pilot.heaviest_of(calls) / pilot.together)
        return _first(lambda errors: not is_claimed(limit, errors, units, weight), 0) - 1

    def suffices(calls: int) -> bool:
        errors = allowed(calls)
        if errors < 0:
            return False
        units = _first(lambda more: allowed(more) > errors, calls + 1) * pilot.units_per_call
        return _mean([1 - beta_cdf(p, errors + 1, units - errors) for p in rates]) >= power

    return _smallest(suffices, most)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def calls_for_claim(distance: float, deviation: float = 0.0, level: float = LEVEL) -> int | None:
    """The fewest n with (z(level) + z(power)) · sd / √n + unseen(n) ≤ distance        STATS §2

    About the calls after which a claim limit is this near to the true value, in 80 % of samples:
    the spread of the calls, and what they may leave unseen. At least ln 0.05 / ln(1 − distance).
    None if the value is not on the right side of what is claimed, or the sample would be too large.
    """
    z_sum = NORMAL.inv_cdf(level) + NORMAL.inv_cdf(POWER)
    return _calls_within(distance, z_sum * deviation, 1.0, level)


def more_calls_for_claim(calls: int, reached: float, wanted: float, reach: float) -> int | None:
    """About the calls after which a claim limit is as near to the true value as wanted    STATS §2

    `reached` is its distance now and `reach` that of the worst value: what the calls leave unseen
    shrinks by 1/n, the rest, z(level) · sd, by 1/√n. For the power, z(power) · sd is added. The
    draws of a limit may move it by up to `NOISE`.
    """
    unseen = (1 + NOISE) * reach * unseen_share(calls)
    spread = max(0.0, reached - unseen) * math.sqrt(calls)
    spread *= 1 + NORMAL.inv_cdf(POWER) / NORMAL.inv_cdf(LEVEL)
    found = _calls_within(wanted, spread, reach, LEVEL)
    return None if found is None else max(found, calls + 1)


def _calls_within(distance: float, spread: float, reach: float, level: float) -> int | None:
    """The fewest n with spread / √n + reach · unseen(n) ≤ distance"""
    if not distance > 0:
        return None

    def suffices(calls: int) -> bool:
        return spread / math.sqrt(calls) + reach * unseen_share(calls, level) <= distance

    return _smallest(suffices)


def _smallest(suffices: Callable[[int], bool], most: int = MAX_CALLS) -> int | None:
    """The smallest positive number that suffices; None if it would be too large."""
    found = _first(suffices, 1, most)
    return found if found <= most else None


def _first(holds: Callable[[int], bool], start: int, most: int = MAX_CALLS) -> int:
    """The first number from `start` on for which it holds, by bisection; above `most` if none"""
    low, step = start - 1, 1
    while not holds(low + step):
        low, step = low + step, step * 2
        if low > most:
            return low
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
