"""Imports calls of other systems: files in, transcripts or cases out, with a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from callscore.app import line_writer
from callscore.config.redaction import RedactOptions
from callscore.core.errors import ConfigError, DataError, UsageError
from callscore.importers.conversation import Conversation
from callscore.importers.folder import (
    ImportAccount,
    ImportOptions,
    files_of,
    import_files,
    parse_roles,
)
from callscore.importers.forms.evaluations import read_evaluations
from callscore.importers.forms.readers import read_form
from callscore.importers.records import case_record, output_records, transcript_record
from callscore.importers.source import Source
from callscore.metrics.forms.form import Evaluation, Form, expected_questions, qa_config
from callscore.privacy.redaction import Placeholders
from callscore.report.numbers import show_count
from callscore.report.safe_text import escape_json
from callscore.store.files import atomic_write, check_targets


class ImportJob(msgspec.Struct, frozen=True):
    """What to import, and what to write."""

    paths: Sequence[Path]
    out: Path
    format: str | None = None
    roles: Sequence[str] = ()
    lang: str | None = None
    form: Path | None = None
    gold: Sequence[Path] = ()
    task: str | None = None
    config: Path | None = None
    outputs: Path | None = None
    account: Path | None = None
    redact: RedactOptions | None = None

    def check(self) -> None:
        """Refuse options that do not go together, and targets that are read."""
        if self.gold and self.form is None:
            raise UsageError("--gold needs --form: the form that was filled in")
        if self.form is not None and self.task not in (None, "qa"):
            raise UsageError(f"--form makes cases of the task qa, not of {self.task!r}")
        if self.config is not None and self.task is None:
            raise UsageError("--config needs --task: the task that it configures")
        read = [*files_of(self.paths), *self.gold]
        read += [path for path in (self.form, self.config) if path is not None]
        check_targets((self.out, self.outputs, self.account), read)


class ImportResult(msgspec.Struct, frozen=True):
    """What was imported, with notes."""

    account: ImportAccount
    written: str
    notes: Sequence[str]


class RecordMaker:
    """Converts a call to a line of the file; None if it has nothing to score against."""

    def record(self, call: Conversation) -> dict[str, Any] | None:
        """The call as a transcript."""
        return transcript_record(call)

    def notes(self) -> list[str]:
        """Notes after the last call."""
        return []


class FormMaker(RecordMaker):
    """Creates QA cases from calls with a filled-in form."""

    def __init__(self, form: Form, gold: Sequence[Path]) -> None:
        self._form = form
        self._config = qa_config(form)
        self._evaluations: dict[str, Evaluation] = {}
        self._notes = [f"form {form.title or form.id!r}: {note}" for note in form.notes]
        self._used: set[str] = set()
        self._without: list[str] = []
        for path in gold:
            for evaluation in read_evaluations(_source(path), form):
                call_id = evaluation.call_id
                if call_id in self._evaluations:
                    self._notes.append(
                        f"call {call_id!r}: of several evaluations the first is used"
                    )
                self._evaluations.setdefault(call_id, evaluation)

    def record(self, call: Conversation) -> dict[str, Any] | None:
        """The call as a case of the task qa."""
        evaluation = self._evaluations.get(call.call_id)
        if evaluation is None:
            self._without.append(call.call_id)
            return None
        self._used.add(call.call_id)
        expected = {"questions": expected_questions(self._form, evaluation)}
        return case_record(call, "qa", self._config, expected)

    def notes(self) -> list[str]:
        """Calls without an evaluation, and evaluations without a call."""
        unused = sorted(self._evaluations.keys() - self._used)
        found = list(self._notes)
        if self._without:
            calls = show_count(len(self._without), "call")
            found.append(f"{calls} without an evaluation: {_some(self._without)}")
        if unused:
            evaluations = show_count(len(unused), "evaluation")
            found.append(f"{evaluations} without a call: {_some(unused)}")
        return found


class TaskMaker(RecordMaker):
    """Creates cases from calls whose data set has an expected answer."""

    def __init__(self, task: str, config: Mapping[str, Any]) -> None:
        self._task = task
        self._config = config
        self._without: list[str] = []

    def record(self, call: Conversation) -> dict[str, Any] | None:
        """The call as a case of the task."""
        if not isinstance(call.expected, Mapping):
            self._without.append(call.call_id)
            return None
        return case_record(call, self._task, self._config, call.expected)

    def notes(self) -> list[str]:
        """Calls without an expected answer."""
        if not self._without:
            return []
        calls = show_count(len(self._without), "call")
        return [f"{calls} without an expected answer that is an object: {_some(self._without)}"]


def run_import(job: ImportJob) -> ImportResult:
    """Import every file and write the output; raises if nothing could be imported."""
    job.check()
    account = ImportAccount()
    options = ImportOptions(job.format, parse_roles(job.roles), job.lang)
    maker = _maker(job)
    redactor = job.redact.redactor() if job.redact is not None else None
    written = 0
    with ExitStack() as stack:
        write = stack.enter_context(line_writer(job.out))
        write_output = stack.enter_context(line_writer(job.outputs))
        for call in import_files(job.paths, options, account):
            record = maker.record(call)
            if record is None:
                continue
            written += 1
            lines = [record, *output_records(call, record["id"])]
            if redactor is not None:
                held = Placeholders()
                lines = [redactor.redact_record(line, held) for line in lines]
            write(lines[0])
            for line in lines[1:]:
                write_output(line)
        _refuse_nothing(account, written)
    if job.account is not None:
        with atomic_write(job.account) as file:
            file.write(escape_json(msgspec.json.format(msgspec.json.encode(account))))
    kind = "call" if job.form is None and job.task is None else "case"
    notes = maker.notes() + (redactor.report.lines() if redactor is not None else [])
    return ImportResult(account, show_count(written, kind), notes)


def _refuse_nothing(account: ImportAccount, written: int) -> None:
    if not account.calls:
        problems = [f"{file.path}: {file.problem}" for file in account.problems[:3]]
        raise DataError(f"no call was imported: {'; '.join(problems)}")
    if not written:
        raise DataError("no call has a filled-in form or an expected answer; nothing to write")


def _maker(job: ImportJob) -> RecordMaker:
    if job.form is not None:
        if not job.gold:
            raise UsageError(
                "--form without --gold; expected filled-in evaluations "
                "(`callscore annotate` makes them)"
            )
        return FormMaker(load_form(job.form), job.gold)
    if job.task is not None:
        return TaskMaker(job.task, _config(job.config))
    return RecordMaker()


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def load_form(path: Path) -> Form:
    """The QA form of a file."""
    return read_form(_source(path))


def _source(path: Path) -> Source:
    try:
        return Source(str(path), path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _config(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    from callscore.store.strict_yaml import read_yaml

    value = read_yaml(path).value
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path}: expected the keys of a case's config")
    return value
