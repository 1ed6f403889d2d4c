"""Labelling by people: transcripts and a config to sheets, filled-in sheets to cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.app import line_writer
from callscore.core.errors import ConfigError, DataError, UsageError
from callscore.import_job import load_form
from callscore.importers.source import Source
from callscore.importers.tables import cell_text, tables_of
from callscore.labelling.answers import (
    Answers,
    Disagreement,
    Given,
    Key,
    compare_answers,
    expected_outcome,
    open_items,
    read_answers,
)
from callscore.labelling.items import Call, LabelItem, items_of
from callscore.labelling.sampling import (
    disagreement,
    draw_disputed,
    draw_random,
    draw_stratified,
    stratum_of,
)
from callscore.labelling.sheet import write_csv, write_workbook
from callscore.metrics.forms.form import qa_config
from callscore.stats.agreement import cohen_kappa, observed_agreement
from callscore.store.files import Line, atomic_write, check_targets, lines_of
from callscore.store.strict_yaml import read_yaml

_CALL = msgspec.json.Decoder(Call)
_ANY = msgspec.json.Decoder(dict[str, Any])


class LabelJob(msgspec.Struct, frozen=True):
    """Which calls are labelled for which task."""

    calls: Sequence[Call]
    task: str
    config: Mapping[str, Any]
    items: Sequence[LabelItem]


def label_job(
    transcripts: Sequence[Path], task: str, config: Path | None, form: Path | None
) -> LabelJob:
    """The calls of the files with their items to label."""
    settings = label_config(task, config, form)
    calls = [_call(line) for line in lines_of(transcripts)]
    if not calls:
        raise UsageError(f"{', '.join(map(str, transcripts))}: contains no call")
    names = [call.name for call in calls]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two lines are of the call {double!r}; expected one line a call")
    items = [item for call in calls for item in items_of(call, task, settings)]
    return LabelJob(calls, task, settings, items)


def label_config(task: str, config: Path | None, form: Path | None) -> Mapping[str, Any]:
    """The config of the cases: from a form, or from a file."""
    if form is not None:
        if task != "qa" or config is not None:
            raise UsageError("--form is the config of the task qa; expected no other")
        return qa_config(load_form(form))
    if config is None:
        return {}
    value = read_yaml(config).value
    if not isinstance(value, Mapping):
        raise ConfigError(f"{config}: expected the keys of a case's config")
    return value


def _call(line: Line) -> Call:
    try:
        return _CALL.decode(line.raw)
    except msgspec.MsgspecError as error:
        raise DataError(f"{error}; expected a call with `transcript`", place=line.place) from None


def write_sheet(job: LabelJob, path: Path, answers: Answers) -> int:
    """Write the items to label as a spreadsheet or CSV file; returns their number."""
    if path.suffix.lower() == ".xlsx":
        data = write_workbook(job.items, job.calls, answers)
    elif path.suffix.lower() == ".csv":
        data = write_csv(job.items, answers)
    else:
        raise UsageError(f"{path}: expected a name that ends in .xlsx or .csv")
    with atomic_write(path) as file:
        file.write(data)
    return len(job.items)


def read_sheet(path: Path) -> dict[Key, Given]:
    """The answers of a filled-in sheet."""
    try:
        source = Source(str(path), path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    tables = [table for table in tables_of(source) if "answer" in table.columns]
    if not tables:
        raise DataError("has no column `answer`; expected a filled-in label sheet", place=str(path))
    rows = (
        ({key: _unquoted(cell_text(cell)) for key, cell in row.cells.items()},
         f"{path}: {row.where}")
        for row in tables[0].rows
    )  # fmt: skip
    return read_answers(rows)


def _unquoted(cell: str) -> str:
    """The cell without the apostrophe that prevents formulas."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@") else cell


class Labelled(msgspec.Struct, frozen=True):
    """The result of filled-in sheets."""

    cases: int
    unfinished: Mapping[str, int]
    """Items without an answer, by call."""
    differing: Sequence[Disagreement]
    agreement: float | None
    kappa: float | None
    compared: int


def make_cases(job: LabelJob, sheets: Sequence[Answers], resolved: Answers, out: Path) -> Labelled:
    """Write a case for every call whose items are all answered, with agreement."""
    agreed, differing, pairs = compare_answers(job.items, sheets)
    answers = {**agreed, **resolved}
    disputed = {one.item.key for one in differing} - resolved.keys()
    by_call: dict[str, list[LabelItem]] = {}
    for item in job.items:
        by_call.setdefault(item.call_id, []).append(item)
    unfinished: dict[str, int] = {}
    made = 0
    with line_writer(out) as write:
        for call in job.calls:
            items = by_call[call.name]
            left = [item for item in open_items(items, answers) if item.key not in disputed]
            left += [item for item in items if item.key in disputed]
            if left:
                unfinished[call.name] = len(left)
                continue
            made += 1
            expected = expected_outcome(job.task, call, items, answers, job.config)
            write(_case(call, job, expected))
        if not made:
            raise DataError(
                f"no call is fully labelled: {sum(unfinished.values())} items are open or disputed"
            )
    return Labelled(
        made, unfinished, differing, observed_agreement(pairs), cohen_kappa(pairs), len(pairs)
    )


def _case(call: Call, job: LabelJob, expected: Mapping[str, Any]) -> dict[str, Any]:
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
    """Which calls to draw, and how."""

    files: Sequence[Path]
    number: int
    out: Path
    by: Sequence[str] = ()
    results: Sequence[Path] = ()
    seed: int = 0


def draw_sample(job: SampleJob) -> tuple[int, int]:
    """Write the lines of the drawn calls unchanged; returns their number and the total."""
    check_targets([job.out], [*job.files, *job.results])
    if job.by and job.results:
        raise UsageError("--by and --results; expected one way to draw")
    records = [(line, _record(line)) for line in lines_of(job.files)]
    call_of = {str(record.get("id")): _name(record) for _, record in records}
    calls = list(dict.fromkeys(call_of.values()))
    if not calls:
        raise UsageError(f"{', '.join(map(str, job.files))}: contains no call")
    if job.results:
        spread = disagreement(_record(line) for line in lines_of(job.results))
        chosen = draw_disputed(call_of, spread, job.number)
    elif job.by:
        strata = {
            _name(record): stratum_of(record, _call(line).transcript, job.by)
            for line, record in reversed(records)
        }
        in_order = {call: strata[call] for call in calls}
        chosen = draw_stratified(in_order, job.number, job.seed)
    else:
        chosen = draw_random(calls, job.number, job.seed)
    kept = set(chosen)
    with atomic_write(job.out) as file:
        for line, record in records:
            if _name(record) in kept:
                file.write(line.raw.rstrip(b"\r\n") + b"\n")
    return len(chosen), len(calls)


def _record(line: Line) -> dict[str, Any]:
    try:
        return _ANY.decode(line.raw)
    except msgspec.MsgspecError as error:
        raise DataError(str(error), place=line.place) from None


def _name(record: Mapping[str, Any]) -> str:
    return str(record.get("call_id") or record.get("id"))
