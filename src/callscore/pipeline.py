"""The calls suite over stored outputs: cases stream by, tallies grow, results are written.

Nothing that grows with a case's size is kept: outputs and verdicts are found again by their
position in the file, and only ids, positions and tallies stay in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.config import ScoreConfig
from callscore.core.case import Case, Failed, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS, Item, Verdict, Verdicts
from callscore.core.scorecard import CaseResult
from callscore.core.task import Task
from callscore.store.files import Line, LinesByKey, lines_of, numbered
from callscore.store.records import (
    OutputRecord,
    read_case,
    read_case_id,
    read_output,
    read_output_head,
    read_verdict,
    reply_of,
)
from callscore.suites import catalog
from callscore.suites.calls.case_score import score_case
from callscore.suites.calls.tally import Answer, TaskTally

EMBEDDED_MODEL = "model_output"
"""The name under which an output embedded in a case is scored."""

Progress = Callable[[int, int], None]
OnResult = Callable[[CaseResult], None]
Tallies = dict[str, dict[str, TaskTally]]


class Tallied(msgspec.Struct, frozen=True):
    """What a pass over all cases leaves behind."""

    tallies: Tallies
    """By model, then by task."""
    dataset: str
    """Hash of the case lines that were scored."""
    judges: Sequence[str]
    skipped: Sequence[str]
    unused_verdicts: int


class _Index(msgspec.Struct):
    """Where everything stands: case ids by position, outputs and verdicts by case."""

    ids: dict[str, int]
    models: list[str]
    outputs: LinesByKey | None
    verdicts: LinesByKey | None
    judges: set[str]
    unused_verdicts: int = 0


class Opened(msgspec.Struct, frozen=True):
    """A case with its task, checked and ready for answers."""

    case: Case
    task: Task[Any, Any]
    reference: Any


def open_case(line: Line, tasks: Mapping[str, Task[Any, Any]]) -> Opened:
    """The case on a line, ready; raises DataError with file, line, case and field."""
    case = read_case(line)
    try:
        task = tasks.get(case.task)
        if task is None:
            expected = ", ".join(tasks)
            raise DataError(
                f"{case.task!r} is not a task; expected one of {expected}", field="task"
            )
        return Opened(case, task, task.reference(case))
    except DataError as error:
        raise error.located(line.place, case.id) from None


def tally_cases(config: ScoreConfig, on_result: OnResult, progress: Progress) -> Tallied:
    """Score every answer of every model, case by case, in the order of the case files."""
    tasks = catalog.tasks(config.checked_settings())
    index = _build_index(config)
    scorer = _Scorer(config, index, on_result)
    digest = hashlib.blake2b(digest_size=16)
    skipped: list[str] = []
    done = 0
    try:
        for line in lines_of(config.cases):
            try:
                opened = open_case(line, tasks)
            except DataError as error:
                if not config.allow_bad_cases:
                    raise
                skipped.append(str(error))
                continue
            position = index.ids[opened.case.id]
            if position < done:
                skipped.append(str(duplicate_id(opened.case.id, line)))
                continue
            digest.update(line.raw.strip() + b"\n")
            scorer.score(position, opened)
            done = position + 1
            progress(done, len(index.ids))
    finally:
        for lines in (index.outputs, index.verdicts):
            if lines is not None:
                lines.close()
    return Tallied(
        tallies=scorer.tallies,
        dataset=digest.hexdigest(),
        judges=sorted(index.judges),
        skipped=skipped,
        unused_verdicts=index.unused_verdicts,
    )


def _build_index(config: ScoreConfig) -> _Index:
    ids: dict[str, int] = {}
    for line in lines_of(config.cases):
        try:
            case_id = read_case_id(line)
            if case_id in ids:
                raise duplicate_id(case_id, line)
        except DataError:
            if not config.allow_bad_cases:
                raise
            continue
        ids[case_id] = len(ids)
    index = _Index(ids, [EMBEDDED_MODEL], None, None, set())
    if config.outputs:
        _index_outputs(config, index)
    if config.verdicts:
        _index_verdicts(config, index)
    return index


def duplicate_id(case_id: str, line: Line) -> DataError:
    """The error that says a case id stands twice."""
    return DataError(
        "stands twice; expected unique case ids", field="id", case_id=case_id, place=line.place
    )


def _index_outputs(config: ScoreConfig, index: _Index) -> None:
    outputs = index.outputs = LinesByKey(config.outputs)
    models: set[str] = set()
    for line in lines_of(config.outputs):
        record = read_output_head(line)
        models.add(record.model)
        outputs.add(_position(index, record.case_id, line), line)
    index.models = sorted(models)


def _index_verdicts(config: ScoreConfig, index: _Index) -> None:
    verdicts = index.verdicts = LinesByKey(config.verdicts)
    models = set(index.models)
    for line in lines_of(config.verdicts):
        record = read_verdict(line)
        try:
            catalog.checked_verdict(record.metric, record.verdict, record.value)
        except DataError as error:
            raise error.located(line.place, record.case_id) from None
        position = _position(index, record.case_id, line)
        if record.model is not None and record.model not in models:
            index.unused_verdicts += 1
            continue
        index.judges.add(record.by or "unnamed")
        verdicts.add(position, line)


def _position(index: _Index, case_id: str, line: Line) -> int:
    position = index.ids.get(case_id)
    if position is None:
        raise DataError(
            f"{case_id!r} is not in the case files; expected the id of a case",
            field="case_id",
            place=line.place,
        )
    return position


class _Scorer:
    """Scores the answers to one case after another; the tallies are what it leaves."""

    def __init__(self, config: ScoreConfig, index: _Index, on_result: OnResult) -> None:
        self._index = index
        self._on_result = on_result
        settings = config.checked_settings()
        self._formulas = {
            name: catalog.formula_for(name, settings) for name in catalog.tasks(settings)
        }
        self.tallies: Tallies = {model: {} for model in index.models}

    def score(self, position: int, opened: Opened) -> None:
        """Take in every answer to one case."""
        case, task = opened.case, opened.task
        answers = self._answers(position, case)
        verdicts = self._verdicts(position)
        for model in self._index.models:
            tally = self.tallies[model].setdefault(task.name, TaskTally())
            runs = answers.get(model)
            if not runs:
                tally.add_not_run()
                self._on_result(CaseResult(case.id, model, 1, task.name, "not_run"))
                continue
            measured: list[Answer] = []
            for run in sorted(runs):
                reply = runs[run]
                if isinstance(reply, Failed):
                    tally.add_failed_call(reply.cost_usd)
                    self._on_result(_error(case, model, run, reply))
                    continue
                tally.add_call(reply.cost_usd)
                given = verdicts.get((model, run)) or verdicts.get((None, run), NO_VERDICTS)
                answer = self._measure(opened, reply, given)
                measured.append(answer)
                self._on_result(_result(case, model, run, answer))
            if measured:
                tally.add_case(case.id, self._formulas[task.name], measured)
            else:
                tally.add_error()

    def _measure(self, opened: Opened, reply: Reply, verdicts: Verdicts) -> Answer:
        task, reference = opened.task, opened.reference
        measured = task.measure(reference, task.read(reference, reply), verdicts)
        return Answer(measured, score_case(self._formulas[task.name], measured))

    def _answers(self, position: int, case: Case) -> Mapping[str, Mapping[int, Reply | Failed]]:
        if self._index.outputs is None:
            if case.model_output is None:
                return {}
            text = case.model_output
            if not isinstance(text, str):
                text = msgspec.json.encode(text)
            return {EMBEDDED_MODEL: {1: Reply(text)}}
        found: dict[str, dict[int, Reply | Failed]] = {}
        for line in self._index.outputs.lines(position):
            record = read_output(line)
            runs = found.setdefault(record.model, {})
            if record.run in runs:
                raise _twice(record, line)
            runs[record.run] = reply_of(record)
        return found

    def _verdicts(self, position: int) -> Mapping[tuple[str | None, int], Verdicts]:
        if self._index.verdicts is None:
            return {}
        found: dict[tuple[str | None, int], dict[Item, list[Verdict]]] = {}
        for line in self._index.verdicts.lines(position):
            record = read_verdict(line)
            metric = catalog.checked_verdict(record.metric, record.verdict, record.value)
            verdict = Verdict(
                metric=metric,
                item=str(record.item),
                verdict=record.verdict,
                value=record.value,
                text=record.text,
                quote=record.quote,
                source=record.source,
                by=record.by,
            )
            items = found.setdefault((record.model, record.run), {})
            items.setdefault(Item(metric, verdict.item), []).append(verdict)
        return found


def _result(case: Case, model: str, run: int, answer: Answer) -> CaseResult:
    score = answer.score
    return CaseResult(
        case_id=case.id,
        model=model,
        run=run,
        task=case.task,
        status=score.status,
        score=score.score,
        ungated_score=score.ungated_score,
        reasons=score.reasons,
        flags=answer.measured.flags,
        metrics={slug: measure.value for slug, measure in answer.measured.measures.items()},
    )


def _error(case: Case, model: str, run: int, failure: Failed) -> CaseResult:
    return CaseResult(case.id, model, run, case.task, "error", flags=(failure.why,))


def _twice(record: OutputRecord, line: Line) -> DataError:
    return DataError(
        f"model {record.model!r}, run {record.run} stands twice; expected one line each",
        field="case_id",
        case_id=record.case_id,
        place=numbered(line).place,
    )
