"""How the work on a text grows with its length, on machines of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable

FACTOR = 10
TRIES = 10
SMALLEST_S = 0.002
"""A shorter time says little about growth."""


def grows_in_line(work: Callable[[int], object], size: int) -> bool:
    """Whether ten times the size takes far less than a hundred times as long.

    Others on the machine can only add to the CPU time of a measurement, so the shortest of several
    counts, and what looks bad is measured again: noise passes, the square stays.
    """
    small = large = float("inf")
    for _ in range(TRIES):
        small = min(small, _cpu_s(work, size))
        large = min(large, _cpu_s(work, FACTOR * size))
        if large < FACTOR**1.5 * max(small, SMALLEST_S):
            return True
    return False


def _cpu_s(work: Callable[[int], object], size: int) -> float:
    began = time.process_time()
    work(size)
    return time.process_time() - began
