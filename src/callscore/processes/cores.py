"""The cores of this machine."""

from __future__ import annotations

import os

from callscore.core.errors import UsageError


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_processes(number: int | None, items: int, few: int, block: int = 1) -> int:
    """`number`, at most one process per block of items; by default one per core.

    By default only one for fewer items than `few`, as starting others would take longer. Raises
    UsageError.
    """
    if number is not None and number < 1:
        raise UsageError(f"workers: {number}; expected 1 or more")
    if number is None and items < few:
        return 1
    return max(1, min(number or usable_cores(), -(-items // block)))
