"""How many calls are behind a number, and what each of them adds to a pooled rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callscore.stats.contributions import EVALUATED, TaskContributions
from callscore.stats.matrix import column_values
from callscore.stats.rates import Counts, counts_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def calls_in(task: TaskContributions) -> int:
    """Distinct calls with an answer."""
    import numpy as np

    if not len(task):
        return 0
    flags = np.frombuffer(task.flags, np.uint8)
    return len(np.unique(np.frombuffer(task.keys, np.uint64)[(flags & EVALUATED) > 0]))


def calls_with_value(task: TaskContributions, slug: str) -> int:
    """Distinct calls that have a value in a row."""
    import numpy as np

    column = task.columns.get(slug)
    if column is None or not len(task):
        return 0
    value = column_values(column)[0]
    return len(np.unique(np.frombuffer(task.keys, np.uint64)[~np.isnan(value)]))


def rate_counts(task: TaskContributions, slug: str, *, complement: bool = False) -> Counts | None:
    """The counts of a pooled row, call by call; `complement` counts the items without event."""
    import numpy as np

    column = task.columns.get(slug)
    if column is None or not len(task):
        return None
    _, numerators, denominators = column_values(column)
    call = _call_numbers(task)
    size = int(call.max()) + 1
    events = np.bincount(call, numerators, size).astype(np.float64, copy=False)
    items = np.bincount(call, denominators, size).astype(np.float64, copy=False)
    return counts_of(items - events if complement else events, items)


def _call_numbers(task: TaskContributions) -> npt.NDArray[np.intp]:
    import numpy as np

    return np.unique(np.frombuffer(task.keys, np.uint64), return_inverse=True)[1]
