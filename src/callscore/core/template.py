"""One row of a scorecard template: what a report prints, and where its value comes from."""

from __future__ import annotations

from typing import Literal

import msgspec

from callscore.core.spec import Band

RowKind = Literal[
    "section",
    "metric",
    "figure",
    "subscore",
    "task",
    "criterion",
    "benchmarks",
    "final_a",
    "final_b",
    "cost",
    "rank",
    "blocker",
    "corrected",
]
"""`corrected` is below a judged value: the same value corrected by labels of people (STATS §5)."""


class TemplateRow(msgspec.Struct, frozen=True):
    """One row of the scorecard template: its label, and the key of its value."""

    kind: RowKind
    label: str
    key: str
    threshold: str = ""
    is_blocker: bool = False
    bands: tuple[Band, ...] = ()
    """Limits that a rounded value must not appear to meet (C-09)."""
    is_detail: bool = False
    """Shown on request only; not in the template of the framework."""
    remark: str = ""
    """A remark that reports print next to the value."""
    unit: str = ""
    """The unit of a figure; every other value has its own."""
