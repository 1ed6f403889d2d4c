"""How a scorecard shows itself in a notebook; `Scorecard` finds these functions by name."""

from __future__ import annotations

from callscore.core.scorecard import Scorecard
from callscore.report import notebook
from callscore.report.svg.picture import Picture
from callscore.suites.registry import template_of


def html(card: Scorecard) -> str:
    """The first screen of the report."""
    return notebook.card_html(card, template_of(card))


def plot(card: Scorecard, kind: str, metric: str | None) -> Picture:
    """One picture of the report."""
    return notebook.plot(card, template_of(card), kind, metric)


def arrow_stream(card: Scorecard, requested_schema: object) -> object:
    """The rows as an Arrow stream."""
    return notebook.arrow_stream(card, requested_schema)
