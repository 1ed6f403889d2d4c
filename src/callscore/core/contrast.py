"""The difference between two models of a scorecard, and whether it is significant."""

from __future__ import annotations

from typing import Literal

import msgspec


class ModelContrast(msgspec.Struct, frozen=True):
    """Two models on the same calls: second minus first, and whether that is significant."""

    of: Literal["final", "zeroed_final", "efficiency"]
    first: str
    second: str
    difference: float
    ci95: tuple[float, float] | None
    """The interval of this difference, as `callscore compare` has it; null if the data give no
    limits."""
    significant: bool
    """Whether the data separate the two, tested together with all other pairs (studentised max-t
    bootstrap over calls), and `ci95` excludes 0."""
    calls: int
    calls_needed: int | None
    """About how many calls would show a difference of this size; null if `ci95` has 0 in it, as the
    models may then be equal."""
    deviation: float = 0.0
    """Standard deviation of the difference from call to call."""
    claim: tuple[float, float] | None = None
    """One-sided limits of the difference (STATS §2), each at α / (k − 1) for the k models in
    question (C-138); null if one of the two is not in question, or intervals were not asked for."""
