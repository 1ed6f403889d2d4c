"""The row below a judged value: the same value corrected by labels of people        STATS §5"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.corrected import Corrected
from callscore.core.scorecard import ModelScore
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
        row, kind="corrected", label=LABEL, threshold="", is_blocker=False, remark=""
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
