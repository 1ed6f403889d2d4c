"""Intervals of a scorecard: their limits, their method, and what they show about gates."""

from __future__ import annotations

import msgspec

Interval = tuple[float, float]
"""The limits of a 95 % interval for future calls; the scored calls are a sample of them."""
FEW_CALLS = 15
"""Intervals from fewer calls are marked as rough (STATS §2)."""


class GateClaim(msgspec.Struct, frozen=True):
    """Whether the data show that a rate meets its gate, one-sided at 95 % (STATS §2)."""

    holds: bool
    limit: float
    bound: float
    """The limit that the rate meets with 95 % confidence, in the unit of the row."""
    n: int
    """Number of independent items; of calls, if there is no error."""
    errors: int
    needed: int
    """Number of items that would show it with the same number of errors."""


class IntervalMethod(msgspec.Struct, frozen=True):
    """How the intervals of a scorecard were computed (STATS §1, §2)."""

    level: float
    about: str
    """`future calls`: the scored calls are a sample of them."""
    calls: int
    units: int
    """Number of resampled units: calls, or random groups of calls if there are very many."""
    resamples: int
    seed: int
