"""A page of a scored run: what it waits for, whether it is stale, and when it asks again."""

from __future__ import annotations

from collections.abc import Callable

from callscore.report.markup import Html, tag
from callscore.report.source import ReportSource
from callscore.results.port import QueryError
from callscore.web.page import not_scored, notice
from callscore.web.screen import Answer, Page, Visit, element, link

CHANGED = "These scores are being computed again: the run, its data or its settings have changed."
INTERVALS_LATER = "Intervals are being computed; what is grey may still change with them."


def check_scored(visit: Visit) -> ReportSource:
    """Return the scored run; raises QueryError if it has no scores yet, for tables as files."""
    source = visit.results.scored(visit.run_line().id).source
    if source is None:
        raise QueryError("the run has no scores yet; expected a run that is scored")
    return source


def version_of_run(visit: Visit) -> str:
    """Return a text that changes with anything shown of the run."""
    run = visit.run_line()
    return f"{visit.results.version(run.id)} {run!r}"


def with_source(
    visit: Visit, tab: str, title: str, draw: Callable[[Visit, ReportSource], Html | None]
) -> Answer:
    """Return a page of the scored run, or what it waits for; it asks again while that changes.

    `draw` returns None while it computes something.
    """
    run = visit.run_line()
    scored = visit.results.scored(run.id)
    content = not_scored(run) if scored.source is None else draw(visit, scored.source)
    computes = content is None
    if computes:
        content = notice("This is being computed. ", link("Look again", visit.url()))
    stale = None
    if scored.state in ("stale", "building") and scored.source is not None:
        stale = notice(f"The scores of the run as it was: {scored.why}." if scored.why else CHANGED)
    if scored.values_only:
        stale = notice("The last review counts. ", tag("span", INTERVALS_LATER, class_="note"))
    is_live = run.is_running or scored.state != "fresh" or scored.values_only or computes
    body = element(
        "div",
        stale,
        content,
        id="scored",
        class_="follows" if scored.values_only else None,
        hx_get=visit.url() if is_live else None,
        hx_trigger="every 2s" if is_live else None,
        hx_target="#scored" if is_live else None,
        hx_swap="outerHTML" if is_live else None,
    )
    return Page(f"{title} · {run.name}", body, run=run, tab=tab, fragments={"scored": body})
