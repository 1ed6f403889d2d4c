"""Matrix: one row per case, one column per model; filters and order over all cases of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.report.cells import TONES
from callscore.report.html.page import MARKS
from callscore.report.html.parts import chip, in_words, model_name, status_word
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain
from callscore.results.port import (
    MatrixCell,
    MatrixPage,
    MatrixQuery,
    MatrixRow,
    QueryError,
    RunLine,
)
from callscore.web.page import choice, field, not_scored
from callscore.web.query import encode_query
from callscore.web.scored import check_scored
from callscore.web.screen import Answer, Page, PageTable, Route, Visit, element, link
from callscore.web.tables import export_links

SHOWN = {"all": "All"} | {word: MARKS[word] for word in MARKS if word} | {"delta": "Far apart"}
SORTED = {
    "place": "In the order of the data",
    "worst": "Worst first",
    "best": "Best first",
    "spread": "Models differ most",
    "metric": "Metric, lowest first",
    "-metric": "Metric, highest first",
}
SEARCHED = {"any": "id and transcript", "id": "id", "transcript": "transcript"}
COLUMNS = {"turns": "Turns", "tags": "Tags", "cost": "Cost"}
"""Columns that may be added, by their name in `cols`."""
ICONS = {"invalid": "⊘", "error": "⚠", "not_run": "·", "incomplete": "…"}
"""Of the statuses that have no score."""


class MatrixParameters(MatrixQuery, frozen=True):
    """The query of the matrix; Case has it too, to know what comes next."""

    cols: Sequence[str] = ()


class CaseParameters(MatrixParameters, frozen=True):
    """The query of a case: the matrix it was opened from, and what the reader came for."""

    at: str = ""
    """A turn by its name, such as `t7`."""
    item: str = ""
    """An item of the answer, such as a question."""
    seek: str = ""
    """A metric: the first quote of a verdict on it is shown."""


def matrix_url(run: int, **parameters: Any) -> str:
    """Return the address of a matrix."""
    return f"/runs/{run}/matrix{encode_query(MatrixParameters(**parameters))}"


def case_url(run: int, place: int, given: MatrixParameters, **changes: Any) -> str:
    """Return the address of a case that keeps the matrix it is opened from."""
    kept = {
        name: value
        for name, value in msgspec.structs.asdict(given).items()
        if name not in ("after", "cols", "at", "item", "seek")
    }
    return f"/runs/{run}/cases/{place}{encode_query(CaseParameters(**(kept | changes)))}"


def show_matrix(visit: Visit) -> Answer:
    """Return a page of the matrix."""
    run = visit.run_line()
    given = visit.query_as(MatrixParameters)
    for name in given.cols:
        if name not in COLUMNS:
            raise QueryError(f"cols={plain(name, 60)!r}: expected one of {', '.join(COLUMNS)}")
    if visit.results.scored(run.id).source is None:
        return waiting_page(visit, run)
    page = visit.results.matrix(run.id, given)
    rows = _rows(visit, given, page)
    main = join(tag("h1", "Matrix", class_="unseen"), _filters(visit, given, page), rows)
    return Page(
        f"Matrix · {run.name}",
        main,
        run=run,
        tab="matrix",
        fragments={"rows": rows},
        push_url=visit.url(),
        searches=True,
    )


def waiting_page(visit: Visit, run: RunLine) -> Page:
    """Return the page of a run that has no scores yet; it asks again until it has."""
    waiting = element(
        "div",
        not_scored(run),
        hx_get=visit.url(),
        hx_trigger="every 2s",
        hx_target="body",
        hx_swap="outerSync",
    )
    return Page(f"Matrix · {run.name}", waiting, run=run, tab="matrix")


def _filters(visit: Visit, given: MatrixParameters, page: MatrixPage) -> Html:
    """Return the filters; without script, the button applies them."""
    return element(
        "form",
        field(
            "Search",
            tag("input", type="search", name="q", value=given.q, autocomplete="off", data_key="/"),
        ),
        choice("in", "in", SEARCHED, given.search),
        choice("Show", "show", SHOWN, given.show),
        _offer("Task", "task", page.tasks, given.task),
        _offer("Language", "lang", page.langs, given.lang),
        choice("Model", "model", _models(page.models), next(iter(given.model), "")),
        _number("Apart by", "delta", given.delta) if given.show == "delta" else None,
        choice("Sort", "sort", SORTED, given.sort),
        _more(given, page),
        tag("input", type="hidden", name="reason", value=given.reason) if given.reason else None,
        tag("button", "Apply", class_="apply"),
        link("Reset", visit.path) if visit.url() != visit.path else None,
        method="get",
        action=visit.path,
        class_="controls",
        hx_get=visit.path,
        hx_target="#rows",
        hx_swap="outerHTML",
        hx_trigger="submit, change, input delay:300ms",
        hx_sync="this:replace",
        role="search",
        aria_label="Filters",
    )


def _models(models: Sequence[str]) -> Mapping[str, str]:
    return {"": "All models"} | {one: model_name(one) for one in models}


def _metrics(slugs: Sequence[str]) -> Mapping[str, str]:
    return {"": "—"} | {one: plain(one, 60) for one in slugs}


def _offer(label: str, key: str, values: Sequence[str], chosen: str) -> Html | None:
    if len(values) < 2 and not chosen:
        return None
    return choice(label, key, {"": "All"} | {one: plain(one, 40) for one in values}, chosen)


def _number(label: str, key: str, value: float | None) -> Html:
    given = None if value is None else f"{value:g}"
    return field(label, tag("input", name=key, inputmode="decimal", size=5, value=given))


def _more(given: MatrixParameters, page: MatrixPage) -> Html:
    """Return the filters that are rarely needed, and the columns; open while one is in use."""
    in_use = bool(given.tag or given.metric or given.cols) or (given.min, given.max) != (None, None)
    return tag(
        "details",
        tag("summary", "More"),
        tag(
            "div",
            _offer("Tag", "tag", page.tags, given.tag),
            choice("Metric", "metric", _metrics(page.metrics), given.metric),
            _number("from", "min", given.min),
            _number("to", "max", given.max),
            _column_choice(given),
            class_="controls",
        ),
        class_="menu",
        open=in_use,
    )


def _column_choice(given: MatrixParameters) -> Html:
    boxes = [
        tag(
            "label",
            tag("input", type="checkbox", name="cols", value=name, checked=name in given.cols),
            f" {label}",
        )
        for name, label in COLUMNS.items()
    ]
    return tag("fieldset", tag("legend", "Columns"), boxes)


def _rows(visit: Visit, given: MatrixParameters, page: MatrixPage) -> Html:
    models = [one for one in page.models if not given.model or one in given.model]
    counted = tag(
        "output",
        show_count(page.total, "case"),
        _reason_chip(visit, given) if given.reason else None,
        class_="count",
        aria_live="polite",
    )
    if not page.rows:
        nothing = tag("p", "No case matches. ", link("Show all cases", visit.path))
        return tag("div", counted, nothing, id="rows")
    extra = [COLUMNS[name] for name in COLUMNS if name in given.cols and name != "cost"]
    head = [
        tag("th", "Case", scope="col"),
        tag("th", "Expected", scope="col"),
        [tag("th", label, scope="col") for label in extra],
        [tag("th", model_name(one), scope="col", class_="cell") for one in models],
    ]
    table = tag(
        "table",
        tag("caption", "Cases and models", class_="unseen"),
        tag("thead", tag("tr", head)),
        tag("tbody", [_row(visit, given, row, models) for row in page.rows]),
    )
    one_model = tag("p", "Model, above, chooses whose answers are shown.", class_="note narrow")
    region = tag("div", table, class_="scroll cases", tabindex=0, role="region", aria_label="Cases")
    told = one_model if len(models) > 1 else None
    return tag("div", counted, told, region, _pager(visit, given, page), id="rows")


def _reason_chip(visit: Visit, given: MatrixParameters) -> Html:
    return join(
        " ", chip(_reason(given.reason), "blocked"), " ", link("all reasons", visit.url(reason=""))
    )


def _row(visit: Visit, given: MatrixParameters, row: MatrixRow, models: Sequence[str]) -> Html:
    about = " · ".join(filter(None, (row.task, row.lang)))
    cells = {cell.model: cell for cell in row.cells}
    extra: dict[str, Child] = {
        "turns": tag("td", row.turns, class_="number"),
        "tags": tag("td", ", ".join(plain(one, 30) for one in row.tags[:6])),
    }
    return tag(
        "tr",
        tag(
            "th",
            link(plain(row.case_id, 60), case_url(visit.run, row.place, given)),
            tag("small", plain(about, 60)),
            scope="row",
        ),
        tag("td", plain(row.gold, 160), dir="auto", class_="gold"),
        [extra[name] for name in extra if name in given.cols],
        [_cell(visit, given, row.place, cells.get(model)) for model in models],
    )


def _cell(visit: Visit, given: MatrixParameters, place: int, cell: MatrixCell | None) -> Html:
    if cell is None:
        return tag("td", "—", class_="cell quiet")
    others = [one for one in given.model if one != cell.model]
    reason = next(iter(cell.reasons), "") if cell.status == "invalid" else ""
    seek = given.reason or reason or given.metric
    to = case_url(visit.run, place, given, model=(cell.model, *others), seek=seek)
    tone = "blocked" if cell.status == "invalid" else "quiet"
    rated = TONES.get(cell.rating or "", "plain")
    shown: Child = "—" if cell.score is None else tag("b", show(cell.score), class_=rated)
    if icon := ICONS.get(cell.status):
        words = f"{icon} {status_word(cell.status)}"
        shown = tag("span", words, class_=f"word {tone}")
    value = None
    if given.metric and given.metric != "score" and cell.value is not None:
        value = tag("small", f"{cell.value:.4g}", f" {cell.rating}" if cell.rating else None)
    return tag(
        "td",
        link(shown, to),
        value,
        tag("small", f"{cell.same} of {cell.reps}") if cell.same != cell.reps else None,
        tag("small", _reason(reason)) if reason else None,
        tag("small", show_money(cell.cost_usd))
        if "cost" in given.cols and cell.cost_usd is not None
        else None,
        class_="cell",
    )


def _reason(slug: str) -> str:
    return in_words(slug.partition(".")[2] or slug)


def _pager(visit: Visit, given: MatrixParameters, page: MatrixPage) -> Html:
    return tag(
        "nav",
        link("First page", visit.url(after="")) if given.after else None,
        link("Next page", visit.url(after=page.after), data_key="j", rel="next")
        if page.after
        else None,
        export_links(visit),
        class_="pager",
        aria_label="Pages",
    )


HEADINGS = ("case_id", "call_id", "task", "lang", "turns", "expected")
OF_MODEL = ("status", "score", "reasons")


def matrix_table(visit: Visit) -> PageTable:
    """Return every row of the filter."""
    given = visit.query_as(MatrixParameters)
    check_scored(visit)
    query = msgspec.structs.replace(given, after="")
    first = visit.results.matrix(visit.run, query)
    models = [one for one in first.models if not given.model or one in given.model]
    columns = [*HEADINGS, *(f"{model} {name}" for model in models for name in OF_MODEL)]
    return PageTable(f"matrix-{visit.run}", columns, _batches(visit, query, first, models))


def _batches(
    visit: Visit, query: MatrixQuery, page: MatrixPage, models: Sequence[str]
) -> Iterator[list[Sequence[object]]]:
    while True:
        yield [_exported(row, models) for row in page.rows]
        if not page.after:
            return
        query = msgspec.structs.replace(query, after=page.after)
        page = visit.results.matrix(visit.run, query)


def _exported(row: MatrixRow, models: Sequence[str]) -> Sequence[object]:
    cells = {cell.model: cell for cell in row.cells}
    values: list[object] = [row.case_id, row.call_id, row.task, row.lang, row.turns, row.gold]
    for model in models:
        cell = cells.get(model)
        values += (
            ["", "", ""] if cell is None else [cell.status, cell.score, "; ".join(cell.reasons)]
        )
    return values


ROUTES = (
    Route("GET", "/runs/{run}/matrix", show_matrix, query=MatrixParameters, table=matrix_table),
)
