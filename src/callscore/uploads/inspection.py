"""What an import of a data set would write, and how it reads every file, before it is written.

The import itself is `import_job`'s; this only tries it, and describes the files.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from callscore.config.redaction import RedactOptions
from callscore.core.errors import CallscoreError, DataError
from callscore.import_job import ImportJob, load_form, read_source, run_import
from callscore.importers.folder import FileReport
from callscore.importers.formats import detect_format
from callscore.importers.forms.marks import MarkColumn, describe_columns, mark_tables
from callscore.importers.source_file import Source
from callscore.importers.tables import Table, format_cell, read_tables
from callscore.metrics.forms.form import Form, offered_answers, qa_config, scored_questions
from callscore.store.files import atomic_write
from callscore.uploads.data_folder import CASES, CONFIG, DataSet

FIRST_ROWS = 5
FIRST_TURNS = 12
MOST_COLUMNS = 60
MOST_LINES = 200
"""Notes and skipped parts that are shown; `report.json` has all."""
MOST_TEXT = 2000


class TableView(msgspec.Struct, frozen=True):
    """The first rows of a table."""

    file: str
    name: str
    headings: Sequence[str]
    more: int
    """Columns that are not shown."""
    rows: Sequence[Sequence[str]]
    columns: Sequence[MarkColumn] = ()
    """Of a table of marks, what its columns are read as."""


class QuestionView(msgspec.Struct, frozen=True):
    """A question of the form, and how many calls have a mark for it (C-139)."""

    id: str
    title: str
    section: str
    critical: bool
    options: Sequence[str]
    marked: int = 0


class Inspection(msgspec.Struct, frozen=True):
    """How the files of a data set are read."""

    files: Sequence[FileReport] = ()
    tables: Sequence[TableView] = ()
    """Of calls in files of no known format."""
    marks: Sequence[TableView] = ()
    questions: Sequence[QuestionView] = ()
    calls: int = 0
    """Calls or cases that would be written."""
    written: str = ""
    """That number in words; empty if nothing can be written."""
    notes: Sequence[str] = ()
    problem: str = ""
    """Why nothing can be written, in one sentence."""
    first: Mapping[str, Any] | None = None
    """The first line that would be written."""
    speakers: Mapping[str, str] = {}
    """Labels of speakers whose role was guessed or is unknown, with that role."""


def import_job_of(data: DataSet, out: Path, report: Path | None = None) -> ImportJob:
    """The import of a data set; paths are relative to the folder of its files."""
    choices = data.choices
    marks = data.names("marks")
    forms = data.names("form")
    return ImportJob(
        paths=[Path(name) for name in data.names("calls")],
        out=out,
        format=choices.format or None,
        roles=[f"{label}={role}" for label, role in choices.roles.items()],
        fields=[f"{field}={name}" for field, name in choices.fields.items()],
        lang=choices.lang or None,
        form=Path(forms[0]) if forms and marks else None,
        gold=[Path(name) for name in marks],
        columns=[f"{heading}={name}" for heading, name in choices.columns.items()],
        allow_unmarked=choices.allow_unmarked and bool(marks),
        redact=RedactOptions() if choices.redact else None,
        report=report,
    )


def command_of(data: DataSet) -> str:
    """The command that writes the same file in the folder of the files."""
    job = import_job_of(data, Path(data.out))
    words = ["callscore", "import", *map(str, job.paths)]
    for option, value in (("--format", job.format), ("--lang", job.lang), ("--form", job.form)):
        words += [option, str(value)] if value else []
    for option, values in (
        ("--roles", job.roles),
        ("--map", job.fields),
        ("--gold", job.gold),
        ("--columns", job.columns),
    ):
        for value in values:
            words += [option, str(value)]
    words += ["--allow-unmarked"] if job.allow_unmarked else []
    words += ["--redact"] if job.redact else []
    return shlex.join([*words, "-o", data.out])


NO_CALLS = "there are no calls yet; add files with calls"


def inspect(data: DataSet) -> Inspection:
    """Try the import of a data set in the folder of its files, and describe how it reads them."""
    with TemporaryDirectory(dir=data.folder) as scratch:
        out = Path(scratch) / data.out
        form, problem = _form(data)
        if not problem and not data.names("calls"):
            problem = NO_CALLS
        if not problem:
            found, problem = _try(import_job_of(data, out))
        else:
            found = None
        lines = _lines(out)
    marks, marks_problem = _marks(data, form)
    reports = found.report.files if found is not None else []
    return Inspection(
        files=[_shortened(report) for report in reports],
        tables=_call_tables(data, reports),
        marks=marks,
        questions=_questions(form, lines if data.out == CASES else []),
        calls=len(lines),
        written=found.written if found is not None else "",
        notes=[_clip(note) for note in found.notes[:MOST_LINES]] if found is not None else (),
        problem=_clip(problem or marks_problem),
        first=_first(lines),
        speakers=_speakers(lines),
    )


def write(data: DataSet) -> str:
    """Import a data set as `callscore import` does; returns what was written, in words."""
    job = import_job_of(data, data.folder / data.out, data.folder / "report.json")
    written = run_import(job).written
    form, problem = _form(data)
    if problem:
        raise DataError(problem)
    if form is not None:
        with atomic_write(data.folder / CONFIG) as file:  # people label by it
            file.write(msgspec.json.encode(qa_config(form)))
    return written


def _try(job: ImportJob) -> tuple[Any, str]:
    try:
        return run_import(job), ""
    except CallscoreError as error:
        return None, str(error)


def _form(data: DataSet) -> tuple[Form | None, str]:
    names = data.names("form")
    if not names:
        needs = "the marks need their form: add the form that was filled in"
        return None, needs if data.names("marks") else ""
    if len(names) > 1:
        return None, f"expected one form, not {len(names)}: {', '.join(names)}"
    try:
        return load_form(Path(names[0])), ""
    except CallscoreError as error:
        return None, str(error)


def _marks(data: DataSet, form: Form | None) -> tuple[list[TableView], str]:
    """The tables of marks, and why a file of marks could not be read."""
    if form is None:
        return [], ""
    views = []
    columns = data.choices.columns
    for name in data.names("marks"):
        try:
            for table in mark_tables(read_source(Path(name)), form, columns):
                described = describe_columns(table, form, columns)
                views.append(_table_view(name, table, described))
        except CallscoreError as error:
            return views, str(error)
    return views, ""


def _call_tables(data: DataSet, reports: Sequence[FileReport]) -> list[TableView]:
    """The tables in files of calls, whose columns the user may map."""
    views = []
    known = {report.path: report for report in reports}
    for name in data.names("calls")[:MOST_LINES]:
        report = known.get(name)
        if report is not None and report.format and "table" not in report.format.casefold():
            continue
        try:
            source = read_source(Path(name))
            tables = [] if report is None and _is_text(source) else read_tables(source)
        except CallscoreError:
            continue  # the report of the file says why
        views += [_table_view(name, table, ()) for table in tables]
    return views


def _is_text(source: Source) -> bool:
    """Whether a file without a report, as its marks stopped the import, has no columns to map."""
    try:
        return detect_format(source).name != "table"
    except CallscoreError:
        return False  # with its columns mapped, it may be one


def _table_view(name: str, table: Table, described: Sequence[MarkColumn]) -> TableView:
    headings = [column for column in table.columns if column]
    shown = headings[:MOST_COLUMNS]
    rows = [
        [_clip(format_cell(row.cells.get(column)), 80) for column in shown]
        for row in table.rows[:FIRST_ROWS]
    ]
    return TableView(
        name,
        table.name,
        [_clip(heading, 120) for heading in shown],
        len(headings) - len(shown),
        rows,
        described[:MOST_COLUMNS],
    )


def _questions(form: Form | None, lines: Sequence[Mapping[str, Any]]) -> list[QuestionView]:
    if form is None:
        return []
    section_of = {one.id: section.title for section in form.sections for one in section.questions}
    marked: dict[str, int] = {}
    for line in lines:
        for question in line["expected_outcome"]["questions"]:
            marked[question["question_id"]] = marked.get(question["question_id"], 0) + 1
    return [
        QuestionView(
            question.id,
            question.title,
            section_of[question.id],
            question.is_critical or question.is_fatal,
            offered_answers(question),
            marked.get(question.id, 0),
        )
        for question in scored_questions(form)
    ]


def _lines(out: Path) -> list[dict[str, Any]]:
    if not out.exists():
        return []
    with out.open("rb") as file:
        return [msgspec.json.decode(line) for line in file if line.strip()]


def _first(lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The first line, with its first turns only."""
    if not lines:
        return None
    first = dict(lines[0])
    transcript = first["transcript"]
    if isinstance(transcript, str):
        return {**first, "transcript": _clip(transcript)}
    turns = [{**turn, "text": _clip(turn["text"], 500)} for turn in transcript[:FIRST_TURNS]]
    config = {key: value for key, value in first.get("config", {}).items() if key != "form"}
    return {**first, "transcript": turns, "config": config, "turns": len(transcript)}


def _speakers(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    speakers: dict[str, str] = {}
    for line in lines:
        for turn in line["transcript"] if not isinstance(line["transcript"], str) else ():
            label = turn.get("label") or turn["speaker"]
            if (turn.get("role_guessed") or turn["speaker"] == label) and len(speakers) < 20:
                speakers.setdefault(_clip(label, 80), turn["speaker"])
    return speakers


def _shortened(report: FileReport) -> FileReport:
    return msgspec.structs.replace(
        report, skipped=report.skipped[:MOST_LINES],
        notes=[_clip(note) for note in report.notes[:MOST_LINES]], problem=_clip(report.problem),
    )  # fmt: skip


def _clip(text: str, most: int = MOST_TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
