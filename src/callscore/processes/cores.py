"""The cores of this machine."""

from __future__ import annotations

import os

from callscore.core.errors import UsageError


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_processes(number: int | None, blocks: int, few: int = 2) -> int:
    """`number`, but at most one process per block; if none is given, one per core.

    With at most `few` blocks that is one, as starting others would take longer. Raises UsageError.
    """
    if number is not None and number < 1:
        raise UsageError(f"workers: {number}; expected 1 or more")
    if number is None and blocks <= few:
        return 1
    return max(1, min(number or usable_cores(), blocks))
