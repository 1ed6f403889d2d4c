"""Maps values to coordinates: linear and logarithmic axes with round ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

LOG_FROM = 20.0
"""An axis of positive values is logarithmic if the largest exceeds the smallest by this factor."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Scale(NamedTuple):
    """Maps `low` to `start` and `high` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value; values outside of the axis are drawn at its end."""
        inside = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.is_log:
            inside, low, high = math.log(inside), math.log(low), math.log(high)
        share = (inside - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> Sequence[float]:
        """Return round values on the axis."""
        return _log_ticks(self.low, self.high) if self.is_log else _ticks(self, about)


def linear_scale(
    values: Sequence[float], start: float, end: float, floor: float | None = None
) -> Scale:
    """Return a linear axis that includes all values, with round ends."""
    low = min([*values, *([] if floor is None else [floor])])
    high = max(values)
    if high <= low:
        high = low + (abs(low) or 1.0)
    step = _step(high - low, 5)
    return Scale(
        math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end
    )


def cost_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis for costs: from 0, or logarithmic if they differ much."""
    if min(values) > 0 and max(values) / min(values) > LOG_FROM:
        low, high = math.log10(min(values)), math.log10(max(values))
        return Scale(
            10 ** (math.floor(low * 2) / 2), 10 ** (math.ceil(high * 2) / 2), start, end, True
        )
    return linear_scale(values, start, end, floor=0.0)


def _step(width: float, about: int) -> float:
    size = 10.0 ** math.floor(math.log10(width / about))
    return next(step * size for step in STEPS if step * size * about >= width - 1e-12)


def _ticks(scale: Scale, about: int) -> Sequence[float]:
    step = _step(scale.high - scale.low, about)
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> Sequence[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    return [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
