"""Imports calls of other systems as transcripts or cases, and reports what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from callscore.app import line_writer
from callscore.config.redaction import RedactOptions
from callscore.core.errors import ConfigError, DataError, UsageError
from callscore.importers.conversation import Conversation
from callscore.importers.folder import (
    FilePart,
    ImportOptions,
    ImportReport,
    import_files,
    list_files,
    parse_roles,
    read_file,
    read_files,
)
from callscore.importers.forms.evaluations import read_evaluations
from callscore.importers.forms.marks import MarkOptions, parse_columns
from callscore.importers.forms.readers import read_form
from callscore.importers.json_lines import convert_outputs, convert_to_case, convert_to_transcript
from callscore.importers.source_file import Source
from callscore.importers.turn_fields import parse_map
from callscore.metrics.forms.arithmetic import chosen_by_people, hidden_questions
from callscore.metrics.forms.form import (
    Evaluation,
    Form,
    expected_questions,
    qa_config,
    scored_questions,
)
from callscore.privacy.redactor import Placeholders, RedactionReport
from callscore.processes.cores import count_processes
from callscore.processes.pool import ProcessPool
from callscore.report.numbers import show_count
from callscore.report.safe_text import escape_json
from callscore.store.files import atomic_write, check_targets

FORM_TASK = "qa"
"""The task whose cases have a filled-in form."""
FEW_FILES = 500
"""With more, they are read with one process per core unless a number is given."""
Records = list[dict[str, Any]]
"""The line of a call, and those of its outputs."""
Redacted = tuple[Records, RedactionReport]


class ImportJob(msgspec.Struct, frozen=True):
    """The files to import, and the files to write."""

    paths: Sequence[Path]
    out: Path
    format: str | None = None
    roles: Sequence[str] = ()
    fields: Sequence[str] = ()
    lang: str | None = None
    form: Path | None = None
    gold: Sequence[Path] = ()
    columns: Sequence[str] = ()
    """What the headings of marks mean, as `HEADING=NAME`."""
    allow_unmarked: bool = False
    task: str | None = None
    config: Path | None = None
    outputs: Path | None = None
    report: Path | None = None
    redact: RedactOptions | None = None
    workers: int | None = 1

    def check(self) -> None:
        """Raise UsageError for options that exclude each other, or targets that are also read."""
        if self.gold and self.form is None:
            raise UsageError("--gold needs --form: the form that was filled in")
        if (self.columns or self.allow_unmarked) and not self.gold:
            raise UsageError("--columns and --allow-unmarked need --gold: a table of marks")
        if self.form is not None and self.task not in (None, FORM_TASK):
            raise UsageError(f"--form makes cases of the task qa, not of {self.task!r}")
        if self.config is not None and self.task is None:
            raise UsageError("--config needs --task: the task that it configures")
        read = [*list_files(self.paths), *self.gold]
        read += [path for path in (self.form, self.config) if path is not None]
        check_targets((self.out, self.outputs, self.report), read)


class ImportResult(msgspec.Struct, frozen=True):
    """What was read and written, with notes for the user."""

    report: ImportReport
    written: str
    """The number of calls or cases, in words."""
    notes: Sequence[str]


class TranscriptConverter:
    """Converts calls to transcripts: lines without a task."""

    def convert(self, call: Conversation) -> dict[str, Any] | None:
        """The line of a call; None if the call has no expected outcome and needs one."""
        return convert_to_transcript(call)

    def notes(self) -> list[str]:
        """Notes after the last call."""
        return []


class FormCaseConverter(TranscriptConverter):
    """Converts calls with a filled-in QA form to cases of the task qa."""

    def __init__(self, form: Form, gold: Sequence[Path], options: MarkOptions) -> None:
        self._form = form
        self._config = qa_config(form)
        self._evaluations: dict[str, Evaluation] = {}
        self._notes = [f"form {form.title or form.id!r}: {note}" for note in form.notes]
        self._used: set[str] = set()
        self._without: list[str] = []
        self._empty: list[str] = []
        self._unmarked: Counter[str] = Counter()
        self._differing: dict[str, set[str]] = {}
        """The questions on which evaluations of one call differ, by call."""
        for path in gold:
            for evaluation in read_evaluations(read_source(path), form, options, self._notes):
                first = self._evaluations.setdefault(evaluation.call_id, evaluation)
                if first is not evaluation:
                    self._add_second(first, evaluation)
        if not options.allow_unmarked:
            self._check_every_question_is_marked(gold)

    def _add_second(self, first: Evaluation, second: Evaluation) -> None:
        """Note on which questions another evaluation of the same call differs from the first."""
        one, other = (
            {question["question_id"]: question["score"] for question in self._expected(evaluation)}
            for evaluation in (first, second)
        )
        differing = {name for name in one | other if one.get(name, "") != other.get(name, "")}
        self._differing.setdefault(first.call_id, set()).update(differing)

    def _check_every_question_is_marked(self, gold: Sequence[Path]) -> None:
        expected = [self._expected(one) for one in self._evaluations.values()]
        marked = {question["question_id"] for questions in expected for question in questions}
        for question in scored_questions(self._form):
            if question.id not in marked:
                raise DataError(
                    f"no evaluation marks the question {question.id!r} ({question.title}); "
                    "expected a mark on at least one call (--allow-unmarked leaves it out)",
                    place=", ".join(map(str, gold)),
                )

    def _expected(self, evaluation: Evaluation) -> list[dict[str, Any]]:
        hidden = hidden_questions(self._form, chosen_by_people(self._form, evaluation))
        return expected_questions(self._form, evaluation, hidden)

    def convert(self, call: Conversation) -> dict[str, Any] | None:
        """A case whose expected outcome is the evaluation of the call; only marked questions."""
        evaluation = self._evaluations.get(call.call_id)
        if evaluation is None:
            self._without.append(call.call_id)
            return None
        self._used.add(call.call_id)
        if not evaluation.answers:
            self._empty.append(call.call_id)
            return None
        questions = self._expected(evaluation)
        asked = {question["question_id"] for question in questions}
        config = self._config
        listed = [one for one in config["questions"] if one["question_id"] in asked]
        self._unmarked.update(
            one["question_id"] for one in config["questions"] if one["question_id"] not in asked
        )
        return convert_to_case(
            call, FORM_TASK, {**config, "questions": listed}, {"questions": questions}
        )

    def notes(self) -> list[str]:
        """What people did not mark, calls without an evaluation, evaluations without a call."""
        unused = sorted(self._evaluations.keys() - self._used)
        notes = list(self._notes)
        if self._differing:
            calls = show_count(len(self._differing), "call")
            differ = [
                f"{call} ({', '.join(sorted(of))})" for call, of in self._differing.items() if of
            ]
            on = f"; others differ on {_first_names(differ)}" if differ else "; the others agree"
            notes.append(f"{calls} with several evaluations: the first is used{on}")
        marked = len(self._used) - len(self._empty)
        for question in scored_questions(self._form):
            if missing := self._unmarked[question.id]:
                verb = "has" if missing == 1 else "have"
                notes.append(
                    f"{missing} of {show_count(marked, 'call')} {verb} no mark for "
                    f"{question.id!r}; the question is not asked there"
                )
        if self._empty:
            calls = show_count(len(self._empty), "call")
            notes.append(f"{calls} left out, without any mark: {_first_names(self._empty)}")
        if self._without:
            calls = show_count(len(self._without), "call")
            notes.append(f"{calls} without an evaluation: {_first_names(self._without)}")
        if unused:
            evaluations = show_count(len(unused), "evaluation")
            notes.append(f"{evaluations} without a call: {_first_names(unused)}")
        return notes


class TaskCaseConverter(TranscriptConverter):
    """Converts calls of a data set with expected answers to cases of a task."""

    def __init__(self, task: str, config: Mapping[str, Any]) -> None:
        self._task = task
        self._config = config
        self._without: list[str] = []

    def convert(self, call: Conversation) -> dict[str, Any] | None:
        """A case whose expected outcome is the expected answer of the data set."""
        if not isinstance(call.expected, Mapping):
            self._without.append(call.call_id)
            return None
        return convert_to_case(call, self._task, self._config, call.expected)

    def notes(self) -> list[str]:
        """Calls without an expected answer."""
        if not self._without:
            return []
        calls = show_count(len(self._without), "call")
        return [
            f"{calls} without an expected answer that is an object: {_first_names(self._without)}"
        ]


def run_import(job: ImportJob) -> ImportResult:
    """Import every file and write the output; raises if nothing could be imported."""
    job.check()
    report = ImportReport()
    options = ImportOptions(job.format, parse_roles(job.roles), job.lang, parse_map(job.fields))
    converter = _make_converter(job)
    written, redacted = 0, RedactionReport()
    with ExitStack() as stack:
        write = stack.enter_context(line_writer(job.out))
        write_output = stack.enter_context(line_writer(job.outputs))
        processes = Processes(job, stack)
        calls = import_files(job.paths, options, report, processes.read)
        for lines, replaced in processes.redact(_records(calls, converter)):
            written += 1
            redacted.add(replaced)
            write(lines[0])
            for line in lines[1:]:
                write_output(line)
        if job.report is not None:
            with atomic_write(job.report) as file:
                file.write(escape_json(msgspec.json.format(msgspec.json.encode(report))))
        _check_not_empty(report, written, converter)
    kind = "call" if job.form is None and job.task is None else "case"
    notes = converter.notes()
    if job.redact is not None:
        notes += [*redacted.lines(), *job.redact.notes()]
    return ImportResult(report, show_count(written, kind), notes)


def _records(calls: Iterable[Conversation], converter: TranscriptConverter) -> Iterator[Records]:
    """The line of every call that has one, and those of its outputs."""
    for call in calls:
        record = converter.convert(call)
        if record is not None:
            yield [record, *convert_outputs(call, record["id"])]


class Processes:
    """Reads files and redacts calls in several processes, with results in order; or in this one."""

    def __init__(self, job: ImportJob, stack: ExitStack) -> None:
        self._number = count_processes(job.workers, len(list_files(job.paths)), FEW_FILES)
        self._redact = job.redact
        self._stack = stack

    def read(self, files: Sequence[Path], options: ImportOptions) -> Iterable[Iterable[FilePart]]:
        """The parts of every file."""
        if self._number == 1:
            return read_files(files, options)
        pool = ProcessPool[Path, Sequence[FilePart]](self._number, open_reader, options)
        return self._stack.enter_context(pool).results(files, str)

    def redact(self, calls: Iterable[Records]) -> Iterable[Redacted]:
        """The lines of every call, redacted if that is wanted."""
        if self._redact is None:
            return ((lines, RedactionReport()) for lines in calls)
        if self._number == 1:
            return map(open_redactor(self._redact), calls)
        pool = ProcessPool[Records, Redacted](self._number, open_redactor, self._redact)
        return self._stack.enter_context(pool).results(calls, _name_of)


def _name_of(lines: Records) -> str:
    return f"call {lines[0]['id']!r}"


def open_reader(options: ImportOptions) -> Callable[[Path], Sequence[FilePart]]:
    """A function that reads one file after another."""
    return lambda path: list(read_file(path, options))


def open_redactor(options: RedactOptions) -> Callable[[Records], Redacted]:
    """A function that redacts the lines of one call after another."""
    redactor = options.redactor()

    def redact(lines: Records) -> Redacted:
        redactor.report, placeholders = RedactionReport(), Placeholders()
        return [redactor.redact_record(line, placeholders) for line in lines], redactor.report

    return redact


def _check_not_empty(report: ImportReport, written: int, converter: TranscriptConverter) -> None:
    if not report.calls:
        problems = [f"{file.path}: {file.problem}" for file in report.problems[:3]]
        raise DataError(f"no call was imported: {'; '.join(problems)}")
    if not written:
        raise DataError(
            "no call has a filled-in form or an expected answer; nothing to write: "
            + "; ".join(converter.notes())
        )


def _make_converter(job: ImportJob) -> TranscriptConverter:
    if job.form is not None:
        if not job.gold:
            raise UsageError(
                "--form without --gold; expected filled-in evaluations "
                "(`callscore annotate` makes them)"
            )
        options = MarkOptions(parse_columns(job.columns), job.allow_unmarked)
        return FormCaseConverter(load_form(job.form), job.gold, options)
    if job.task is not None:
        return TaskCaseConverter(job.task, load_case_config(job.config))
    return TranscriptConverter()


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def load_form(path: Path) -> Form:
    """Read the QA form of a file."""
    return read_form(read_source(path))


def read_source(path: Path) -> Source:
    """Read a file; raises UsageError."""
    try:
        return Source(str(path), path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def load_case_config(path: Path | None) -> Mapping[str, Any]:
    """The `config` of cases, from a YAML or JSON file; empty without a file."""
    if path is None:
        return {}
    from callscore.store.strict_yaml import read_yaml

    value = read_yaml(path).value
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path}: expected the keys of a case's config")
    return value
