"""The 95 % interval of a value, where the scorecard has one."""

from __future__ import annotations

from typing import Any, TypeAlias

from callscore.report.numbers import show

Interval: TypeAlias = tuple[float, float]


def interval_of(scored: Any) -> Interval | None:
    """`ci95` of a metric, a task, a Final Score or a cost"""
    found = getattr(scored, "ci95", None)
    return None if found is None else (float(found[0]), float(found[1]))


def show_interval(interval: Interval | None, unit: str = "fraction") -> str:
    """[0.812, 0.914], [0 %, 7.4 %], or nothing."""
    if interval is None:
        return ""
    return f"[{show(interval[0], unit)}, {show(interval[1], unit)}]"
