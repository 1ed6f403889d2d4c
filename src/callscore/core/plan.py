"""A sample-size plan: how many calls a decision needs, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.scorecard import DecisionLine

Purpose = Literal["difference", "observed_difference", "width", "gate"]


class PlanLine(msgspec.Struct, frozen=True):
    """One question, and the number of calls that answers it."""

    purpose: Purpose
    question: str
    """In words."""
    of: str
    """`final`, or the metric of a gate."""
    models: Sequence[str]
    target: float | None
    """The difference, the width or the limit."""
    calls: int | None
    """None if no number of calls is enough; `why` is the reason."""
    cost_usd: float | None = None
    """The cost of this many calls for these models; null if a price is unknown."""
    have: int = 0
    """Calls of the pilot."""
    why: str = ""
    shown: bool = False
    """Whether the calls of the pilot show it already."""


class Plan(msgspec.Struct, frozen=True):
    """The plan: one line per question."""

    basis: str
    """The source of the numbers: a pilot run, or assumptions."""
    power: float
    """The probability that this many calls show it, averaged over what the pilot leaves open."""
    calls: int
    """Calls of the pilot; 0 if there is none."""
    lines: Sequence[PlanLine]
    notes: Sequence[str] = ()
    decision: Sequence[DecisionLine] = ()
    """What the pilot decides so far (C-138)."""
    origins: Mapping[str, str] = {}
    """By model, its provider if no model was asked."""
    models: int = 2
    """How many models will be compared; every two of them are distinguished or not."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, lists, strings and numbers, as `--json` writes it."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found
