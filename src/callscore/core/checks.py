"""Results of checks: gates, blockers, completeness."""

from __future__ import annotations

from typing import Literal

import msgspec

CheckStatus = Literal["passed", "failed", "undecided", "not_run"]
"""`undecided`: a value that the check needs is missing."""


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one check of one model."""

    model: str
    name: str
    status: CheckStatus
    message: str = ""
    """Why it did not pass; the value if it did."""
