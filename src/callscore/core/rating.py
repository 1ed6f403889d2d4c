"""Comparing a value with a limit, and finding its rating band (C-08, C-10, C-11)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

TOLERANCE = 1e-9
"""Every comparison with a limit allows this much (C-08)."""

Operator = Literal[">=", "<=", ">", "<"]


class Rating(StrEnum):
    """The words of the framework's rating tables."""

    GOOD = "Good"
    ACCEPTABLE = "Acceptable"
    WARNING = "Warning"
    FAIL = "Fail"
    BLOCKER = "Blocker"


def holds(value: float, comparison: Operator, limit: float) -> bool:
    """value ⋚ limit, with the tolerance in favour of equality        C-08"""
    if comparison == ">=":
        return value - limit >= -TOLERANCE
    if comparison == "<=":
        return value - limit <= TOLERANCE
    if comparison == ">":
        return value - limit > TOLERANCE
    return value - limit < -TOLERANCE


class Band(msgspec.Struct, frozen=True, array_like=True):
    """One row of a rating table: the rating, and the comparison that a value must satisfy."""

    rating: Rating
    comparison: Operator
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value reaches this rating or a better one."""
        return holds(value, self.comparison, self.limit)


def rate(value: float, bands: tuple[Band, ...], otherwise: Rating | None) -> Rating | None:
    """The first band from the top that the value satisfies, else `otherwise`        C-10"""
    for band in bands:
        if band.holds(value):
            return band.rating
    return otherwise
