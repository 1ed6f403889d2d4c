"""Sample sizes: calls needed for a difference, a limit, or the width of an interval    STATS §3

A plan that takes the numbers of its pilot for the truth promises too much. Here every number of a
pilot is a set of equally likely values; the power of a plan is its mean over them (assurance).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.claim_limits import unseen_share
from callscore.stats.intervals import LEVEL, beta_cdf, beta_quantile

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats


VALUES = 40
"""Equally likely values of what a pilot leaves open."""
LEAST_KURTOSIS = 5.0
"""Scores of calls have heavier tails than a normal distribution (3); a small pilot hides them."""
NORMAL = NormalDist()


class Spread(NamedTuple):
    """The standard deviation of calls, as a pilot shows it."""

    deviation: float
    calls: int = 0
    """Calls of the pilot; 0 if the deviation is assumed, and so not in doubt."""
    kurtosis: float = LEAST_KURTOSIS

    def deviations(self) -> list[float]:
        """sd · √(ν / χ²_ν) with ν = 2n / (κ − 1): equally likely values of the deviation

        The variance of a sample varies with the kurtosis κ of its calls: (κ − 1) / n of its square.
        """
        if not self.calls:
            return [self.deviation]
        freedom = 2 * self.calls / (max(self.kurtosis, LEAST_KURTOSIS) - 1)
        return [self.deviation * factor for factor in _factors(freedom)]


@cache
def _factors(freedom: float) -> list[float]:
    """√(ν / χ²_ν) at the middle of equal parts of the distribution        Wilson & Hilferty 1931"""
    share, places = 2 / (9 * freedom), [(at + 0.5) / VALUES for at in range(VALUES)]
    roots = [1 - share + NORMAL.inv_cdf(place) * math.sqrt(share) for place in places]
    return [max(root, 0.05) ** -1.5 for root in roots]


def spread_of(jackknife: Floats, calls: int) -> Spread:
    """The spread of calls, from the values of a score without each of them

    sd = √(calls / units) · (units − 1) · sd of the jackknife, the sd of the influence of a call. A
    unit is a call or a group of calls. 0 if a jackknife value is undefined.
    """
    import numpy as np

    units = len(jackknife)
    if units < 2 or not np.isfinite(jackknife).all():
        return Spread(0.0, calls)
    deviation = math.sqrt(calls / units) * (units - 1) * float(np.std(jackknife, ddof=1))
    centred = jackknife - jackknife.mean()
    variance = float(np.mean(centred**2))
    kurtosis = float(np.mean(centred**4)) / variance**2 if deviation > 0 and variance else 0.0
    return Spread(deviation, calls, max(kurtosis, LEAST_KURTOSIS))


class PilotRate(NamedTuple):
    """The items of a pooled rate in a pilot, and how they gather in calls."""

    events: float
    items: float
    calls: int
    """All calls, those without items as well."""
    heaviest: float = 1.0
    """The most items of a call: those of the imaginary call of a claim limit (STATS §2)."""
    together: float = 1.0
    """(Σ e² + h²) / (Σ e + h), with the imaginary call: this many items of a call fail as one."""
    item_deviation: float = 0.0
    """The standard deviation of the items of a call."""

    @property
    def units_per_call(self) -> float:
        """Items of a call that are as good as independent ones."""
        return self.items / self.calls / self.together

    def rates(self) -> list[float]:
        """Equally likely values of the rate, by the pilot with one imaginary failure more

        Beta(events + 1, others), as in the upper limit of Clopper and Pearson.
        """
        events, others = self._counts()
        return [beta_quantile((at + 0.5) / VALUES, events, others) for at in range(VALUES)]

    def share_below(self, limit: float) -> float:
        """How likely it is that the rate is below the limit."""
        return beta_cdf(limit, *self._counts())

    def _counts(self) -> tuple[float, float]:
        events, items = self.events / self.together, self.items / self.together
        return events + 1, max(items - events, 1e-9)

    def heaviest_of(self, calls: int) -> float:
        """The most items of a call in a larger sample, as maxima of normal variables grow."""
        if not self.item_deviation or calls <= self.calls:
            return self.heaviest
        growth = math.sqrt(2 * math.log(calls)) - math.sqrt(2 * math.log(max(self.calls, 2)))
        return self.heaviest + self.item_deviation * growth


def pilot_rate(events: Floats, items: Floats, calls: int) -> PilotRate:
    """The rate of a pilot, from the events and items of every call that has items."""
    heaviest = float(items.max(initial=1.0))
    squares = math.fsum(events**2) + heaviest**2
    deviation = float(items.std()) if len(items) > 1 else 0.0
    together = max(1.0, squares / (math.fsum(events) + heaviest))
    return PilotRate(math.fsum(events), math.fsum(items), calls, heaviest, together, deviation)


def is_claimed(limit: float, events: float, items: float, weight: float) -> bool:
    """Whether the claim limit of a rate keeps a limit: P(Beta(a, b) ≤ limit) ≥ 95 %    STATS §2

    The imaginary call weighs as much as `weight` items. Events and imaginary call together have the
    mean U + w and the variance U + w²: a = (U + w)² / (U + w²) failures of size (U + w²) / (U + w).
    With w = 1 this is the upper limit of Clopper and Pearson.
    """
    if events >= items:
        return False
    size = (events + weight**2) / (events + weight)
    return beta_cdf(limit, (events + weight) / size, (items - events) / size) >= LEVEL - 1e-12


POWER = 0.8
"""The chance that a planned run shows the difference; the usual value (STATS §3)."""
ALPHA = 0.05
MAX_CALLS = 100_000_000
"""Larger sample sizes are reported as None."""
LEAST_PAIRS = 6
"""Of fewer calls that differ, no test at 5 % can show anything: 2 / 2⁵ is more (STATS §3)."""
ROUNDING = 1e-9
"""A smaller deviation is the error of floating point: all calls are equal."""
NOISE = 0.03
"""How far the random weightings of a claim limit may move it, as a share (`stats.claim_limits`)."""
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


def detectable_difference(deviation: float, calls: int) -> float | None:
    """(z(1 − α/2) + z(POWER)) · sd / √(n − z(1 − α/2)² / 2)        Guenther 1981, STATS §3

    The smallest difference that n calls show with this power; None for fewer than six calls.
    """
    z_alpha = NORMAL.inv_cdf(1 - ALPHA / 2)
    effective = calls - z_alpha**2 / 2
    if calls < LEAST_PAIRS or not deviation > 0:
        return None
    return (z_alpha + NORMAL.inv_cdf(POWER)) * deviation / math.sqrt(effective)


def calls_for_width(spread: Spread, width: float, power: float = POWER) -> int | None:
    """The fewest calls whose interval is at most this wide, in this share of samples    STATS §3

    The interval is 2 · z · s / √n wide, and s varies by √((κ − 1) / 4n) of the deviation. If all
    calls are equal, the rule of three makes it 1 − ((1 − LEVEL) / 2)^(1/n) wide.
    """
    if not width > 0:
        return None
    if spread.deviation < ROUNDING:
        return math.ceil(math.log((1 - LEVEL) / 2) / math.log1p(-width)) if width < 1 else 1
    z, deviations = NORMAL.inv_cdf((1 + LEVEL) / 2), spread.deviations()

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
