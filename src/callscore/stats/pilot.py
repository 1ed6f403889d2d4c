"""What a pilot leaves open: how much calls differ, and how often items are in error    STATS §3

A plan that takes the numbers of its pilot for the truth promises too much. Here every number of a
pilot is a set of equally likely values; the power of a plan is its mean over them (assurance).
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

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
