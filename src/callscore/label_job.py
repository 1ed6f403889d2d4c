"""Labelling by people: label sheets from transcripts, cases from filled-in sheets, samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from callscore.app import line_writer
from callscore.core.errors import DataError, StoreError, UsageError
from callscore.core.judging import Question
from callscore.core.labelling import (
    CallTranscript,
    FileLabelling,
    Label,
    LabelItem,
    Labelling,
    unescape_formula,
)
from callscore.core.strict_json import DECODE_ERRORS
from callscore.evaluate.worklist import open_items
from callscore.import_job import load_case_config, load_form, read_source
from callscore.importers.tables import format_cell, read_tables
from callscore.labelling.sampling import (
    Answer,
    draw_answers,
    draw_disputed,
    draw_random,
    draw_stratified,
    score_spread,
    stratum_of,
)
from callscore.labelling.sheet import (
    Disagreement,
    ItemKey,
    Labels,
    check_items,
    compare_labels,
    labels_of_call,
    missing_items,
    read_labels,
    write_csv,
    write_workbook,
)
from callscore.metrics.forms.form import qa_config
from callscore.stats.agreement import cohen_kappa, observed_agreement
from callscore.store.files import Line, atomic_write, check_targets, lines_of
from callscore.store.scenario_files import read_text, scenario_files
from callscore.store.worklists import OpenItem, check_worklist, read_open_items, worklist_writer
from callscore.suites.registry import labelling_of, rules_for

_CALL = msgspec.json.Decoder(CallTranscript)
_ANY = msgspec.json.Decoder(dict[str, Any])


class LabelJob(msgspec.Struct, frozen=True):
    """The calls to label for one task, and their items."""

    calls: Sequence[CallTranscript]
    task: str
    labelling: Labelling
    config: Mapping[str, Any]
    items: Sequence[LabelItem]
    notes: Sequence[str] = ()
    """Parts of the form that are not used."""

    @property
    def names(self) -> tuple[str, str]:
        """What is labelled and what is written: calls and cases, or scenarios and scenarios."""
        is_file = isinstance(self.labelling, FileLabelling)
        return (f"{self.task}s", f"{self.task}s") if is_file else ("calls", "cases")


def prepare_labelling(
    transcripts: Sequence[Path], task: str, config: Path | None, form: Path | None
) -> LabelJob:
    """Read the calls and the config, and list the items to label."""
    labelling = labelling_of(task)
    settings = _load_config(task, labelling, config, form)
    notes = settings["form"].get("notes", ()) if form is not None else ()
    calls = [*_read_calls(transcripts, task, labelling)]
    if not calls:
        raise UsageError(f"{', '.join(map(str, transcripts))}: contains no call")
    name, lines = Counter(call.name for call in calls).most_common(1)[0]
    if lines > 1:
        raise UsageError(f"call {name!r} is there {lines} times; expected every call once")
    items = [item for call in calls for item in _items(call, task, labelling, settings)]
    return LabelJob(calls, task, labelling, settings, items, notes)


def _read_calls(paths: Sequence[Path], task: str, labelling: Labelling) -> Iterator[CallTranscript]:
    """The calls of files of transcripts, or of the folders of a task whose calls are files."""
    for path in paths:
        if isinstance(labelling, FileLabelling):
            for file in scenario_files(path):
                try:
                    yield labelling.read_call(file.stem, read_text(file))
                except DataError as error:
                    raise error.with_place(str(file)) from None
        elif path.is_dir():
            raise UsageError(f"{path} is a folder; {task} is labelled in a file of transcripts")
        else:
            yield from map(_call, lines_of([path]))


def _items(
    call: CallTranscript, task: str, labelling: Labelling, config: Mapping[str, Any]
) -> list[LabelItem]:
    items = list(labelling.items(call, config))
    if not items:
        raise UsageError(
            f"{task}: there is nothing to label in call {call.name!r}; expected "
            f"{labelling.requires}"
        )
    return items


def _load_config(
    task: str, labelling: Labelling, config: Path | None, form: Path | None
) -> Mapping[str, Any]:
    """The config of the cases, from a QA form or from a file."""
    if form is None:
        return load_case_config(config)
    if not labelling.accepts_form:
        raise UsageError(f"--form: a QA form does not configure the task {task!r}; use --config")
    if config is not None:
        raise UsageError("expected --form or --config, not both")
    return qa_config(load_form(form))


def _call(line: Line) -> CallTranscript:
    try:
        return _CALL.decode(line.raw)
    except DECODE_ERRORS as error:
        raise DataError(f"{error}; expected a call with `transcript`", place=line.place) from None


def write_sheet(job: LabelJob, path: Path, labels: Labels) -> int:
    """Write the items and their labels as a spreadsheet or CSV file; returns their number."""
    if path.suffix.lower() == ".xlsx":
        data = write_workbook(job.items, job.calls, labels)
    elif path.suffix.lower() == ".csv":
        data = write_csv(job.items, labels)
    else:
        raise UsageError(f"{path}: expected a name that ends in .xlsx or .csv")
    with atomic_write(path) as file:
        file.write(data)
    return len(job.items)


def read_sheet(path: Path) -> dict[ItemKey, Label]:
    """The labels of a filled-in sheet."""
    found = read_tables(read_source(path), lambda row: {"item", "answer"} <= set(row))
    tables = [table for table in found if "answer" in table.columns]
    if not tables:
        raise DataError("has no column `answer`; expected a filled-in label sheet", place=str(path))
    rows = (
        ({key: unescape_formula(format_cell(cell)) for key, cell in row.cells.items()},
         f"{path}: {row.where}")
        for row in tables[0].rows
    )  # fmt: skip
    return read_labels(rows)


class LabelResult(msgspec.Struct, frozen=True):
    """The cases made from filled-in sheets, what is missing, and the agreement of people."""

    cases: int
    unfinished: Mapping[str, int]
    """Items without a label, or disputed, by call."""
    disagreements: Sequence[Disagreement]
    agreement: float | None
    kappa: float | None
    compared: int
    """Pairs of answers that agreement and kappa are computed from."""
    without_call: Sequence[str] = ()
    """Calls of the sheets that are not in the transcripts."""


def make_cases(job: LabelJob, sheets: Sequence[Labels], resolved: Labels, out: Path) -> LabelResult:
    """Write a case for every call that is fully labelled; `resolved` settles disagreements."""
    unknown = {call for sheet in (*sheets, resolved) for call in check_items(job.items, sheet)}
    agreed, disagreements, pairs = compare_labels(job.items, sheets)
    labels = {**agreed, **resolved}
    disputed = {one.item.key for one in disagreements} - resolved.keys()
    by_call: dict[str, list[LabelItem]] = {}
    for item in job.items:
        by_call.setdefault(item.call_id, []).append(item)
    unfinished: dict[str, int] = {}
    cases = 0
    with _case_writer(job, out) as write:
        for call in job.calls:
            items = by_call[call.name]
            missing = {item.key for item in missing_items(items, labels)}
            missing |= {item.key for item in items if item.key in disputed}
            if missing:
                unfinished[call.name] = len(missing)
                continue
            cases += 1
            labelled = labels_of_call(items, labels)
            write(call, job.labelling.expected_outcome(call, labelled, job.config))
        if not cases:
            raise DataError(
                f"no call is fully labelled: {sum(unfinished.values())} items are open or disputed"
            )
    return LabelResult(
        cases,
        unfinished,
        disagreements,
        observed_agreement(pairs),
        cohen_kappa(pairs),
        len(pairs),
        sorted(unknown),
    )


WriteCase = Callable[[CallTranscript, Mapping[str, Any]], None]
"""Writes the outcome that people expect of a call."""


@contextmanager
def _case_writer(job: LabelJob, out: Path) -> Iterator[WriteCase]:
    """Writes lines of a case file, or for a task whose calls are files, files of a new folder."""
    if not isinstance(job.labelling, FileLabelling):
        with line_writer(out) as write:
            yield lambda call, expected: write(_case(call, job, expected))
        return
    files: dict[str, Mapping[str, Any]] = {}
    yield lambda call, expected: files.__setitem__(call.name, expected)
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"{out}: expected a new or an empty folder to write to")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror}") from None
    for name, value in files.items():
        with atomic_write(out / f"{name}.json") as file:
            file.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _case(call: CallTranscript, job: LabelJob, expected: Mapping[str, Any]) -> dict[str, Any]:
    case = {
        "id": f"{call.name}/{job.task}",
        "task": job.task,
        "call_id": call.name,
        "lang": call.lang,
        "transcript": msgspec.to_builtins(call.transcript),
        "config": dict(job.config),
        "expected_outcome": dict(expected),
        "provenance": call.provenance,
    }
    return {key: value for key, value in case.items() if value is not None}


class SampleJob(msgspec.Struct, frozen=True):
    """A sample to draw: from which files, how many calls, and how."""

    files: Sequence[Path]
    number: int
    out: Path
    by: Sequence[str] = ()
    results: Sequence[Path] = ()
    seed: int = 0


def draw_sample(job: SampleJob) -> tuple[int, int]:
    """Copy the lines of the sampled calls; returns the number of these and of all calls."""
    check_targets([job.out], [*job.files, *job.results])
    if job.by and job.results:
        raise UsageError("expected --by or --results, not both")
    records = [(line, _record(line)) for line in lines_of(job.files)]
    call_of = {str(record.get("id")): _call_name(record) for _, record in records}
    calls = list(dict.fromkeys(call_of.values()))
    if not calls:
        raise UsageError(f"{', '.join(map(str, job.files))}: contains no call")
    if job.results:
        spread = score_spread(_record(line) for line in lines_of(job.results))
        chosen = draw_disputed(call_of, spread, job.number)
    elif job.by:
        strata = {
            _call_name(record): stratum_of(record, _call(line).transcript, job.by)
            for line, record in reversed(records)
        }
        in_order = {call: strata[call] for call in calls}
        chosen = draw_stratified(in_order, job.number, job.seed)
    else:
        chosen = draw_random(calls, job.number, job.seed)
    sampled = set(chosen)
    with atomic_write(job.out) as file:
        for line, record in records:
            if _call_name(record) in sampled:
                file.write(line.raw.rstrip(b"\r\n") + b"\n")
    return len(chosen), len(calls)


class ItemSample(msgspec.Struct, frozen=True):
    """The items that were drawn for people to label, of how many."""

    items: int
    answers: int
    whole: int


def draw_items(job: SampleJob) -> ItemSample:
    """Draw judged items from worklists or verdict files; write them as a worklist."""
    if job.by or job.results:
        raise UsageError("--by and --results select calls; items are drawn at random")
    check_worklist(job.out)
    check_targets([job.out], job.files)
    by_answer: dict[Answer, list[OpenItem]] = {}
    for item in (item for path in job.files for item in read_open_items(path)):
        answer, asked = (item.case_id, item.model, item.run, item.metric), _with_question(item)
        if item.model is not None and asked.words:  # about an answer, and decided by a word
            by_answer.setdefault(answer, []).append(asked)
    if not by_answer:
        raise UsageError(f"{', '.join(map(str, job.files))}: contains no judged item")
    sizes = {answer: len(items) for answer, items in by_answer.items()}
    chosen = draw_answers(sizes, job.number, job.seed)
    drawn = set(chosen)
    with worklist_writer(job.out) as write:
        for answer, items in by_answer.items():
            for item in items if answer in drawn else ():
                write(item)
    return ItemSample(sum(map(sizes.__getitem__, chosen)), len(chosen), sum(sizes.values()))


def _with_question(item: OpenItem) -> OpenItem:
    """An item with its question and words, which a verdicts file does not have."""
    if item.question:
        return item
    words = rules_for(item.metric).words_for(item.metric, item.item)
    question = Question(item.metric, item.item, item.text, "", words)
    found = next(iter(open_items(item.case_id, item.model, item.run, [question])))
    return msgspec.structs.replace(found, compare_with=item.compare_with or found.compare_with)


def has_items(files: Sequence[Path]) -> bool:
    """Whether the files are worklists or verdicts, not calls."""
    if all(path.suffix.lower() == ".csv" for path in files):
        return True
    return "metric" in next((_record(line) for line in lines_of(files)), {})


def _record(line: Line) -> dict[str, Any]:
    try:
        return _ANY.decode(line.raw)
    except DECODE_ERRORS as error:
        raise DataError(f"{error}; expected a JSON object", place=line.place) from None


def _call_name(record: Mapping[str, Any]) -> str:
    return str(record.get("call_id") or record.get("id"))
