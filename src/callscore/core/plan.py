"""The frozen values of a plan: how many calls a decision takes, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

Purpose = Literal["difference", "observed_difference", "width", "gate"]


class PlanLine(msgspec.Struct, frozen=True):
    """One thing to find out, and the calls that it takes."""

    purpose: Purpose
    question: str
    """In words."""
    of: str
    """`final`, or the metric of a gate."""
    models: Sequence[str]
    target: float | None
    """The difference, the width or the limit."""
    calls: int | None
    """None if no number of calls within reach would do; `why` says so."""
    cost_usd: float | None = None
    """The cost of this many calls for these models; null where a price is unknown."""
    have: int = 0
    """Calls that the pilot has."""
    why: str = ""


class Plan(msgspec.Struct, frozen=True):
    """How many calls, for what, at what cost."""

    basis: str
    """What the numbers rest on: a pilot run, or assumptions."""
    power: float
    calls: int
    """Calls of the pilot; 0 if there is none."""
    lines: Sequence[PlanLine]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, lists, texts and numbers: what `--json` writes."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found
