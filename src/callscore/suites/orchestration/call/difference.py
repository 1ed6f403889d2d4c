"""A difference between a step and the expected one."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One difference from the expected step: its kind in the error taxonomy, and where it is."""

    kind: str
    detail: str
