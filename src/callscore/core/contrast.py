"""Two models of one card: how far apart they are, and whether that is more than chance."""

from __future__ import annotations

from typing import Literal

import msgspec


class ModelContrast(msgspec.Struct, frozen=True):
    """Two models on the same calls: second minus first, and whether that is more than chance."""

    of: Literal["final", "zeroed_final", "efficiency"]
    first: str
    second: str
    difference: float
    ci95: tuple[float, float] | None
    """Simultaneous for all pairs of this card (max-t bootstrap over calls); null where the data
    limit nothing."""
    significant: bool
    calls: int
    calls_needed: int | None
    """About how many calls would show a difference of this size; null if there is none."""
