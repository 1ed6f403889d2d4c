"""The scores of the optional benchmarks, and the status of any score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from callscore.core.interval import Interval

Status = Literal["valid", "invalid", "error", "incomplete", "not_run"]
"""The status of a result (C-01). `invalid` counts against the model, `error` does not."""


class CriterionScore(msgspec.Struct, frozen=True):
    """One of the eleven criteria: its value over all cases, and whether it meets the limit."""

    value: float | None
    binary: int | None
    why: str | None = None
    unit: str = "fraction"
    case_pass_rate: float | None = None
    """The share of cases that meet the limit on their own (C-88)."""
    n: int = 0
    approximate: bool = False
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    plain: float | None = None
    """For a rate of claims: its value if no claim were left out as padding (C-136)."""
    claims_left_out: float | None = None


class BenchmarkScore(msgspec.Struct, frozen=True):
    """The optional second layer: eleven binary criteria.

    `provisional` is the mean over the `ran` criteria that have a value, official or not (C-89).
    """

    status: Status
    score: float | None
    criteria: Mapping[str, CriterionScore]
    provisional: float | None = None
    ran: int = 0
    approximate: bool = False
    meets_recommended: bool | None = None
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
