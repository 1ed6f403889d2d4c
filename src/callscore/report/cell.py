"""One cell of a scorecard as text and tone, and a row of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from callscore.core.scorecard import ModelScore
from callscore.core.template import TemplateRow
from callscore.scorecard.template import PLAIN

Tone = Literal["plain", "good", "middling", "bad", "blocked", "quiet"]

TONES: Mapping[str, Tone] = {
    "Good": "good",
    "Acceptable": "middling",
    "Warning": "middling",
    "Fail": "bad",
    "Blocker": "blocked",
}
TICKS: Mapping[bool | None, str] = {True: " ✓", False: " ✗", None: ""}
NOT_AVAILABLE = "n/a"
PASS = "Pass"
"""The framework's rating for a count of 0."""


class Cell(msgspec.Struct, frozen=True):
    """The text of a cell.

    `why` is the reason for an n/a, printed as a footnote. `brief` is a shorter text for narrow
    columns: a rating by its first letter.
    """

    text: str
    tone: Tone = "plain"
    why: str = ""
    brief: str = ""
    interval: str = ""
    """The 95 % interval of the value, shown where there is room."""
    remark: str = ""
    """What a reader of the value must know; a footnote in the terminal."""


class ScorecardRow(msgspec.Struct, frozen=True):
    """A template row with one cell per model."""

    template: TemplateRow
    cells: Sequence[Cell]


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
