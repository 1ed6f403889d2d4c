"""Data: own calls, forms and marks are sent, mapped, looked at, and written as cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.importers.conversation import ROLES as SPEAKERS
from callscore.importers.turn_fields import MAPPED
from callscore.report.html.parts import chip, collapsible, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.uploads.data_folder import (
    CASES,
    EVAL,
    ROLES,
    DataFolder,
    DataSet,
    ImportChoices,
    Role,
)
from callscore.web.page import command, empty
from callscore.web.screen import (
    Answer,
    Download,
    NotFound,
    Page,
    Redirect,
    Route,
    Visit,
    element,
    link,
)

if TYPE_CHECKING:
    from aiohttp import web

    from callscore.uploads.inspection import Inspection, TableView

CHUNK = 1 << 16
AS_READ, IGNORE = "", "-"
"""Values of the fields of columns: as their heading says; not at all."""
LABELS: Mapping[Role, str] = {
    "calls": "Calls: transcripts of any known format, CSV or XLSX",
    "form": "QA form (optional): Amazon Connect, Genesys, Google, CSV or XLSX",
    "marks": "Marks of people (optional): evaluations, CSV or XLSX",
}
MEANINGS = {
    "call": "the call",
    "question": "marks of",
    "comment": "comments on",
    "evaluator": "who marked",
    "unread": "not read",
    "unknown": "unknown",
    "ignored": "ignored",
}
SHOWN_LINES = 20
FIELDS = {
    "--columns": "Columns of marks",
    "--roles": "Speakers",
    "--format": "Read every file as this format",
    "--allow-unmarked": "Leave out questions without a mark on any call",
}
"""What the options of `callscore import`, which messages name, are called on this page."""


def show_data(visit: Visit) -> Answer:
    """Return the data sets, and the area for files."""
    folder = _folder(visit)
    if folder is None:
        words = f"{visit.site.command} serve --data DIR"
        main = tag("section", tag("h1", "Data"), empty("Files need a folder of yours:", words))
        return Page("Data", main)
    rows = [_set_row(folder.get(number)) for number in folder.numbers()]
    headings = ("Data set", "Calls", "Form", "Marks", "Written")
    listed = table(headings, rows, "Data sets, newest first") if rows else None
    main = tag("section", tag("h1", "Data"), _drop_area("/data", ROLES), listed)
    return Page("Data", main)


def _folder(visit: Visit) -> DataFolder | None:
    return None if visit.site.data is None else DataFolder(visit.site.data)


def _data_set(visit: Visit) -> tuple[DataFolder, DataSet]:
    folder = _folder(visit)
    if folder is None:
        raise NotFound("files need a folder: start the server with --data DIR")
    try:
        return folder, folder.get(visit.numbers["data"])
    except UsageError as error:
        raise NotFound(str(error)) from None


def _set_row(data: DataSet) -> Html:
    written = [name for name in (CASES, EVAL) if (data.folder / name).exists()]
    names = [plain(", ".join(data.names(role)), 80) or "—" for role in ROLES]
    label = link(f"Data set {data.number}", f"/data/{data.number}")
    return row(label, [*names, ", ".join(written) or "—"])


def _drop_area(to: str, roles: Sequence[Role]) -> Html:
    """The form for files; each field takes dropped files."""
    fields = [
        tag(
            "label",
            tag("span", LABELS[role]),
            element("input", type="file", name=role, multiple=role != "form"),
            class_="drop",
        )
        for role in roles
    ]
    return element(
        "form",
        tag("p", "Drop files, or choose them. They stay on this machine.", class_="note"),
        fields,
        tag("button", "Send and look"),
        action=to,
        method="post",
        enctype="multipart/form-data",
        class_="drops",
    )


async def receive_new(visit: Visit) -> Answer:
    """Make a data set of the files of a form."""
    folder = _folder(visit)
    if folder is None:
        raise NotFound("files need a folder: start the server with --data DIR")
    data = await _receive(visit, folder, folder.create)
    return Redirect(f"/data/{data.number}")


async def receive_more(visit: Visit) -> Answer:
    """Add the files of a form to a data set."""
    folder, data = _data_set(visit)
    await _receive(visit, folder, lambda: data)
    return Redirect(f"/data/{data.number}")


async def _parts(request: web.Request) -> AsyncIterator[object]:
    """Every part of a form; raises UsageError for a body that is none."""
    try:
        async for part in await request.multipart():
            yield part
    except ValueError as error:
        raise UsageError(f"expected files in a form: {plain(str(error), 200)}") from None


async def _receive(visit: Visit, folder: DataFolder, start: Callable[[], DataSet]) -> DataSet:
    """Write every file as it arrives; the names are ours."""
    from aiohttp import BodyPartReader

    assert visit.request is not None
    if not visit.request.content_type.startswith("multipart/"):
        raise UsageError("expected files in a form")
    data: DataSet | None = None
    async for part in _parts(visit.request):
        if not isinstance(part, BodyPartReader) or not part.filename:
            continue
        role = next((one for one in ROLES if part.name == one), None)
        if role is None:
            continue
        data = start() if data is None else data
        with folder.receive(data, part.filename, role) as arriving:
            while chunk := await part.read_chunk(CHUNK):
                arriving.write(chunk)
        data = folder.add(data, arriving)
    if data is None:
        raise UsageError("no file was chosen; expected at least one file with calls")
    return data


@lru_cache(maxsize=16)
def _inspection(key: bytes, folder: Path, number: int) -> Inspection:
    from callscore.uploads.worker import inspect_limited

    return inspect_limited(DataFolder(folder).get(number))


def _inspect(visit: Visit, data: DataSet) -> Inspection:
    """How the files are read; computed again if a file or a choice has changed."""
    assert visit.site.data is not None
    return _inspection(
        msgspec.json.encode((data.files, data.choices)), visit.site.data, data.number
    )


def show_set(visit: Visit) -> Answer:
    """Return how the files of a data set are read, and what can be changed about it."""
    _, data = _data_set(visit)
    found = _inspect(visit, data)
    missing = [role for role in ROLES if not data.names(role)]
    main = tag(
        "section",
        tag("p", link("All data sets", "/data")),
        tag("h1", f"Data set {data.number}"),
        _outcome(visit, data, found),
        _files(data, found),
        _mapping(data, found),
        _questions(data, found),
        _first_case(found),
        collapsible("Add files", _drop_area(f"/data/{data.number}/files", missing or ROLES)),
    )
    return Page(f"Data set {data.number}", main)


def _outcome(visit: Visit, data: DataSet, found: Inspection) -> Html:
    """What would be written or why nothing can be, and what was."""
    from callscore.uploads.inspection import command_of

    if found.problem:
        state = tag("p", chip("cannot be written", "bad"), " ", plain(found.problem, 2000),
                    class_="why", role="alert", dir="auto")  # fmt: skip
        fields = [
            f"{option} is “{label}”" for option, label in FIELDS.items() if option in found.problem
        ]
        here = tag("p", f"On this page, {' and '.join(fields)}.", class_="note") if fields else None
        return tag("div", state, here, id="outcome")
    number = data.number
    cases = data.out == CASES
    button = element(
        "form",
        tag("button", f"Write {found.written}" + (" and an eval file" if cases else "")),
        action=f"/data/{number}/write",
        method="post",
    )
    done = (data.folder / data.out).exists()
    downloads: list[Child] = []
    if done:
        downloads = [chip("written", "good"), " ", link(data.out, f"/data/{number}/written")]
        if cases:
            run = command(f"callscore run {data.folder / EVAL}")
            downloads += [" · ", link(EVAL, f"/data/{number}/eval"), tag("p", "Start a run: ", run)]
        elif data.has_form:
            downloads += [" · ", link("Label these calls", f"/label/{number}")]
    return tag(
        "div",
        tag("p", chip("ready", "good"), f" {found.written}"),
        button,
        tag("div", downloads, class_="downloads") if downloads else None,
        collapsible("The same on the command line", command(command_of(data))),
        id="outcome",
    )


def _files(data: DataSet, found: Inspection) -> Html:
    """Format, calls, turns, and what was skipped or guessed, file by file."""
    rows = []
    for report in found.files:
        counts = f"{show_count(report.calls, 'call')}, {show_count(report.turns, 'turn')}"
        lines = [f"skipped {one.where}: {one.why}" for one in report.skipped] + list(report.notes)
        told: Child = plain(report.problem, 400)
        if not report.problem:
            told = counts
        rows.append(
            row(
                plain(report.path, 80),
                [
                    chip("not imported", "bad") if report.problem else plain(report.format, 80),
                    told,
                    _lines(lines),
                ],
            )
        )
    others = [file for file in data.files if file.role != "calls"]
    rows += [row(plain(file.name, 80), [file.role, f"{file.size:,} bytes", ""]) for file in others]
    notes = (
        tag("ul", [tag("li", plain(note, 400)) for note in found.notes]) if found.notes else None
    )
    headings = ("File", "Read as", "Content", "Skipped or guessed")
    return tag("section", tag("h2", "Files"), table(headings, rows, "Files"), notes)


def _lines(lines: Sequence[str]) -> Child:
    if not lines:
        return "nothing"
    items = [tag("li", plain(line, 300)) for line in lines[:SHOWN_LINES]]
    more = len(lines) - SHOWN_LINES
    if more > 0:
        items.append(tag("li", f"and {more} more"))
    return collapsible(show_count(len(lines), "line"), tag("ul", items))


def _mapping(data: DataSet, found: Inspection) -> Html:
    """The form that says what columns, speakers and questions mean."""
    fields = [*_call_fields(data, found), *_speaker_fields(found), *_mark_fields(data, found)]
    choices = data.choices
    fields += [
        tag(
            "fieldset",
            tag("legend", "All files"),
            _text_field("lang", "Language of calls whose file does not name it", choices.lang),
            _text_field("format", FIELDS["--format"], choices.format),
            _check("redact", "Replace personal data by placeholders", choices.redact),
            _check(
                "allow_unmarked",
                FIELDS["--allow-unmarked"],
                choices.allow_unmarked,
            )
            if data.names("marks")
            else None,
        )
    ]
    is_open = bool(found.problem)
    form = element(
        "form", fields, tag("button", "Look again"), action=f"/data/{data.number}", method="post",
        class_="fields",
    )  # fmt: skip
    return tag("details", tag("summary", "What columns and speakers mean"), form, open=is_open)


def _text_field(name: str, label: str, value: str) -> Html:
    entry = element("input", name=name, value=value, maxlength=200)
    return tag("label", label, " ", entry)


def _check(name: str, label: str, value: bool) -> Html:
    box = element("input", type="checkbox", name=name, value="true", checked=value)
    return tag("label", box, " ", label)


def _select(name: str, options: Sequence[tuple[str, str]], chosen: str, label: str) -> Html:
    items = [tag("option", text, value=value, selected=value == chosen) for value, text in options]
    return tag("select", items, name=name, aria_label=label)


def _call_fields(data: DataSet, found: Inspection) -> Iterator[Html]:
    """Columns of tables of calls → fields of turns."""
    for view in found.tables[:3]:
        by_column = {column: field for field, column in data.choices.fields.items()}
        options = [(AS_READ, "as read"), *((field, field) for field in MAPPED if field != "turns")]
        heads = [
            tag(
                "th",
                tag("span", plain(heading, 60)),
                _select(f"field:{heading}", options, by_column.get(heading, AS_READ),
                        f"What {plain(heading, 60)} is"),
                scope="col",
            )
            for heading in view.headings
        ]  # fmt: skip
        yield _preview(view, heads, "Columns of calls")


def _preview(view: TableView, heads: Sequence[Html], legend: str) -> Html:
    body = [
        tag("tr", [tag("td", plain(cell, 80), dir="auto") for cell in cells]) for cells in view.rows
    ]
    more = f", and {view.more:,} more columns" if view.more else ""
    shown = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body))
    return tag(
        "fieldset",
        tag("legend", f"{legend}: {plain(view.file, 60)} {plain(view.name, 40)}{more}"),
        tag("div", shown, class_="scroll", tabindex=0, role="region", aria_label=legend),
    )


def _speaker_fields(found: Inspection) -> Iterator[Html]:
    """Labels of speakers → roles."""
    if not found.speakers:
        return
    options = [(AS_READ, "as read"), *((one, one) for one in SPEAKERS)]
    fields = [
        tag(
            "label",
            tag("bdi", plain(label, 60)),
            " ",
            _select(f"role:{label}", options, role if role != label else AS_READ,
                    f"The role of {plain(label, 60)}"),
        )
        for label, role in found.speakers.items()
    ]  # fmt: skip
    yield tag("fieldset", tag("legend", FIELDS["--roles"]), fields)


def _mark_fields(data: DataSet, found: Inspection) -> Iterator[Html]:
    """Columns of marks → questions, with the nearest name for an unknown one."""
    questions = [(one.id, f"{one.id}: {plain(one.title, 60)}") for one in found.questions]
    options = [(AS_READ, "as read"), (IGNORE, "ignore"), ("call_id", "the call"), *questions]
    for view in found.marks[:3]:
        heads = []
        for column in view.columns:
            given = data.choices.columns.get(column.heading)
            chosen = AS_READ if given is None else given or IGNORE
            about = f" {column.question}" if column.question else ""
            near = f"nearest: {column.nearest}" if column.nearest else ""
            tone = "bad" if column.meaning == "unknown" else "plain"
            heads.append(
                tag(
                    "th",
                    tag("bdi", plain(column.heading, 60)),
                    tag("span", MEANINGS[column.meaning] + plain(about, 60), class_=f"chip {tone}"),
                    tag("small", plain(near, 80)) if near else None,
                    _select(f"column:{column.heading}", options, chosen,
                            f"What {plain(column.heading, 60)} is"),
                    scope="col",
                )
            )  # fmt: skip
        yield _preview(view, heads, FIELDS["--columns"])


def change_set(visit: Visit) -> Answer:
    """Keep what the user says about the files."""
    folder, data = _data_set(visit)
    given: dict[str, dict[str, str]] = {"field": {}, "role": {}, "column": {}}
    for name, value in visit.form.items():
        kind, colon, what = name.partition(":")
        if colon and kind in given and value != AS_READ:
            given[kind][what] = value
    choices = ImportChoices(
        format=visit.form.get("format", "").strip(),
        lang=visit.form.get("lang", "").strip(),
        roles=given["role"],
        fields={field: column for column, field in given["field"].items()},
        columns={k: "" if v == IGNORE else v for k, v in given["column"].items()},
        allow_unmarked="allow_unmarked" in visit.form,
        redact="redact" in visit.form,
    )
    folder.save(msgspec.structs.replace(data, choices=choices))
    return Redirect(f"/data/{data.number}")


def _questions(data: DataSet, found: Inspection) -> Html | None:
    """The questions of the form, and how many calls have a mark for each (C-139)."""
    if not found.questions:
        return None
    has_marks = data.out == CASES and not found.problem
    rows = []
    for one in found.questions:
        cells: list[Child] = [plain(one.section, 60), plain(" · ".join(one.options), 120)]
        if has_marks:
            unmarked = found.calls - one.marked
            cells.append(
                join(f"{one.marked} of {found.calls} ",
                     chip(f"{unmarked} not marked", "middling") if unmarked else None)
            )  # fmt: skip
        critical = chip("critical", "bad") if one.critical else None
        rows.append(row(join(plain(one.title, 200), " ", critical), cells))
    headings = ["Question", "Section", "Answers", *(["Marked"] if has_marks else [])]
    note = "A cell without a mark is no N/A: the question is not asked on that call."
    return tag(
        "section",
        tag("h2", "Questions"),
        tag("p", note, class_="note") if has_marks else None,
        table(headings, rows, "Questions of the form"),
    )


def _first_case(found: Inspection) -> Html | None:
    """The first case as it would be written."""
    if found.first is None:
        return None
    first = found.first
    transcript = first["transcript"]
    said: Child = transcript if isinstance(transcript, str) else [
        tag("li", tag("b", plain(turn["speaker"], 40)), " ", tag("span", turn["text"], dir="auto"))
        for turn in transcript
    ]  # fmt: skip
    left = first.get("turns", 0) - len(transcript) if not isinstance(transcript, str) else 0
    marks = [
        row(plain(str(one["question_id"]), 60),
            ["N/A" if one.get("score") is None else f"{one['score']:g}",
             plain(str(one.get("reason") or ""), 300)])
        for one in first.get("expected_outcome", {}).get("questions", ())
    ]  # fmt: skip
    return tag(
        "section",
        tag("h2", f"First: {plain(str(first['id']), 80)}"),
        tag("ol", said, class_="said"),
        tag("p", f"and {show_count(left, 'turn')} more", class_="note") if left > 0 else None,
        table(("Question", "Points", "Reason"), marks, "Marks of the first case")
        if marks
        else None,
    )


def write_set(visit: Visit) -> Answer:
    """Write the cases, as `callscore import` does, and a first eval file."""
    from callscore.first_eval import Choices, write_files
    from callscore.uploads.worker import write_limited

    _, data = _data_set(visit)
    write_limited(data)
    path = data.folder / EVAL
    if data.out == CASES and not path.exists():
        write_files(path, Choices(data=CASES))
    return Redirect(f"/data/{data.number}")


def download_written(visit: Visit) -> Answer:
    """Return the cases or transcripts that were written."""
    _, data = _data_set(visit)
    return _download(data, data.out, "application/jsonl")


def download_eval(visit: Visit) -> Answer:
    """Return the eval file."""
    _, data = _data_set(visit)
    return _download(data, EVAL, "application/yaml")


def _download(data: DataSet, name: str, kind: str) -> Download:
    path = data.folder / name
    if not path.exists():
        raise NotFound(f"data set {data.number} has no {name} yet")
    return Download(name, kind, _chunks(path))


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None


ROUTES = (
    Route("GET", "/data", show_data),
    Route("POST", "/data", receive_new, "review", writes="data"),
    Route("GET", "/data/{data}", show_set),
    Route("POST", "/data/{data}", change_set, "review", writes="data"),
    Route("POST", "/data/{data}/files", receive_more, "review", writes="data"),
    Route("POST", "/data/{data}/write", write_set, "review", writes="data"),
    Route("GET", "/data/{data}/written", download_written),
    Route("GET", "/data/{data}/eval", download_eval),
)
