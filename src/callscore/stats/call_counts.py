"""Numbers of calls, and counts of pooled rates, from contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callscore.stats.contributions import EVALUATED, TaskContributions
from callscore.stats.matrix import column_values
from callscore.stats.rates import RateCounts, count_rate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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


def rate_counts(
    task: TaskContributions, slug: str, *, complement: bool = False
) -> RateCounts | None:
    """The counts of a pooled rate; with `complement`, the items without event are the events."""
    import numpy as np

    column = task.columns.get(slug)
    if column is None or not len(task):
        return None
    _, numerators, denominators = column_values(column)
    call = _call_numbers(task)
    size = int(call.max()) + 1
    events = np.bincount(call, numerators, size).astype(np.float64, copy=False)
    items = np.bincount(call, denominators, size).astype(np.float64, copy=False)
    return count_rate(items - events if complement else events, items)


def _call_numbers(task: TaskContributions) -> npt.NDArray[np.intp]:
    import numpy as np

    return np.unique(np.frombuffer(task.keys, np.uint64), return_inverse=True)[1]
