"""Gold audit: references that models or people doubt, what was decided, and a new version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from callscore.core.events import EventConflict
from callscore.report.details.decoded_case import decode_case
from callscore.report.details.form_marks import MarkReader
from callscore.report.details.gold_audit import FieldVotes, Suspicion, find_suspicions, votes_of
from callscore.report.html.parts import chip, model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.source import ReportSource
from callscore.results.gold import (
    ACTIONS,
    GoldEvent,
    GoldNote,
    corrected_cases,
    corrected_outcome,
    field_votes,
    noted_fields,
    read_notes,
    write_note,
)
from callscore.results.port import MatrixQuery, QueryError
from callscore.store.address import as_option
from callscore.web.computations import Computations
from callscore.web.page import not_scored
from callscore.web.scored import check_scored
from callscore.web.screen import (
    Answer,
    Conflict,
    Download,
    Forbidden,
    Page,
    PageTable,
    Redirect,
    Route,
    Visit,
    element,
    link,
)
from callscore.web.tables import export_form, export_links

ROWS = 50
NOTE = (
    "At least two models give the same answer, and the reference has another one; or a person "
    "doubts it. The weight adds up the log odds of these models to be right on the same question "
    "of other calls, and subtracts those of the models that agree with the reference."
)
Show = Literal["open", "correct", "dismiss", "all"]
SHOWS: Mapping[Show, str] = {
    "open": "open",
    "correct": "corrected",
    "dismiss": "dismissed",
    "all": "all",
}


class GoldQuery(msgspec.Struct, frozen=True):
    """The task, what was decided, and how many rows come before the page."""

    task: str = ""
    show: Show = "open"
    after: int = 0


class _Entry(NamedTuple):
    """A field of a reference in the list."""

    votes: FieldVotes
    suspicion: Suspicion | None
    notes: Sequence[GoldEvent]

    @property
    def state(self) -> str:
        """What was decided last; `doubt` and nothing are open."""
        return self.notes[-1].note.action if self.notes else ""

    @property
    def prior(self) -> int:
        """The last event that is shown."""
        return self.notes[-1].seq if self.notes else 0


_SUSPICIONS = Computations[Sequence[Suspicion]]()


def _suspicions(visit: Visit, source: ReportSource) -> Sequence[Suspicion]:
    """The suspicions of a run, over all its cases; computed once until the run changes."""
    key = (as_option(visit.site.store), visit.run, visit.results.version(visit.run))
    return _SUSPICIONS.get(key, lambda: find_suspicions(_all_votes(source))).result()


def _all_votes(source: ReportSource) -> Iterator[FieldVotes]:
    marks = MarkReader(source.provenance.settings)
    for place, view in enumerate(source.cases, start=1):
        yield from votes_of(place, decode_case(view), marks)


def _entries(visit: Visit, source: ReportSource) -> list[_Entry]:
    """Every suspicion, the most suspicious first; before them, what only people doubt."""
    notes = dict(read_notes(visit.site.store))
    found = []
    for one in _suspicions(visit, source):
        subject = _note(visit.run, one.votes).subject
        found.append(_Entry(one.votes, one, notes.pop(subject, ())))
    noted = noted_fields(visit.results, visit.run, source, notes.values())
    return [*(_Entry(field, None, events) for field, events in noted), *found]


def _note(run: int, votes: FieldVotes) -> GoldNote:
    return GoldNote(
        "doubt", run, votes.place, votes.case_id, votes.task, votes.field, votes.expected
    )


def show_gold(visit: Visit) -> Answer:
    """Return the references that models or people doubt."""
    run = visit.run_line()
    query = visit.query_as(GoldQuery)
    source = visit.results.scored(run.id).source
    if source is None:
        return Page("Gold audit", not_scored(run), run, "gold")
    tasks = visit.results.matrix(run.id, MatrixQuery()).tasks
    if query.task and query.task not in tasks:
        raise QueryError(f"task={plain(query.task, 60)!r}: expected one of {', '.join(tasks)}")
    entries = _entries(visit, source)
    chosen = [one for one in entries if _is_chosen(one, query)]
    page = chosen[query.after : query.after + ROWS]
    headings = ("Case", "Question", "Reference", "Models say", "Models", "Weight", "Decision")
    rows = [_row(visit, one) for one in page]
    corrected = sum(one.state == "correct" for one in entries)
    main = tag(
        "section",
        tag("h1", "Gold audit"),
        tag("p", NOTE, class_="note"),
        _filters(visit, query, tasks),
        tag("output", _count(visit, len(chosen), query), class_="count"),
        table(headings, rows, "Doubtful references", "gold") if rows else None,
        _more(visit, query, len(chosen)),
        export_links(visit) if rows else None,
        tag(
            "div",
            tag(
                "p", f"A new version of the case file, with {show_count(corrected, 'correction')}:"
            ),
            export_form("Cases with every correction", f"/runs/{run.id}/gold/cases"),
        )
        if corrected
        else None,
    )
    return Page("Gold audit", main, run=run, tab="gold")


def _is_chosen(entry: _Entry, query: GoldQuery) -> bool:
    if query.task not in ("", entry.votes.task):
        return False
    is_open = query.show == "open" and entry.state in ("", "doubt")
    return is_open or query.show in ("all", entry.state)


def _filters(visit: Visit, query: GoldQuery, tasks: Sequence[str]) -> Html:
    by_task = [
        link(task or "all tasks", visit.url(task=task, after=0), class_="filter",
             aria_current="true" if task == query.task else None)
        for task in ("", *tasks)
    ]  # fmt: skip
    by_state = [
        link(words, visit.url(show=show, after=0), class_="filter",
             aria_current="true" if show == query.show else None)
        for show, words in SHOWS.items()
    ]  # fmt: skip
    return join(
        tag("nav", by_task, class_="kinds", aria_label="Tasks"),
        tag("nav", by_state, class_="kinds", aria_label="Decisions"),
    )


def _count(visit: Visit, number: int, query: GoldQuery) -> str:
    total = visit.results.matrix(visit.run, MatrixQuery(task=query.task)).total
    word = "" if query.show == "all" else f"{SHOWS[query.show]} "
    return f"{show_count(number, f'{word}doubtful reference')} in {show_count(total, 'case')}"


def _row(visit: Visit, entry: _Entry) -> Html:
    votes, suspicion = entry.votes, entry.suspicion
    case = link(plain(votes.case_id, 80), f"/runs/{visit.run}/cases/{votes.place}")
    against = [] if suspicion is None else suspicion.against
    agree = [chip(model_name(model)) for model in votes.right]
    said: Child = "—"
    if suspicion is not None:
        value = plain(suspicion.value, 200)
        said = tag("b", value) if value else tag("span", "nothing", class_="quiet")
    return row(
        case,
        [
            tag("td", plain(votes.words, 200), dir="auto"),
            tag("td", plain(votes.expected, 200), dir="auto"),
            tag("td", said, dir="auto"),
            join(
                [chip(model_name(model), "bad") for model in against],
                tag("small", "with the reference: ") if agree else None,
                agree,
            ),
            "—" if suspicion is None else f"{suspicion.weight:.1f}",
            join([_said(one) for one in entry.notes], _form(visit, entry)),
        ],
    )


def _said(event: GoldEvent) -> Html:
    """Return what a person has said, with name and time."""
    note = event.note
    words = {"doubt": "doubted", "correct": "corrected", "dismiss": "dismissed"}[note.action]
    tone: Literal["good", "middling", "plain"] = (
        "good" if note.action == "correct" else "middling" if note.action == "doubt" else "plain"
    )
    to = f" to {plain(note.value, 80)}" if note.value else ""
    who = f"{plain(event.author, 40)}, {event.at[:16].replace('T', ' ')}"
    reason = tag("q", plain(note.reason, 300), dir="auto") if note.reason else None
    return tag("div", chip(words, tone), f"{to} ", tag("small", who), reason)


def _form(visit: Visit, entry: _Entry) -> Html | None:
    """Return the form that decides; without a role for it, nothing."""
    if visit.site.read_only or not visit.session.may("review"):
        return None
    votes = entry.votes
    first = entry.suspicion.against[0] if entry.suspicion is not None else ""
    others = [model for model in votes.given if model not in votes.right]
    options = [
        tag("option", f"{plain(votes.given[model], 60)} ({model_name(model)})", value=model,
            selected=model == first)
        for model in others
    ]  # fmt: skip
    correct = None
    if options:
        correct = join(
            tag("label", "Correct to ", tag("select", options, name="model")),
            tag("button", "Correct", name="action", value="correct"),
        )
    form = element(
        "form",
        _hidden(votes, entry.prior),
        tag("label", "Reason ", tag("input", type="text", name="reason", dir="auto")),
        correct,
        tag("button", "Dismiss", name="action", value="dismiss"),
        action=f"/runs/{visit.run}/gold/notes",
        method="post",
        class_="controls",
        data_draft=f"gold:{visit.run}:{votes.place}:{votes.field}:{entry.prior}",
    )
    return tag("details", tag("summary", "Decide"), form)


def _hidden(votes: FieldVotes, prior: int) -> list[Html]:
    values: Mapping[str, str | int] = {
        "place": votes.place,
        "field": votes.field,
        "prior": prior,
    }
    return [tag("input", type="hidden", name=name, value=value) for name, value in values.items()]


def doubt_form(visit: Visit, place: int, fields: Mapping[str, FieldVotes]) -> Html | None:
    """Return the form of a case that says that its reference is wrong."""
    if visit.site.read_only or not visit.session.may("label") or not fields:
        return None
    options = [
        tag("option", f"{plain(one.words, 60)}: {plain(one.expected, 40)}", value=name)
        for name, one in fields.items()
    ]
    form = element(
        "form",
        tag("input", type="hidden", name="place", value=place),
        tag("label", "What ", tag("select", options, name="field")),
        tag("label", "Why ", tag("input", type="text", name="reason", dir="auto")),
        tag("button", "Doubt it", name="action", value="doubt"),
        action=f"/runs/{visit.run}/gold/notes",
        method="post",
        class_="controls",
    )
    return tag("details", tag("summary", "The reference is wrong", data_key="w"), form)


def take_note(visit: Visit) -> Answer:
    """Write what a person says about a reference, and return to the list."""
    run = visit.run_line()
    source = visit.results.scored(run.id).source
    action = next((one for one in ACTIONS if one == visit.form.get("action")), None)
    place, prior = (_number(visit, name) for name in ("place", "prior"))
    if action is None or source is None:
        raise QueryError(f"action: expected one of {', '.join(ACTIONS)}")
    if action != "doubt" and not visit.session.may("review"):
        raise Forbidden(f"Your role is {visit.session.role}; this needs the role review.")
    view = visit.results.case(run.id, place).view
    votes = field_votes(source, place, view).get(visit.form.get("field", ""))
    if votes is None:
        raise QueryError("field: expected one of the fields of the case that can be compared")
    note = msgspec.structs.replace(
        _note(run.id, votes), action=action, reason=visit.form.get("reason", "").strip()
    )
    if action == "correct":
        model = visit.form.get("model", "")
        note = msgspec.structs.replace(note, model=model, value=votes.given.get(model, ""))
        corrected_outcome(decode_case(view), note)
    if action == "doubt":
        earlier = read_notes(visit.site.store).get(note.subject, ())
        prior = earlier[-1].seq if earlier else 0
    try:
        write_note(visit.site.store, note, visit.session.author, prior)
    except EventConflict as error:
        theirs = error.newest.read(GoldNote)
        raise Conflict(
            f"{error.newest.author} wrote meanwhile: {theirs.action} {theirs.value} "
            f"{theirs.reason}. You wrote: {note.action} {note.value} {note.reason}."
        ) from None
    return Redirect(f"/runs/{run.id}/gold")


def _number(visit: Visit, name: str) -> int:
    raw = visit.form.get(name, "0")
    if not raw.isdecimal() or len(raw) > 9:
        raise QueryError(f"{name}={plain(raw, 20)!r}: expected a whole number")
    return int(raw)


def export_cases(visit: Visit) -> Answer:
    """Return the cases of the run with every correction, as a case file."""
    chunks = corrected_cases(check_scored(visit), read_notes(visit.site.store))
    return Download("cases.jsonl", "application/jsonl", chunks)


COLUMNS = (
    "case_id", "task", "question", "reference", "models_say", "models", "with_the_reference",
    "weight", "decision", "value", "author", "reason",
)  # fmt: skip


def gold_table(visit: Visit) -> PageTable:
    """Return every doubtful reference of the filter, and what was said last about it."""
    query, source = visit.query_as(GoldQuery), check_scored(visit)
    entries = [one for one in _entries(visit, source) if _is_chosen(one, query)]
    return PageTable(f"gold-{visit.run}", COLUMNS, [[_values(one) for one in entries]])


def _values(entry: _Entry) -> Sequence[object]:
    votes, suspicion = entry.votes, entry.suspicion
    said = [None, None, None] if suspicion is None else [
        suspicion.value, "; ".join(suspicion.against), suspicion.weight
    ]  # fmt: skip
    last = entry.notes[-1] if entry.notes else None
    noted = ["", "", "", ""] if last is None else [
        last.note.action, last.note.value, last.author, last.note.reason
    ]  # fmt: skip
    return [
        votes.case_id, votes.task, votes.words, votes.expected, said[0], said[1],
        "; ".join(votes.right), said[2], *noted,
    ]  # fmt: skip


def _more(visit: Visit, query: GoldQuery, total: int) -> Html | None:
    links: list[Child] = []
    if query.after:
        links.append(link("Previous", visit.url(after=max(0, query.after - ROWS))))
    if query.after + ROWS < total:
        links.append(link("Next", visit.url(after=query.after + ROWS)))
    return tag("nav", links, class_="more", aria_label="Pages") if links else None


ROUTES = (
    Route("GET", "/runs/{run}/gold", show_gold, query=GoldQuery, table=gold_table),
    Route("POST", "/runs/{run}/gold/notes", take_note, "label"),
    Route("POST", "/runs/{run}/gold/cases", export_cases, writes="log"),
)
