"""Remarks next to the value of a metric: what it is based on, and what measured it."""

from __future__ import annotations

from callscore.core.scorecard import MetricScore, TaskScore
from callscore.report.numbers import show_count

LIMITS = "limits hold for LaBSE or mUSE only"
"""Why a value by another measure has no rating and no tick (C-68)."""


ESTIMATE = "~"
"""Marks an estimate in narrow columns."""
UNCALIBRATED = "u"
"""Marks a row in narrow columns whose judge no label has checked (STATS §5)."""


def estimate_mark(metric: MetricScore) -> str:
    """Mark an estimate where there is no room for a remark."""
    return ESTIMATE if metric.approximate else ""


def show_estimate(metric: MetricScore) -> str:
    """Say that a value is an estimate; empty if it is none."""
    if not metric.approximate:
        return ""
    return "approximate" if metric.rating else "estimate, not rated"


def limits_remark(metric: MetricScore) -> str:
    """Return what measured a value, if the limits are not made for it        C-68"""
    return f"{metric.measured_by}: {LIMITS}" if metric.measured_by else ""


def brief_remarks(metric: MetricScore, rating: str) -> str:
    """Return tick and rating for a narrow column, with the name of another measure."""
    name = f" {metric.measured_by.partition(' ')[0]}" if metric.measured_by else ""
    uncalibrated = f" {UNCALIBRATED}" if metric.uncalibrated else ""
    return f"{name}{rating}{uncalibrated}{' worst' if metric.bounded else ''}"


def metric_remarks(metric: MetricScore, task: TaskScore) -> str:
    """Return the remarks in brackets; empty if there are none."""
    parts = []
    if metric.bounded:
        parts.append(f"worst case of {show_count(metric.open_calls, 'open call')}")
    if metric.resolution is not None:
        parts.append(_count_of_all(metric.value, metric.resolution))
    if metric.facts is not None:
        parts.append(show_count(metric.facts, "fact"))
    if metric.max_per_call:
        parts.append(f"max {metric.max_per_call:g} per call")
    if metric.n != task.n and metric.unit != "count":
        parts.append(f"n = {metric.n}")
    if metric.measured_by or metric.approximate:
        parts.append(metric.measured_by or show_estimate(metric))
    if metric.uncalibrated:
        parts.append("uncalibrated")
    return f" ({', '.join(parts)})" if parts else ""


def _count_of_all(value: float | None, resolution: float) -> str:
    """Return a rate as a count, such as `0 of 48`; the mean over several runs may be a fraction."""
    number = f"{(value or 0.0) / resolution:.1f}".removesuffix(".0")
    return f"{number} of {100 / resolution:.0f}"
