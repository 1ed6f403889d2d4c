"""Figures next to a metric or a criterion, outside its value (C-35, C-45, C-136)."""

from __future__ import annotations

from typing import NamedTuple

from callscore.core.scorecard import ModelScore
from callscore.core.template import TemplateRow
from callscore.scorecard.template import PLAIN


class Figure(NamedTuple):
    """The value of a figure, and the claims that the official value leaves out (C-136)."""

    value: float | None
    claims_left_out: float | None = None


def figure_of(model: ModelScore, row: TemplateRow) -> Figure | None:
    """Return the figure of a row; None if its task or the benchmarks were not run."""
    slug, _, name = row.key.partition("/")
    task = model.tasks.get(slug.partition(".")[0])
    metric = task.metrics.get(slug) if task is not None else None
    if metric is not None and name != PLAIN:
        return Figure((metric.secondary or {}).get(name))
    owner = metric or model.benchmarks.criteria.get(slug)
    return None if owner is None else Figure(owner.plain, owner.claims_left_out)
