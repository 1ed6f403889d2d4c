"""Scorecard: every row of the framework, each a link to its calls; ranks, slices, coverage."""

from __future__ import annotations

from callscore.report.html.answers_sections import slices_section
from callscore.report.html.card_sections import coverage_section, ranks_section
from callscore.report.html.scorecard_section import scorecard_section, tasks_section
from callscore.report.markup import Child, Html, join
from callscore.report.source import ReportSource
from callscore.scorecard.template import TemplateRow
from callscore.web.scored import check_scored, version_of_run, with_source
from callscore.web.screen import Answer, PageTable, Route, Visit, link
from callscore.web.screens.matrix import matrix_url
from callscore.web.tables import export_links


def show_scorecard(visit: Visit) -> Answer:
    """Return the template of the framework, each row a link to its calls."""
    return with_source(visit, "scorecard", "Scorecard", _scorecard)


def _scorecard(visit: Visit, source: ReportSource) -> Html:
    def label(row: TemplateRow) -> Child:
        if row.kind == "metric" and any(one.metric(row.key) for one in source.card.models):
            return link(row.label, matrix_url(visit.run, metric=row.key, sort="metric"))
        if row.kind == "task":
            return link(row.label, matrix_url(visit.run, task=row.key, sort="worst"))
        return row.label

    counts = visit.results.counts(visit.run)
    models = [model.model for model in source.card.models]
    return join(
        scorecard_section(source.card, source.template, label),
        export_links(visit),
        ranks_section(source.card),
        slices_section(counts.slices, models),
        tasks_section(source.card, source.template),
        coverage_section(source, counts.statuses),
    )


def scorecard_table(visit: Visit) -> PageTable:
    """Return one row per model and value."""
    rows = check_scored(visit).card.to_rows()
    columns = list(rows[0]) if rows else []
    return PageTable(f"scorecard-{visit.run}", columns, [[list(row.values()) for row in rows]])


ROUTES = (
    Route(
        "GET",
        "/runs/{run}/scorecard",
        show_scorecard,
        version=version_of_run,
        table=scorecard_table,
    ),
)
