"""Yes, No and N/A of a model and those of people: the 3 × 3 table and its rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

Mark = Literal["yes", "no", "na"]
MARKS: tuple[Mark, ...] = ("yes", "no", "na")


class MarkConfusion(msgspec.Struct, frozen=True):
    """How often each mark of a person was answered with each mark of a model."""

    counts: Mapping[Mark, Mapping[Mark, int]]
    """By the person's mark, then by the model's."""

    @property
    def na_to_no_rate(self) -> float | None:
        """model said No / person said N/A; None if no person said N/A"""
        row = self.counts["na"]
        total = sum(row.values())
        return row["no"] / total if total else None

    @property
    def agreement(self) -> float | None:
        """equal marks / marks"""
        total = sum(sum(row.values()) for row in self.counts.values())
        return sum(self.counts[mark][mark] for mark in MARKS) / total if total else None


def mark_of(score: float | None, max_score: float) -> Mark:
    """N/A if there is no score, yes at full marks, else no."""
    if score is None:
        return "na"
    return "yes" if score >= max_score else "no"


def confusion(pairs: Iterable[tuple[Mark, Mark]]) -> MarkConfusion:
    """The table of (person, model) pairs."""
    counts: dict[Mark, dict[Mark, int]] = {one: dict.fromkeys(MARKS, 0) for one in MARKS}
    for expected, given in pairs:
        counts[expected][given] += 1
    return MarkConfusion(counts)
