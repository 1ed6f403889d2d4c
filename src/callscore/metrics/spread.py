"""The spread of the scores of repeated runs."""

from __future__ import annotations

import math
from collections.abc import Sequence


def standard_deviation(values: Sequence[float], ddof: int) -> float:
    """√(Σ (x − mean)² / (n − ddof)); needs more than `ddof` values"""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - ddof))


def steadiness(values: Sequence[float], ddof: int) -> float | None:
    """1 − standard deviation / mean, clamped to 0 … 1; None if the mean is 0"""
    mean = math.fsum(values) / len(values)
    if mean == 0:
        return None
    return min(1.0, max(0.0, 1 - standard_deviation(values, ddof) / mean))
