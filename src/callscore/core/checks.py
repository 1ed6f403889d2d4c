"""The outcome of one check of a run: a gate, a blocker, a task that had to be complete."""

from __future__ import annotations

from typing import Literal

import msgspec

CheckStatus = Literal["passed", "failed", "undecided", "not_run"]
"""`undecided` is neither: something that the check needs has no value."""


class Check(msgspec.Struct, frozen=True):
    """One thing that was checked, about one model."""

    model: str
    name: str
    status: CheckStatus
    message: str = ""
    """Why it is not passed; the value where it is."""
