"""Decision and Scorecard: the sections of the report, with links to the calls behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from callscore.core.scorecard import Decide, ModelScore
from callscore.export.sources import read_as
from callscore.report.decision_statements import Statement
from callscore.report.html.answers_sections import slices_section
from callscore.report.html.card_sections import (
    blockers_section,
    coverage_section,
    ranks_section,
)
from callscore.report.html.first_screen import first_screen
from callscore.report.html.scorecard_section import scorecard_section, tasks_section
from callscore.report.markup import Child, Html, join, tag, text
from callscore.report.safe_text import plain
from callscore.report.source import ReportSource
from callscore.scorecard.template import TemplateRow
from callscore.web.page import choice, field, not_scored, notice
from callscore.web.screen import Answer, Page, Route, Visit, element, link
from callscore.web.screens.matrix import matrix_url

By = Literal["recommended", "quality", "efficiency"]
BY_WORDS = {
    "recommended": "cheapest that is not worse",
    "quality": "quality",
    "efficiency": "cost efficiency",
}
INTERVALS_LATER = "Intervals are being computed; the decision may still change with them."
YES_NO = {"false": "no", "true": "yes"}


class DecisionParameters(msgspec.Struct, frozen=True):
    """Another reading of the scorecard; the defaults are those of the run."""

    by: By | None = None
    margin: float | None = None
    allow_fail: bool | None = None


def show_decision(visit: Visit) -> Answer:
    """Return the decision in words, cost against quality, one line per model."""
    return with_source(visit, "", "Decision", _decision)


def show_scorecard(visit: Visit) -> Answer:
    """Return the template of the framework, each row a link to its calls."""
    return with_source(visit, "scorecard", "Scorecard", _scorecard)


def version_of_run(visit: Visit) -> str:
    """Return a text that changes with anything shown of the run."""
    run = visit.run_line()
    return f"{visit.results.version(run.id)} {run!r}"


def with_source(
    visit: Visit, tab: str, title: str, draw: Callable[[Visit, ReportSource], Html]
) -> Answer:
    """Return a page of the scored run, or what it waits for; it asks again while that changes."""
    run = visit.run_line()
    scored = visit.results.scored(run.id)
    content = not_scored(run) if scored.source is None else draw(visit, scored.source)
    stale = None
    if scored.state in ("stale", "building") and scored.source is not None:
        stale = notice(f"These scores are being computed again. {scored.why}".strip())
    if scored.values_only:
        stale = notice("The last review counts. ", tag("span", INTERVALS_LATER, class_="note"))
    is_live = run.is_running or scored.state != "fresh" or scored.values_only
    body = element(
        "div",
        stale,
        content,
        id="scored",
        hx_get=visit.url() if is_live else None,
        hx_trigger="every 2s" if is_live else None,
        hx_target="#scored" if is_live else None,
        hx_swap="outerHTML" if is_live else None,
    )
    return Page(f"{title} · {run.name}", body, run=run, tab=tab, fragments={"scored": body})


def _decision(visit: Visit, source: ReportSource) -> Html:
    chosen = visit.query_as(DecisionParameters)
    given = {
        name: value for name, value in msgspec.structs.asdict(chosen).items() if value is not None
    }
    own = source.provenance.decide
    used = msgspec.structs.replace(own, **given)
    if given:
        source = read_as(source, used)

    def blockers(model: ModelScore, number: Html) -> Html:
        return link(number, matrix_url(visit.run, model=(model.model,), show="invalid"))

    def statement(said: Statement, words: Html) -> Html:
        if said.keyword != "OUT" or len(said.models) != 1:
            return words
        return link(words, matrix_url(visit.run, model=said.models, show="invalid"))

    return join(
        _not_official(visit) if given else None,
        first_screen(source.card, source.template, blockers=blockers, statement=statement),
        _parameters(visit, own, used),
        _blockers(visit, source) if any(model.blockers for model in source.card.models) else None,
    )


def _not_official(visit: Visit) -> Html:
    return notice("Not official: read with other parameters. ", link("Reset", visit.path))


def _parameters(visit: Visit, own: Decide, used: Decide) -> Html:
    """Return the form that reads the scorecard in another way        C-138"""
    by = {own.by: BY_WORDS.get(own.by, own.by)} | BY_WORDS
    fail = {_word(own.allow_fail): YES_NO[_word(own.allow_fail)]} | YES_NO
    margin = tag(
        "input",
        name="margin",
        inputmode="decimal",
        size=6,
        value=None if used.margin == own.margin else f"{used.margin:g}",
        placeholder=f"{own.margin:g}",
    )
    form = element(
        "form",
        choice("Choose by", "by", by, used.by),
        field("Margin", margin),
        choice("Rows rated Fail allowed", "allow_fail", fail, _word(used.allow_fail)),
        tag("button", "Apply"),
        link("Reset", visit.path) if used != own else None,
        method="get",
        action=visit.path,
        class_="controls",
    )
    summary = tag("summary", "Read it with other parameters")
    return tag("details", summary, form, class_="parameters", open=used != own)


def _word(value: bool) -> str:
    return "true" if value else "false"


def _blockers(visit: Visit, source: ReportSource) -> Html:
    def case_link(case: str) -> Html:
        place = visit.results.place_of(visit.run, case)
        label = plain(case, 80)
        return text(label) if place is None else link(label, f"/runs/{visit.run}/cases/{place}")

    def gate(model: str, metric: str, label: str) -> Child:
        return link(label, matrix_url(visit.run, model=(model,), reason=metric))

    return blockers_section(source.card, source.template, case_link, gate)


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
        ranks_section(source.card),
        slices_section(counts.slices, models),
        tasks_section(source.card, source.template),
        coverage_section(source, counts.statuses),
    )


ROUTES = (
    Route("GET", "/runs/{run}", show_decision, query=DecisionParameters, version=version_of_run),
    Route("GET", "/runs/{run}/scorecard", show_scorecard, version=version_of_run),
)
