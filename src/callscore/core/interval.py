"""Intervals of a scorecard: their limits, their method, and what they show about gates."""

from __future__ import annotations

import msgspec

Interval = tuple[float, float]
"""The limits of a 95 % interval for future calls; the scored calls are a sample of them."""
ClaimLimits = tuple[float, float]
"""Two limits, each one-sided at 95 %, that reckon with failures that no call has shown (STATS §2).
"""
FEW_CALLS = 15
"""Intervals from fewer calls are marked as rough (STATS §2)."""


class GateClaim(msgspec.Struct, frozen=True):
    """Whether the data show that a rate meets its gate, one-sided at 95 % (STATS §2)."""

    holds: bool
    limit: float
    bound: float
    """The claim limit: what the rate meets with 95 % confidence, in the unit of the row."""
    n: int
    """Calls with something to count."""
    errors: int
    """Calls with an error."""
    needed: int
    """Calls that would show it without further errors, at least."""


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
