"""The four headline numbers of one model over all its scenarios, as a gate sees them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callscore.core.measure import Measure

AVERAGE, CLASSIFICATION = "orchestration.average", "orchestration.classification"
FC, PLAN = "orchestration.fc", "orchestration.plan"
HEADLINES = (AVERAGE, CLASSIFICATION, FC, PLAN)


class Headline(msgspec.Struct, frozen=True):
    """Values that nobody rounded; of several languages their mean.

    An approximate one is a lower bound: what nobody decided counts as unequal (C-115), and a
    search that was cut off has found the best so far (C-117).
    """

    numbers: Mapping[str, Measure]
    scenarios: int
    evaluated: int
    complete: bool
    """Whether few enough scenarios failed to be evaluated, in every language (C-119)."""
