"""Scorecards in a notebook: HTML, pictures and Arrow data. `Scorecard` imports this by name.

The HTML has no script, all text in it is escaped, and its style applies to nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.core.comparison import Comparison
from callscore.core.errors import MissingExtra, UsageError, nearest
from callscore.core.scorecard import Scorecard
from callscore.report.cells import TONES
from callscore.report.decision_statements import sampled_unit
from callscore.report.html.card_sections import rank_bands_of
from callscore.report.html.comparison_section import (
    conclusion_section,
    notes_list,
    rows_table,
)
from callscore.report.html.first_screen import first_screen
from callscore.report.html.page import style_sheet
from callscore.report.html.parts import collapsible
from callscore.report.html.scorecard_section import scorecard_table
from callscore.report.markup import tag
from callscore.report.safe_text import plain
from callscore.report.svg.cost_quality import cost_quality_points, draw_cost_quality
from callscore.report.svg.interval_bars import IntervalBar, draw_interval_bars
from callscore.report.svg.picture import Picture, standalone_picture
from callscore.report.svg.rank_bands import draw_rank_bands
from callscore.suites.registry import template_of

PICTURE_KINDS = ("cost_quality", "ranks", "metric")


def card_html(card: Scorecard) -> str:
    """Return the first screen of the HTML report as one element, with all rows in a fold."""
    template = template_of(card)
    rows = collapsible("All rows", scorecard_table(card, template))
    element = tag("div", first_screen(card, template, standalone=True), rows, class_="callscore")
    return f"<style>{style_sheet()}</style>{element}"


def comparison_html(comparison: Comparison) -> str:
    """Return the conclusion of a comparison and its rows as one element."""
    sides = f"{comparison.first.model} → {comparison.second.model}"
    element = tag(
        "div",
        tag("h2", plain(sides, 200)),
        conclusion_section(comparison),
        rows_table(comparison),
        notes_list(comparison),
        class_="callscore",
    )
    return f"<style>{style_sheet()}</style>{element}"


def plot(card: Scorecard, kind: str, metric: str | None = None) -> Picture:
    """Draw `cost_quality`, `ranks`, or one `metric` (a slug) of a scorecard."""
    if kind == "cost_quality":
        return standalone_picture(
            draw_cost_quality(
                cost_quality_points(card), plain(card.final_heading, 80), sampled_unit(card)
            )
        )
    if kind == "ranks":
        return _ranks(card)
    if kind == "metric":
        return _metric(card, metric)
    raise UsageError(f"{kind!r} is not a picture; expected one of {', '.join(PICTURE_KINDS)}")


def _ranks(card: Scorecard) -> Picture:
    bands = rank_bands_of(card)
    if not bands:
        raise UsageError("this scorecard has no rank bands: they need intervals and two models")
    return standalone_picture(draw_rank_bands(bands))


def _metric(card: Scorecard, metric: str | None) -> Picture:
    rows = {row.key: row for row in template_of(card) if row.kind in ("metric", "task")}
    if metric is None or metric not in rows:
        near = nearest(metric or "", list(rows), likeness=0.5)
        meant = f"did you mean {near}? " if near else ""
        raise UsageError(
            f"{metric!r} is not a metric of this scorecard; {meant}expected "
            + (f"a slug such as {next(iter(rows))!r}" if rows else "a card with metrics")
        )
    row = rows[metric]
    unit, bars = "fraction", []
    for model in card.models:
        score = model.tasks.get(metric) if row.kind == "task" else model.metric(metric)
        value = getattr(score, "score" if row.kind == "task" else "value", None)
        unit = getattr(score, "unit", unit)
        tone = TONES.get(getattr(score, "rating", None) or "", "plain")
        bars.append(IntervalBar(model.model, value, getattr(score, "ci95", None), tone))
    return standalone_picture(
        draw_interval_bars(row.label, bars, unit, [band.limit for band in row.bands[:1]])
    )


_TYPES: Mapping[str, str] = {
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "meets_threshold": "bool_",
    "n": "int64",
    "approximate": "bool_",
}
"""The Arrow types of the columns of `to_rows` that are not text."""


def arrow_stream(card: Scorecard, requested_schema: object = None) -> object:
    """Return `card.to_rows()` as an Arrow stream for polars, DuckDB, pyarrow or pandas."""
    try:
        import nanoarrow
    except ImportError:
        raise MissingExtra(
            "Arrow needs a package: pip install 'callscore[arrow]'; card.to_rows() has plain rows"
        ) from None
    rows: Sequence[Mapping[str, Any]] = card.to_rows()
    names = list(rows[0]) if rows else ["model"]
    types = {name: getattr(nanoarrow, _TYPES.get(name, "string"))() for name in names}
    columns = [nanoarrow.c_array([row[name] for row in rows], types[name]) for name in names]
    table = nanoarrow.c_array_from_buffers(
        nanoarrow.struct(types), len(rows), [None], children=columns
    )
    return nanoarrow.c_array_stream(table, schema=requested_schema).__arrow_c_stream__()
