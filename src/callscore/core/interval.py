"""What a card says about certainty: limits, how they were made, what a gate may claim."""

from __future__ import annotations

import msgspec

Interval = tuple[float, float]
"""The limits of a 95 % interval: about future calls, of which those scored are a sample."""
FEW_CALLS = 15
"""Intervals from fewer calls are marked as rough (STATS §2)."""


class GateClaim(msgspec.Struct, frozen=True):
    """Whether the data show that a rate keeps its gate, one-sided at 95 % (STATS §2)."""

    holds: bool
    limit: float
    bound: float
    """The limit that the rate keeps with 95 % confidence, in the unit of the row."""
    n: int
    """Independent items it rests on; calls, if none is in error."""
    errors: int
    needed: int
    """How many would show it with as many errors."""


class IntervalMethod(msgspec.Struct, frozen=True):
    """How the intervals of a card were made (STATS §1, §2)."""

    level: float
    about: str
    """`future calls`: those scored are taken as a sample of them."""
    calls: int
    units: int
    """What was resampled: the calls, or random groups of them if there are fewer units."""
    resamples: int
    seed: int
