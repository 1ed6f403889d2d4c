"""Intervals of pooled rates, and tests of rate gates        STATS §2

A rate is pooled over the items of all calls. Items of a call are correlated; the design effect is
the factor by which this increases the variance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.bca import IntervalEstimate
from callscore.stats.intervals import LEVEL, beta_quantile, binomial_interval

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

MAX_ITEMS = 10_000_000


class RateCounts(NamedTuple):
    """The counts of a pooled rate, over the calls that have items."""

    events: float
    items: float
    calls: int
    single: bool
    """Whether no call has more than one item."""
    design_effect: float
    """Variance relative to independent items, at least 1."""
    calls_with_events: int = 0

    @property
    def effective_items(self) -> float:
        """The equivalent number of independent items."""
        return self.items / self.design_effect

    @property
    def is_extreme(self) -> bool:
        """Whether no item, or every item, is an event: the design effect is then unknown."""
        return self.events <= 0 or self.events >= self.items


def count_rate(numerators: Floats, denominators: Floats) -> RateCounts | None:
    """The counts of a rate from the counts of its calls; None if there are no items

    Design effect = variance of the ratio over calls / variance with independent items.
    """
    has_items = denominators > 0
    events, items = numerators[has_items], denominators[has_items]
    calls = len(items)
    if not calls:
        return None
    total_events, total_items = math.fsum(events), math.fsum(items)
    share = total_events / total_items
    design_effect = 1.0
    if calls > 1 and 0 < share < 1:
        spread = math.fsum((events - share * items) ** 2) * calls / (calls - 1)
        design_effect = max(1.0, spread / (share * (1 - share) * total_items))
    single, with_events = bool((items <= 1).all()), int((events > 0).sum())
    return RateCounts(total_events, total_items, calls, single, design_effect, with_events)


def rate_interval(
    counts: RateCounts, bootstrapped: IntervalEstimate | None, level: float = LEVEL
) -> IntervalEstimate:
    """The interval of a pooled rate, as a share        STATS §2

    Clopper–Pearson if every call has one item; on the number of calls if no item or every item is
    an event, as the design effect is unknown then; else the bootstrap over calls, widened to
    Clopper–Pearson on the effective number of items.
    """
    if counts.is_extreme:
        events = counts.calls if counts.events > 0 else 0
        return IntervalEstimate(*binomial_interval(events, counts.calls, level), "clopper_pearson")
    if counts.single:
        return IntervalEstimate(
            *binomial_interval(counts.events, counts.items, level), "clopper_pearson"
        )
    share = counts.events / counts.items
    effective = counts.effective_items
    low, high = binomial_interval(share * effective, effective, level)
    if bootstrapped is not None:
        low, high = min(low, bootstrapped.low), max(high, bootstrapped.high)
    return IntervalEstimate(low, high, "design_effect")


def upper_limit(events: float, items: float, level: float = LEVEL) -> float:
    """The one-sided upper confidence limit of a rate        Clopper & Pearson 1934"""
    return beta_quantile(level, events + 1, items - events) if events < items else 1.0


def items_needed(events: float, limit: float, level: float = LEVEL) -> int:
    """The fewest items whose upper limit is at most `limit`, with this many events

    0, 1, 2 errors at 1 %: 299, 473, 628.
    """
    low = math.floor(events)
    high = low + 1
    while upper_limit(events, high, level) > limit:
        low, high = high, 2 * high
        if high > MAX_ITEMS:
            raise ValueError(f"a rate below {limit} cannot be shown with {events} events")
    while high - low > 1:
        middle = (low + high) // 2
        if upper_limit(events, middle, level) > limit:
            low = middle
        else:
            high = middle
    return high


def calls_needed(counts: RateCounts, limit: float, level: float = LEVEL) -> int:
    """The calls that would show a rate of at most `limit`, without further events        STATS §2

    Events are counted in calls: items of one call are not independent.
    """
    return items_needed(counts.events / counts.items * counts.calls, limit, level)


def rule_of_three_interval(
    value: float, calls: int, value_range: tuple[float, float]
) -> IntervalEstimate:
    """The rule of three, for calls that are all equal        STATS §2

    With n equal calls, at most a share p = Clopper–Pearson(0, n) of all calls differs; if these
    had the lowest or the highest possible value, the mean would move by p of the distance.
    """
    share = binomial_interval(0, calls)[1]
    low, high = value_range
    return IntervalEstimate(
        value - share * (value - low), value + share * (high - value), "all_equal"
    )
