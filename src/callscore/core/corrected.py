"""A judged value corrected by labels of people        STATS §5"""

from __future__ import annotations

import msgspec

from callscore.core.interval import Interval


class Corrected(msgspec.Struct, frozen=True, omit_defaults=True):
    """What people would have given, estimated from their labels and all verdicts of the judge."""

    value: float
    ci95: Interval | None
    labels: int
    """Items that people labelled."""
    calls: int
    """Calls with a labelled item; of a score, of the row with the fewest."""
    trust: float | None = None
    """The weight of the judge in the estimate (λ), 0 to 1; null for scores of several rows."""
    correlation: float | None = None
    """Between people and judge on the labelled calls; null if one of them does not vary."""
    helps: bool | None = None
    """Whether the judge makes the estimate more certain than the labels alone; null for scores of
    several rows."""
    rating: str | None = None
    """The rating of the corrected value."""
    breached: bool = False
    """Whether the corrected value breaches a gate that the judged one keeps."""
    uncorrected: tuple[str, ...] = ()
    """Judged rows of a score that have no labels, or too few."""
    claim: Interval | None = None
    """One-sided 95 % limits of the corrected value (STATS §2, §5)."""
