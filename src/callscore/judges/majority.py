"""One verdict from several on the same item: that of the majority, else the strictest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callscore.judges.rubric import Rubric


class Settled(NamedTuple):
    """The place of the verdict that counts, and whether most agree with it."""

    place: int
    is_majority: bool


def settle(rubric: Rubric, words: Sequence[str]) -> Settled:
    """The first word with which more than half agree; without one, the strictest."""
    counted = [rubric.counts_as(word) for word in words]
    for place, word in enumerate(counted):
        if counted.count(word) * 2 > len(counted):
            return Settled(place, True)
    strictest = max(range(len(words)), key=lambda place: rubric.strictness(words[place]))
    return Settled(strictest, False)
