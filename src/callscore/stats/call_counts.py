"""Numbers of calls, counts of pooled rates, and the interval of a rate counted by call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from callscore.stats.bca import IntervalEstimate, bca_interval
from callscore.stats.contributions import EVALUATED, TaskContributions
from callscore.stats.matrix import MAX_UNITS, CallMatrix, ResamplingUnits, column_values
from callscore.stats.rates import RateCounts, count_rate, rate_interval
from callscore.stats.resampling import ModelValues, make_replicates

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats

RATE = ("rate",)


def count_calls(task: TaskContributions) -> int:
    """The number of calls with a reply."""
    import numpy as np

    if not len(task):
        return 0
    flags = np.frombuffer(task.flags, np.uint8)
    return len(np.unique(np.frombuffer(task.keys, np.uint64)[(flags & EVALUATED) > 0]))


def count_calls_with_value(task: TaskContributions, slug: str) -> int:
    """The number of calls with a value of a metric."""
    import numpy as np

    column = task.columns.get(slug)
    if column is None or not len(task):
        return 0
    value = column_values(column)[0]
    return len(np.unique(np.frombuffer(task.keys, np.uint64)[~np.isnan(value)]))


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


def rate_counts(
    task: TaskContributions, slug: str, *, complement: bool = False
) -> RateCounts | None:
    """The counts of a pooled rate; with `complement`, the items without event are the events."""
    found = call_rates(task, slug, complement=complement)
    return None if found is None else count_rate(*found)


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
