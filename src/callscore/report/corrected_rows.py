"""Rows below a judged value: its correction by labels of people, and remarks on metrics."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.scorecard import Corrected, MetricScore, ModelScore, TaskScore
from callscore.core.template import TemplateRow
from callscore.report.cell import TONES, Cell, ScorecardRow
from callscore.report.numbers import show, show_count, show_interval

LABEL = "corrected by people"


def corrected_row(row: TemplateRow, models: Sequence[ModelScore]) -> ScorecardRow | None:
    """Return the corrected values of a row; None if no model has one."""
    found = [_corrected(row, model) for model in models]
    if not any(found):
        return None
    own = msgspec.structs.replace(
        row,
        kind="corrected",
        label=LABEL,
        threshold="",
        is_blocker=False,
        is_detail=True,
        remark="",
    )
    unit = _unit(row, models)
    return ScorecardRow(own, [_cell(corrected, unit) for corrected in found])


def _corrected(row: TemplateRow, model: ModelScore) -> Corrected | None:
    if row.kind == "metric":
        task = model.tasks.get(row.key.partition(".")[0])
        metric = task.metrics.get(row.key) if task is not None else None
        return metric.corrected if metric is not None else None
    if row.kind == "task":
        found = model.tasks.get(row.key)
        return found.corrected if found is not None else None
    is_official = row.kind == f"final_{model.final.option.lower()}"
    return model.final.corrected if is_official else None


def _unit(row: TemplateRow, models: Sequence[ModelScore]) -> str:
    tasks = [model.tasks.get(row.key.partition(".")[0]) for model in models]
    metrics = [task.metrics.get(row.key) for task in tasks if task is not None]
    return next((metric.unit for metric in metrics if metric is not None), "fraction")


def _cell(corrected: Corrected | None, unit: str) -> Cell:
    if corrected is None:
        return Cell("no labels", "quiet")
    shown = show(corrected.value, unit)
    rating = f" {corrected.rating}" if corrected.rating else ""
    remarks = "; the judge does not help" if corrected.helps is False else ""
    if corrected.uncorrected:
        remarks += f"; {show_count(len(corrected.uncorrected), 'row')} uncalibrated"
    return Cell(
        f"{shown}{rating} ({show_count(corrected.labels, 'label')}{remarks})",
        TONES.get(corrected.rating or "", "plain"),
        brief=f"{shown}{rating[:2]}",
        interval="" if corrected.ci95 is None else show_interval(corrected.ci95, unit),
    )


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
