"""Data: own calls, forms and marks are sent, mapped, looked at, and written as cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.report.html.parts import collapsible, row, table
from callscore.report.markup import Html, tag
from callscore.report.safe_text import plain
from callscore.uploads.data_folder import (
    CASES,
    EVAL,
    ROLES,
    TRANSCRIPTS,
    DataFolder,
    DataSet,
    ImportChoices,
    Role,
)
from callscore.web.data_views import (
    AS_READ,
    IGNORE,
    files_section,
    first_case_section,
    mapping_form,
    outcome_section,
    questions_section,
)
from callscore.web.page import empty
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

    from callscore.uploads.inspection import Inspection

CHUNK = 1 << 16
LABELS: Mapping[Role, str] = {
    "calls": "Calls: transcripts of any known format, CSV or XLSX",
    "form": "QA form (optional): Amazon Connect, Genesys, Google, CSV or XLSX",
    "marks": "Marks of people (optional): evaluations, CSV or XLSX",
}


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
    written = [name for name in (CASES, TRANSCRIPTS, EVAL) if (data.folder / name).exists()]
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
    made: list[DataSet] = []

    def create() -> DataSet:
        made.append(folder.create())
        return made[0]

    try:
        data = await _receive(visit, folder, create)
    except BaseException:  # or the page would not say that files are missing
        for one in made:
            folder.discard(one)
        raise
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
    more = [role for role in ROLES if role != "form" or not data.names(role)]
    main = tag(
        "section",
        tag("p", link("All data sets", "/data")),
        tag("h1", f"Data set {data.number}"),
        outcome_section(data, found),
        files_section(data, found),
        mapping_form(data, found),
        questions_section(data, found),
        first_case_section(found),
        collapsible("Add files", _drop_area(f"/data/{data.number}/files", more)),
    )
    return Page(f"Data set {data.number}", main)


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


def remove_file(visit: Visit) -> Answer:
    """Take a file out of a data set; what was written of it stays."""
    folder, data = _data_set(visit)
    folder.remove(data, visit.form.get("file", ""))
    return Redirect(f"/data/{data.number}")


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
    Route("POST", "/data/{data}/remove", remove_file, "review", writes="data"),
    Route("POST", "/data/{data}/write", write_set, "review", writes="data"),
    Route("POST", "/data/{data}/written", download_written, writes="log"),
    Route("GET", "/data/{data}/eval", download_eval),
)
