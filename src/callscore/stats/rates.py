"""Intervals of rates, and what a rate gate may claim        STATS §2

A rate is pooled: items of all calls together. Items of a call are alike, so that they count for
less than as many independent ones: the design effect says by how much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.bca import Bounds
from callscore.stats.beta import beta_quantile
from callscore.stats.intervals import LEVEL

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

MOST_ITEMS = 10_000_000


class Counts(NamedTuple):
    """What the calls with something to count add to a pooled rate."""

    events: float
    items: float
    calls: int
    single: bool
    """Whether no call has more than one item."""
    design_effect: float
    """How many times the variance is that of as many independent items; 1 at least."""

    @property
    def effective_items(self) -> float:
        """The equivalent number of independent items."""
        return self.items / self.design_effect

    @property
    def is_certain(self) -> bool:
        """Whether no item, or every item, is an event."""
        return self.events <= 0 or self.events >= self.items


def counts_of(numerators: Floats, denominators: Floats) -> Counts | None:
    """The counts of a rate from those of its calls; None if nothing is there to count

    Design effect = variance of the ratio over calls / variance of as many independent items.
    """
    has_items = denominators > 0
    events, items = numerators[has_items], denominators[has_items]
    calls = len(items)
    if not calls:
        return None
    total, whole = math.fsum(events), math.fsum(items)
    share = total / whole
    effect = 1.0
    if calls > 1 and 0 < share < 1:
        spread = math.fsum((events - share * items) ** 2) * calls / (calls - 1)
        effect = max(1.0, spread / (share * (1 - share) * whole))
    return Counts(total, whole, calls, bool((items <= 1).all()), effect)


def binomial_interval(events: float, items: float, level: float = LEVEL) -> tuple[float, float]:
    """Beta quantiles at (1 ± level) / 2        Clopper & Pearson 1934; counts need not be whole"""
    tail, events = (1 - level) / 2, min(max(events, 0.0), items)
    low = beta_quantile(tail, events, items - events + 1) if events > 0 else 0.0
    high = beta_quantile(1 - tail, events + 1, items - events) if events < items else 1.0
    return low, high


def rate_interval(counts: Counts, bootstrapped: Bounds | None, level: float = LEVEL) -> Bounds:
    """The interval of a pooled rate, as a share        STATS §2

    Clopper–Pearson where calls have single items; on the number of calls where no item or every
    item is an event, as nothing then tells how alike the items of a call are; else the bootstrap
    over calls, widened to Clopper–Pearson on the effective number of items.
    """
    if counts.is_certain:
        events = counts.calls if counts.events > 0 else 0
        return Bounds(*binomial_interval(events, counts.calls, level), "clopper_pearson")
    if counts.single:
        return Bounds(*binomial_interval(counts.events, counts.items, level), "clopper_pearson")
    share = counts.events / counts.items
    effective = counts.effective_items
    low, high = binomial_interval(share * effective, effective, level)
    if bootstrapped is not None:
        low, high = min(low, bootstrapped.low), max(high, bootstrapped.high)
    return Bounds(low, high, "design_effect")


def upper_limit(events: float, items: float, level: float = LEVEL) -> float:
    """The rate that is not exceeded, one-sided        Clopper & Pearson 1934"""
    return beta_quantile(level, events + 1, items - events) if events < items else 1.0


def items_needed(events: int, limit: float, level: float = LEVEL) -> int:
    """The fewest items that show a rate below the limit with this many events among them

    0, 1, 2 errors at 1 %: 299, 473, 628.
    """
    low, high = events, events + 1
    while upper_limit(events, high, level) > limit:
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            raise ValueError(f"a rate below {limit} cannot be shown with {events} events")
    while high - low > 1:
        middle = (low + high) // 2
        if upper_limit(events, middle, level) > limit:
            low = middle
        else:
            high = middle
    return high


class Claim(NamedTuple):
    """Whether the data show that a rate keeps its limit."""

    upper: float
    """The rate that is not exceeded with 95 % confidence, as a share."""
    n: int
    """Independent items that the limit rests on: calls if there is no event."""
    errors: int
    """Events among them, rounded up."""
    needed: int
    """How many would show it with as many events as there are."""

    @property
    def holds(self) -> bool:
        """Whether the limit may be claimed."""
        return self.n >= self.needed


def claim(counts: Counts, limit: float, level: float = LEVEL) -> Claim:
    """May "at most `limit` events among all items" be claimed        STATS §2"""
    effective = counts.calls if counts.events <= 0 else math.floor(counts.effective_items)
    events = min(math.ceil(counts.events / counts.items * effective - 1e-9), effective)
    needed = items_needed(events, limit, level)
    return Claim(upper_limit(events, effective, level), effective, events, needed)


def equal_interval(value: float, calls: int, reach: tuple[float, float]) -> Bounds:
    """What calls that all agree allow to say: the rule of three        STATS §2

    None of n calls was otherwise, so at most a share p = Clopper–Pearson(0, n) of all calls is;
    had these the lowest or highest value within reach, the mean would move by p of the way.
    """
    share = binomial_interval(0, calls)[1]
    low, high = reach
    return Bounds(value - share * (value - low), value + share * (high - value), "all_equal")
