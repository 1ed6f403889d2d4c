"""Log: every event of the store with author and time, and whether the chain holds."""

from __future__ import annotations

import msgspec

from callscore.core.events import LoggedEvent, find_faults
from callscore.report.details.decoded_case import value_text
from callscore.report.html.parts import chip, row, table
from callscore.report.markup import Html, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.web.screen import Answer, Page, PageTable, Route, Visit, link
from callscore.web.tables import export_links

ROWS = 100
MAX_TEXT = 400


class LogQuery(msgspec.Struct, frozen=True):
    """Events before a number; 0 begins with the newest."""

    before: int = 0


def show_log(visit: Visit) -> Answer:
    """Return the newest events."""
    before = visit.query_as(LogQuery).before
    events = visit.results.events()
    faults = list(find_faults(events, len(events) and events[-1].seq))
    shown = [one for one in reversed(events) if not before or one.seq < before][:ROWS]
    state = chip("the chain holds", "good")
    if faults:
        listed = ", ".join(f"{one.seq} {one.what}" for one in faults[:ROWS])
        state = chip(f"altered: {listed}", "bad")
    older = link("older", visit.url(before=shown[-1].seq)) if len(shown) == ROWS else None
    main = tag(
        "section",
        tag("h1", "Log"),
        tag("p", show_count(len(events), "event"), " ", state),
        table(
            ("Event", "When (UTC)", "Who", "Kind", "What"), [_row(one) for one in shown], "Events"
        )
        if shown
        else tag("p", "The log is empty."),
        tag("p", older),
        export_links(visit) if events else None,
    )
    return Page("Log", main)


def _row(event: LoggedEvent) -> Html:
    at = event.at[:19].replace("T", " ")
    cells = (at, plain(event.author, 60), event.kind, plain(_in_words(event), MAX_TEXT))
    return row(str(event.seq), cells)


def _in_words(event: LoggedEvent) -> str:
    """The body without the signs of JSON, and without what is empty."""
    try:
        body = msgspec.json.decode(event.body or b"null")
    except msgspec.DecodeError:
        body = None
    if not isinstance(body, dict):
        return _text(event)
    if list(body) == ["what"]:
        return str(body["what"])
    return "; ".join(f"{name}: {value_text(value)}" for name, value in body.items() if value)


def _text(event: LoggedEvent) -> str:
    return "deleted" if event.body is None else event.body.decode("utf-8", "replace")


def log_table(visit: Visit) -> PageTable:
    """Return every event, the oldest first."""
    rows = [[one.seq, one.at, one.author, one.kind, _text(one)] for one in visit.results.events()]
    return PageTable("log", ("event", "at", "author", "kind", "body"), [rows])


ROUTES = (Route("GET", "/events", show_log, "admin", query=LogQuery, table=log_table),)
