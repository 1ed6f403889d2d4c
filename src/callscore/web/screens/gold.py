"""Gold audit: references that models doubt together, the most suspicious first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock

import msgspec

from callscore.report.details.decoded_case import decode_case
from callscore.report.details.form_marks import MarkReader
from callscore.report.details.gold_audit import FieldVotes, Suspicion, find_suspicions, votes_of
from callscore.report.html.parts import chip, model_name, row, table
from callscore.report.markup import Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.results.port import MatrixQuery, QueryError, Results
from callscore.store.address import as_option
from callscore.web.screen import Answer, Page, Route, Visit, link

CASES = 300
"""The cases that are read: those with the lowest mean score."""
ROWS = 50
KEPT = 8
"""Audits in memory."""
NOTE = (
    "At least two models give the same answer, and the reference has another one. The weight adds "
    "up the log odds of these models to be right on the same question of other calls, and "
    "subtracts those of the models that agree with the reference."
)


class GoldQuery(msgspec.Struct, frozen=True):
    """The task, and how many rows come before the page."""

    task: str = ""
    after: int = 0


class _Audit(msgspec.Struct, frozen=True):
    found: Sequence[Suspicion]
    read: int
    total: int


_LOCK = Lock()
_KEPT: OrderedDict[tuple[str, int, str, str], _Audit] = OrderedDict()


def _kept_audit(visit: Visit, task: str) -> _Audit:
    """The audit of a run; computed once until the run changes."""
    run = visit.run
    key = (as_option(visit.site.store), run, visit.results.version(run), task)
    with _LOCK:
        if key not in _KEPT:
            _KEPT[key] = _audit(visit.results, run, task)
            while len(_KEPT) > KEPT:
                _KEPT.popitem(last=False)
        return _KEPT[key]


def _audit(results: Results, run: int, task: str) -> _Audit:
    """The suspicious references among the cases with the lowest mean scores."""
    source = results.scored(run).source
    settings = {} if source is None else source.provenance.settings
    votes: list[FieldVotes] = []
    marks = MarkReader(settings)
    places = list(_places(results, run, task))
    for place in places:
        votes += votes_of(place, decode_case(results.case(run, place).view), marks)
    total = results.matrix(run, MatrixQuery(task=task)).total
    return _Audit(find_suspicions(votes), len(places), total)


def _places(results: Results, run: int, task: str) -> Iterator[int]:
    """The places of the worst cases."""
    query = MatrixQuery(task=task, sort="worst")
    left = CASES
    while left > 0:
        page = results.matrix(run, query)
        for one in page.rows[:left]:
            yield one.place
        left -= len(page.rows)
        if not page.after:
            return
        query = msgspec.structs.replace(query, after=page.after)


def show_gold(visit: Visit) -> Answer:
    """Return the references that models doubt together."""
    run = visit.run_line()
    query = visit.query_as(GoldQuery)
    if visit.results.scored(run.id).source is None:
        return Page("Gold", tag("p", "The run has no scores yet."), run, "gold")
    tasks = visit.results.matrix(run.id, MatrixQuery()).tasks
    if query.task and query.task not in tasks:
        raise QueryError(f"task={plain(query.task, 60)!r}: expected one of {', '.join(tasks)}")
    audit = _kept_audit(visit, query.task)
    kinds = [
        link(task or "all", visit.url(task=task, after=0), class_="filter",
             aria_current="true" if task == query.task else None)
        for task in ("", *tasks)
    ]  # fmt: skip
    page = audit.found[query.after : query.after + ROWS]
    rows = [_row(one, run.id) for one in page]
    headings = ("Case", "Question", "Reference", "Models say", "Models", "Weight")
    listed = table(headings, rows, "Suspicious references", "gold") if rows else None
    main = tag(
        "section",
        tag("h1", "Gold audit"),
        tag("p", NOTE, class_="note"),
        tag("nav", kinds, class_="kinds", aria_label="Tasks"),
        tag("output", _count(audit), class_="count"),
        listed,
        _more(visit, query, len(audit.found)),
    )
    return Page("Gold audit", main, run=run, tab="gold")


def _count(audit: _Audit) -> str:
    found = show_count(len(audit.found), "suspicious reference")
    if audit.read < audit.total:
        return f"{found} in the {audit.read} cases with the lowest scores, of {audit.total}"
    return f"{found} in {show_count(audit.read, 'case')}"


def _row(one: Suspicion, run: int) -> Html:
    votes = one.votes
    case = link(plain(votes.case_id, 80), f"/runs/{run}/cases/{votes.place}")
    against = [chip(model_name(model), "bad") for model in one.against]
    agree = [chip(model_name(model)) for model in votes.right]
    return row(
        case,
        [
            tag("td", plain(votes.words, 200), dir="auto"),
            tag("td", plain(votes.expected, 200), dir="auto"),
            tag("td", tag("b", plain(one.value, 200)), dir="auto"),
            join(against, " ", tag("small", "with the reference: ") if agree else None, agree),
            f"{one.weight:.1f}",
        ],
    )


def _more(visit: Visit, query: GoldQuery, total: int) -> Html | None:
    links = []
    if query.after:
        links.append(link("Previous", visit.url(after=max(0, query.after - ROWS))))
    if query.after + ROWS < total:
        links.append(link("Next", visit.url(after=query.after + ROWS)))
    return tag("nav", links, class_="more", aria_label="Pages") if links else None


ROUTES = (Route("GET", "/runs/{run}/gold", show_gold, query=GoldQuery),)
