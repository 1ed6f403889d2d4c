"""The outcome of one check of a run: a gate, a blocker, a completeness requirement."""

from __future__ import annotations

from typing import Literal

import msgspec

CheckStatus = Literal["passed", "failed", "undecided", "not_run"]
"""`undecided`: a value that the check needs is missing."""


class Check(msgspec.Struct, frozen=True):
    """One check of one model."""

    model: str
    name: str
    status: CheckStatus
    message: str = ""
    """Why it did not pass; the value if it did."""
