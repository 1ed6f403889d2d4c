"""Compare: what a second run or model fixes and breaks, and whether the difference is real."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import islice
from typing import Literal

import msgspec

from callscore.core.comparison import CaseChange, Comparison
from callscore.core.errors import CallscoreError
from callscore.report.comparison_text import KIND_WORDS, describe_case, show_difference
from callscore.report.details.decoded_case import decode_reply
from callscore.report.html.comparison_section import (
    conclusion_section,
    diff_section,
    notes_list,
    rows_table,
)
from callscore.report.html.parts import chip, collapsible, in_words, model_name, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.results.port import QueryError, RunLine
from callscore.store.address import as_option
from callscore.web.computations import PATIENCE_S, Computations
from callscore.web.page import empty
from callscore.web.screen import (
    Answer,
    NotFound,
    Page,
    PageTable,
    Redirect,
    Route,
    Visit,
    element,
    link,
)
from callscore.web.tables import export_links

Show = Literal["all", "broken", "new_blocker", "became_error", "fixed", "no_longer_error"]
SHOWS: Sequence[tuple[Show, str]] = (
    ("all", "all"),
    ("broken", "broken"),
    ("new_blocker", "new blockers"),
    ("became_error", "now error"),
    ("fixed", "fixed"),
    ("no_longer_error", "no longer an error"),
)
ROWS = 50
MAX_OFFERED = 200
"""The newest runs, which the form offers; `/compare/A/B` takes every run."""
MAX_TEXT = 60_000


class ComparedRuns(msgspec.Struct, frozen=True):
    """Which runs the form chose."""

    first: int = 0
    second: int = 0
    a: str = ""
    b: str = ""


class CompareQuery(msgspec.Struct, frozen=True):
    """Which models, which changes, and which case is open."""

    a: str = ""
    b: str = ""
    show: Show = "all"
    force: bool = False
    case: int = 0
    after: int = 0


_COMPARED = Computations[Comparison]()


def choose(visit: Visit) -> Answer:
    """Return the comparison that the form chose, or the form."""
    query = visit.query_as(ComparedRuns)
    runs = visit.results.runs()
    if query.first and query.second:
        chosen = CompareQuery(a=query.a, b=query.b)
        known = {run.id for run in runs}
        if not {query.first, query.second} <= known:
            raise NotFound(f"there is no run {({query.first, query.second} - known).pop()}")
        shown = msgspec.structs.replace(
            visit, path=f"/compare/{query.first}/{query.second}", query=chosen
        )
        return Redirect(shown.url())
    newest = [run.id for run in runs[:2]]
    main = tag("section", tag("h1", "Compare"), _choice(runs, newest[::-1]))
    if not runs:
        main = empty("There is nothing to compare yet. Start a run:", "callscore run eval.yaml")
    return Page("Compare", main)


def show_comparison(visit: Visit) -> Answer:
    """Return the comparison of two runs, or of two models of one."""
    query = visit.query_as(CompareQuery)
    lines = [_run(visit, name) for name in ("first", "second")]
    first, second = lines
    names = [_models(visit, line.id) for line in lines]
    if not all(names):
        waiting = tag("p", "A run has no scores yet. ", link("Look again", visit.url()))
        return _page(visit, lines, _polling(visit, waiting), names, query)
    query = _with_defaults(query, first.id == second.id, names)
    future = _compared(visit, lines, query)
    try:
        comparison = future.result(PATIENCE_S)
    except TimeoutError:
        waiting = tag("p", "The two are being compared. ", link("Look again", visit.url()))
        return _page(visit, lines, _polling(visit, waiting), names, query)
    except CallscoreError as error:
        return _page(visit, lines, _refused(visit, str(error), query), names, query)
    return _page(visit, lines, _body(visit, comparison, query, lines), names, query)


def _compared(visit: Visit, lines: Sequence[RunLine], query: CompareQuery) -> Future[Comparison]:
    """The comparison, which may be computed yet."""
    first, second = (line.id for line in lines)
    store = as_option(visit.site.store)
    key = (
        store, first, second, query.a, query.b, query.force,
        visit.results.version(first), visit.results.version(second),
    )  # fmt: skip

    def compare_them() -> Comparison:
        from callscore.comparison.model_comparison import compare  # the server starts without it

        return compare(first, second, a=query.a, b=query.b, store=store, force=query.force)

    return _COMPARED.get(key, compare_them)


def _shown(comparison: Comparison, query: CompareQuery) -> Sequence[CaseChange]:
    return [one for one in comparison.cases if query.show == "all" or query.show in one.kinds]


COLUMNS = ("case_id", "task", "before", "after", "change", "weighted", "kinds", "what_changed")


def changes_table(visit: Visit) -> PageTable:
    """Return every case of the filter that changed."""
    query = visit.query_as(CompareQuery)
    lines = [_run(visit, name) for name in ("first", "second")]
    names = [_models(visit, line.id) for line in lines]
    if not all(names):
        raise QueryError("the runs have no scores yet; expected runs that are scored")
    query = _with_defaults(query, lines[0].id == lines[1].id, names)
    comparison = _compared(visit, lines, query).result()
    rows = [
        [one.case_id, one.task, one.first, one.second, one.change, one.weighted,
         "; ".join(KIND_WORDS[kind] for kind in one.kinds),
         describe_case(msgspec.structs.replace(one, kinds=()))]
        for one in _shown(comparison, query)
    ]  # fmt: skip
    return PageTable(f"compare-{lines[0].id}-{lines[1].id}", COLUMNS, [rows])


def _run(visit: Visit, name: str) -> RunLine:
    numbers = {**visit.numbers, "run": visit.numbers[name]}
    return msgspec.structs.replace(visit, numbers=numbers).run_line()


def _models(visit: Visit, run: int) -> Sequence[str]:
    source = visit.results.scored(run).source
    return () if source is None else [model.model for model in source.card.models]


def _with_defaults(
    query: CompareQuery, is_one_run: bool, names: Sequence[Sequence[str]]
) -> CompareQuery:
    """The query with a model on each side; raises QueryError for unknown ones."""
    a = query.a or names[0][0]
    others = [name for name in names[1] if name != a or not is_one_run]
    b = query.b or (a if a in others else next(iter(others), a))
    for parameter, name, known in (("a", a, names[0]), ("b", b, names[1])):
        if name not in known:
            raise QueryError(f"{parameter}={plain(name, 60)!r}: expected one of {', '.join(known)}")
    return msgspec.structs.replace(query, a=a, b=b)


def _page(
    visit: Visit,
    lines: Sequence[RunLine],
    body: Html,
    names: Sequence[Sequence[str]],
    query: CompareQuery,
) -> Page:
    first, second = lines
    sides = f"{model_name(query.a)} → {model_name(query.b)}" if query.a else "Compare"
    main = tag(
        "section",
        tag("h1", sides),
        tag("p", f"run {first.id} → run {second.id}", class_="note"),
        collapsible(
            "Other runs or models",
            _choice(visit.results.runs(), (first.id, second.id), names, query),
            class_="choice",
        ),
        body,
    )
    return Page(f"Compare {sides}", main, fragments={"comparison": body})


def _choice(
    runs: Sequence[RunLine],
    chosen_runs: Sequence[int],
    names: Sequence[Sequence[str]] = (),
    query: CompareQuery | None = None,
) -> Html:
    """The form that chooses two runs and models, among the newest runs and those shown."""
    fields: list[Child] = []
    offered = [
        run for place, run in enumerate(runs) if place < MAX_OFFERED or run.id in chosen_runs
    ]
    for key, label, run_id in (
        ("first", "Baseline", chosen_runs[:1]),
        ("second", "Candidate", chosen_runs[-1:]),
    ):
        entries = [
            tag("option", f"run {run.id} · {plain(run.name, 60)}", value=run.id,
                selected=run.id in run_id)
            for run in offered
        ]  # fmt: skip
        fields.append(tag("label", label, " ", tag("select", entries, name=key)))
    for key, label, models in zip("ab", ("its model", "its model"), names, strict=False):
        chosen = getattr(query, key) if query is not None else ""
        options = [
            tag("option", model_name(name), value=name, selected=name == chosen) for name in models
        ]
        fields.append(tag("label", label, " ", tag("select", options, name=key)))
    order = [0, 2, 1, 3] if len(fields) == 4 else range(len(fields))
    return element(
        "form", [fields[at] for at in order], tag("button", "Compare"), action="/compare",
        method="get", class_="fields",
    )  # fmt: skip


def _polling(visit: Visit, waiting: Html) -> Html:
    return element(
        "div", waiting, id="comparison", hx_get=visit.url(), hx_trigger="every 2s",
        hx_target="#comparison", hx_swap="outerHTML", aria_live="polite",
    )  # fmt: skip


def _refused(visit: Visit, why: str, query: CompareQuery) -> Html:
    """Why the two are not compared; not comparable ones can be forced (C-126)."""
    anyway = None
    if not query.force:
        anyway = tag("p", link("Compare anyway", visit.url(force=True)))
    return tag("div", tag("p", plain(why, 600), class_="why"), anyway, id="comparison")


def _body(
    visit: Visit, comparison: Comparison, query: CompareQuery, lines: Sequence[RunLine]
) -> Html:
    changes, end = comparison.cases, query.after + ROWS
    shown, page = len(changes), changes[query.after : end]
    if query.show != "all":
        shown = comparison.counts[query.show]
        of_kind = (one for one in changes if query.show in one.kinds)
        page = list(islice(of_kind, query.after, end))
    return tag(
        "div",
        conclusion_section(comparison),
        _blockers(comparison),
        notes_list(comparison),
        collapsible("Rows of the scorecard", rows_table(comparison), class_="rows"),
        tag("h2", "Cases that changed", id="cases", tabindex=-1),
        _filters(visit, comparison, query),
        tag("output", show_count(shown, "case"), class_="count"),
        _cases(visit, page, query, lines),
        _pages(visit, query, shown),
        export_links(visit) if shown else None,
        id="comparison",
    )


def _blockers(comparison: Comparison) -> Html | None:
    new, gone = comparison.new_blockers, comparison.gone_blockers
    if not new and not gone:
        return None
    said = [
        tag("p", word, " ", ", ".join(map(in_words, slugs)))
        for word, slugs in (
            (chip("new blockers", "bad"), new),
            (chip("no longer blocked", "good"), gone),
        )
        if slugs
    ]
    return join(said)


def _filters(visit: Visit, comparison: Comparison, query: CompareQuery) -> Html:
    """The kinds of changes with their numbers; each is a filter."""
    counts = {"all": len(comparison.cases), **comparison.counts}
    links = [
        link(
            join(label, " ", tag("b", counts[show])),
            visit.url(show=show, after=0, case=0),
            class_="filter",
            aria_current="true" if show == query.show else None,
        )
        for show, label in SHOWS
    ]
    return tag("nav", links, class_="kinds", aria_label="Changes")


def _cases(
    visit: Visit, page: Sequence[CaseChange], query: CompareQuery, lines: Sequence[RunLine]
) -> Html:
    if not page:
        return tag("p", "No case changed in this way.", class_="note")
    rows: list[Html] = []
    for change in page:
        place = visit.results.place_of(lines[1].id, change.case_id)
        rows.append(_case_row(visit, change, place, query, lines[1].id))
        if place is not None and place == query.case:
            rows.append(_open_case(visit, change, query, lines))
    headings = ("Case", "Task", "Before", "After", "Change", "Weight × change", "What changed", "")
    return table(headings, rows, "Cases by weight × change", "changes")


def _case_row(
    visit: Visit, change: CaseChange, place: int | None, query: CompareQuery, run: int
) -> Html:
    name = plain(change.case_id, 80)
    is_open = place is not None and place == query.case
    at = query.case if is_open else place
    toggle = None
    if at is not None:
        label = "Close" if is_open else "Diff"
        toggle = link(
            label, visit.url(case=0 if is_open else at) + "#cases",
            aria_label=f"{label} of {name}",
        )  # fmt: skip
    kinds = [
        chip(KIND_WORDS[kind], "good" if kind in ("fixed", "no_longer_error") else "bad")
        for kind in change.kinds
    ]
    details = msgspec.structs.replace(change, kinds=())
    return row(
        link(name, f"/runs/{run}/cases/{place}") if place is not None else name,
        [
            change.task,
            _score(change.first),
            _score(change.second),
            show_difference(change.change, "fraction") if change.change else "",
            show_difference(change.weighted, "fraction") if change.weighted else "",
            join(kinds, " ", tag("small", plain(describe_case(details), 300))),
            toggle,
        ],
    )


def _score(score: float | None) -> str:
    return "—" if score is None else f"{score:.3f}"


def _open_case(
    visit: Visit, change: CaseChange, query: CompareQuery, lines: Sequence[RunLine]
) -> Html:
    """The outputs of both for one case, as a diff."""
    texts = [
        _output(visit, line.id, change.case_id, model)
        for line, model in zip(lines, (query.a, query.b), strict=True)
    ]
    legend = tag(
        "p",
        tag("del", model_name(query.a)),
        " ",
        tag("ins", model_name(query.b)),
        " ",
        tag("small", "(same text)" if texts[0] == texts[1] else ""),
        class_="note",
    )
    cell = tag("td", legend, diff_section(*texts), colspan=8)
    return tag("tr", cell, class_="open")


def _output(visit: Visit, run: int, case_id: str, model: str) -> str:
    """The first reply of a model to a case; JSON with one field per line."""
    place = visit.results.place_of(run, case_id)
    if place is None:
        return ""
    answers = visit.results.case(run, place).view.answers
    answer = next((one for one in answers if one.model == model), None)
    if answer is None:
        return ""
    given = answer.given or decode_reply(answer)
    if given is not None:
        return json.dumps(given, ensure_ascii=False, indent=1, default=str)[:MAX_TEXT]
    return (answer.text or answer.error or "")[:MAX_TEXT]


def _pages(visit: Visit, query: CompareQuery, total: int) -> Html | None:
    links = []
    if query.after:
        links.append(link("Previous", visit.url(after=max(0, query.after - ROWS), case=0)))
    if query.after + ROWS < total:
        links.append(link("Next", visit.url(after=query.after + ROWS, case=0)))
    return tag("nav", links, class_="more", aria_label="Pages") if links else None


ROUTES = (
    Route("GET", "/compare", choose, query=ComparedRuns),
    Route(
        "GET",
        "/compare/{first}/{second}",
        show_comparison,
        query=CompareQuery,
        table=changes_table,
    ),
)
