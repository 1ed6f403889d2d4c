"""Pooled rates: their counts by call, their intervals, and tests of rate gates        STATS §2

A rate is pooled over the items of all calls. Items of a call are correlated; the design effect is
the factor by which this increases the variance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.contributions import (
    EVALUATED,
    CaseContributions,
    TaskContributions,
    TaskShape,
)
from callscore.stats.intervals import LEVEL, beta_quantile, binomial_interval
from callscore.stats.matrix import (
    MAX_UNITS,
    CallMatrix,
    ResamplingUnits,
    call_ranges,
    column_values,
    distinct_keys,
)
from callscore.stats.resampling import IntervalEstimate, ModelValues, bca_interval, make_replicates

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats

    Counts = npt.NDArray[np.intp]

MAX_ITEMS = 10_000_000
"""Where the search for a sample size ends."""


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


def count_rate(
    numerators: Floats, denominators: Floats, times: Counts | None = None
) -> RateCounts | None:
    """The counts of a rate from the counts of its calls; None if there are no items

    Design effect = variance of the ratio over calls / variance with independent items. With
    `times`, as many calls have these counts each.
    """
    import numpy as np

    has_items = denominators > 0
    events, items = numerators[has_items], denominators[has_items]
    number = np.ones(len(items), np.intp) if times is None else times[has_items]
    calls = int(number.sum())
    if not calls:
        return None
    total_events, total_items = _total(events, number), _total(items, number)
    share = total_events / total_items
    design_effect = 1.0
    if calls > 1 and 0 < share < 1:
        spread = _total((events - share * items) ** 2, number) * calls / (calls - 1)
        design_effect = max(1.0, spread / (share * (1 - share) * total_items))
    single, with_events = bool((items <= 1).all()), int(number[events > 0].sum())
    return RateCounts(total_events, total_items, calls, single, design_effect, with_events)


def _total(values: Floats, times: Counts) -> float:
    """The exact sum, rounded once, whatever the order of the calls is"""
    return math.fsum(chain.from_iterable(map(repeat, values.tolist(), times.tolist())))


def rate_interval(counts: RateCounts, bootstrapped: IntervalEstimate | None) -> IntervalEstimate:
    """The interval of a pooled rate, as a share        STATS §2

    Clopper–Pearson if every call has one item; on the number of calls if no item or every item is
    an event, as the design effect is unknown then; else the bootstrap over calls, widened to
    Clopper–Pearson on the effective number of items.
    """
    if counts.is_extreme:
        events = counts.calls if counts.events > 0 else 0
        return IntervalEstimate(*binomial_interval(events, counts.calls), "clopper_pearson")
    if counts.single:
        return IntervalEstimate(*binomial_interval(counts.events, counts.items), "clopper_pearson")
    share = counts.events / counts.items
    effective = counts.effective_items
    low, high = binomial_interval(share * effective, effective)
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


def calls_needed(counts: RateCounts, limit: float) -> int:
    """The calls that would show a rate of at most `limit`, without further events        STATS §2

    Events are counted in calls: items of one call are not independent.
    """
    return items_needed(counts.events / counts.items * counts.calls, limit)


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


RATE = ("rate",)


def count_calls(task: TaskContributions) -> int:
    """The number of calls with a reply."""
    import numpy as np

    if not len(task):
        return 0
    flags = np.frombuffer(task.flags, np.uint8)
    return len(distinct_keys(np.frombuffer(task.keys, np.uint64)[(flags & EVALUATED) > 0]))


def count_calls_with_value(task: TaskContributions, slug: str) -> int:
    """The number of calls with a value of a metric."""
    import numpy as np

    column = task.columns.get(slug)
    if column is None or not len(task):
        return 0
    value = column_values(column)[0]
    return len(distinct_keys(np.frombuffer(task.keys, np.uint64)[~np.isnan(value)]))


def call_rates(
    task: TaskContributions, slug: str, *, complement: bool = False
) -> tuple[Floats, Floats] | None:
    """The events and items of a pooled rate, of every call with items

    With `complement`, the items without event are the events.
    """
    import numpy as np

    column = task.columns.get(slug)
    if column is None or not len(task):
        return None
    _, numerators, denominators = column_values(column)
    call = _call_numbers(task)
    size = int(call.max()) + 1
    events = np.bincount(call, numerators, size).astype(np.float64, copy=False)
    items = np.bincount(call, denominators, size).astype(np.float64, copy=False)
    has_items = items > 0
    return (items - events if complement else events)[has_items], items[has_items]


class CallRates:
    """The events and items of a pooled rate by call: how many calls have the same ones.

    Most calls have few items, so few pairs differ, however many calls there are.
    """

    def __init__(self) -> None:
        self._calls: Counter[complex] = Counter()
        """By events + i · items, the number of calls."""

    def add(self, events: Floats, items: Floats) -> None:
        """Count some calls."""
        import numpy as np

        pairs, times = np.unique(events + 1j * items, return_counts=True)
        self._calls.update(dict(zip(pairs.tolist(), times.tolist(), strict=True)))

    def counts(self, *, complement: bool = False) -> RateCounts | None:
        """The counts of the rate; with `complement`, items without event are the events."""
        import numpy as np

        pairs, times = np.array(list(self._calls)), np.array(list(self._calls.values()), np.intp)
        events, items = pairs.real, pairs.imag
        return count_rate(items - events if complement else events, items, times)


class TaskCounts(NamedTuple):
    """How many calls of a task a model answered, and what they have of each row."""

    calls: int
    with_value: Mapping[str, int]
    """By slug, the calls with a value."""
    rates: Mapping[str, CallRates]
    """By slug of a pooled row."""


def count_task(kept: CaseContributions, shape: TaskShape, units: ResamplingUnits) -> TaskCounts:
    """Count the calls of one task of a model, a range of calls at a time."""
    calls, with_value, rates = 0, Counter[str](), dict[str, CallRates]()
    for some in call_ranges(kept, units):
        calls += count_calls(some)
        for row in shape.rows:
            with_value[row.slug] += count_calls_with_value(some, row.slug)
            if row.kind == "pooled" and (found := call_rates(some, row.slug)) is not None:
                rates.setdefault(row.slug, CallRates()).add(*found)
    return TaskCounts(calls, with_value, rates)


def interval_of_counts(counts: Mapping[int, tuple[int, int]]) -> IntervalEstimate | None:
    """The interval of Σ events / Σ items, from the (events, items) of each call        STATS §2

    Calls are named by `call_key`, so neither their order nor the number of workers matters.
    """
    import numpy as np

    keys = np.array(sorted(counts), np.uint64)
    by_call = np.array([counts[int(key)] for key in keys], np.float64).reshape(-1, 2).T
    rate = count_rate(by_call[0], by_call[1])
    if rate is None or rate.is_extreme or rate.single:
        return None if rate is None else rate_interval(rate, None)
    units = ResamplingUnits(keys, min(len(keys), MAX_UNITS))
    sums = np.array([np.bincount(units.unit_numbers(keys), row, units.size) for row in by_call])

    def share(sums: Sequence[Floats]) -> Sequence[ModelValues]:
        events, items = sums[0]
        with np.errstate(invalid="ignore"):
            return [{RATE: events / items}]

    (replicates,) = make_replicates([CallMatrix(units, {}, sums)], share)
    return rate_interval(rate, bca_interval(replicates[RATE], rate.calls))


def _call_numbers(task: TaskContributions) -> npt.NDArray[np.intp]:
    import numpy as np

    return np.unique(np.frombuffer(task.keys, np.uint64), return_inverse=True)[1]
