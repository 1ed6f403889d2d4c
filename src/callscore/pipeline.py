"""The calls suite over stored outputs: cases stream by, tallies grow, results are written.

Nothing that grows with a case's size is kept: outputs and verdicts are found again by their
position in the file, and only ids, positions and tallies stay in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import msgspec

from callscore.answers import AnswerSource, EmbeddedAnswers, RecordedAnswers
from callscore.cases import Opened, WantedCases, case_positions
from callscore.config import ScoreConfig
from callscore.core.case import Case, Failed, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS, Item, Verdict, Verdicts
from callscore.core.scorecard import CaseResult
from callscore.store.files import Line, LinesByKey, lines_of
from callscore.store.records import read_output_head, read_verdict
from callscore.suites.calls import catalog
from callscore.suites.calls.case_score import score_case
from callscore.suites.calls.formula import formula_for
from callscore.suites.calls.tally import Answer, TaskTally

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
    """Where everything stands: case ids by position, answers and verdicts by case."""

    ids: dict[str, int]
    source: AnswerSource
    verdicts: LinesByKey | None = None
    judges: set[str] = set()
    unused_verdicts: int = 0


def tally_cases(
    config: ScoreConfig,
    on_result: OnResult,
    progress: Progress,
    source: AnswerSource | None = None,
) -> Tallied:
    """Score every answer of every model, case by case, in the order of the case files.

    The answers come from `source`, else from the files of the config.
    """
    index = _build_index(config, source)
    scorer = _Scorer(config, index, on_result)
    digest = hashlib.blake2b(digest_size=16)
    cases = WantedCases(config, index.ids)
    try:
        for position, line, opened in cases:
            digest.update(line.raw.strip() + b"\n")
            scorer.score(position, opened)
            progress(position + 1, len(index.ids))
    finally:
        index.source.close()
        if index.verdicts is not None:
            index.verdicts.close()
    return Tallied(
        tallies=scorer.tallies,
        dataset=digest.hexdigest(),
        judges=sorted(index.judges),
        skipped=cases.skipped,
        unused_verdicts=index.unused_verdicts,
    )


def _build_index(config: ScoreConfig, source: AnswerSource | None) -> _Index:
    ids = case_positions(config)
    if source is None:
        source = _recorded(config, ids) if config.outputs else EmbeddedAnswers()
    index = _Index(ids, source)
    if config.verdicts:
        _index_verdicts(config, index)
    return index


def _recorded(config: ScoreConfig, ids: Mapping[str, int]) -> RecordedAnswers:
    lines = LinesByKey(config.outputs)
    models: set[str] = set()
    for line in lines_of(config.outputs):
        record = read_output_head(line)
        models.add(record.model)
        lines.add(_position(ids, record.case_id, line), line)
    return RecordedAnswers(lines, sorted(models))


def _index_verdicts(config: ScoreConfig, index: _Index) -> None:
    verdicts = index.verdicts = LinesByKey(config.verdicts)
    models = set(index.source.models)
    for line in lines_of(config.verdicts):
        record = read_verdict(line)
        try:
            catalog.checked_verdict(record.metric, record.verdict, record.value)
        except DataError as error:
            raise error.located(line.place, record.case_id) from None
        position = _position(index.ids, record.case_id, line)
        if record.model is not None and record.model not in models:
            index.unused_verdicts += 1
            continue
        index.judges.add(record.by or "unnamed")
        verdicts.add(position, line)


def _position(ids: Mapping[str, int], case_id: str, line: Line) -> int:
    position = ids.get(case_id)
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
        self._formulas = {name: formula_for(name, settings) for name in catalog.tasks(settings)}
        self.tallies: Tallies = {model: {} for model in index.source.models}

    def score(self, position: int, opened: Opened) -> None:
        """Take in every answer to one case."""
        case, task = opened.case, opened.task
        answers = self._index.source.answers(position, case)
        verdicts = self._verdicts(position)
        for model in self._index.source.models:
            label = self._index.source.labels.get(model)
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
                self._on_result(_result(case, model, run, answer, label))
            if measured:
                tally.add_case(case.id, self._formulas[task.name], measured)
            else:
                tally.add_error()

    def _measure(self, opened: Opened, reply: Reply, verdicts: Verdicts) -> Answer:
        task, reference = opened.task, opened.reference
        measured = task.measure(reference, task.read(reference, reply), verdicts)
        return Answer(measured, score_case(self._formulas[task.name], measured))

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


def _result(
    case: Case, model: str, run: int, answer: Answer, label: str | None = None
) -> CaseResult:
    score = answer.score
    flags = answer.measured.flags
    return CaseResult(
        case_id=case.id,
        model=model,
        run=run,
        task=case.task,
        status=score.status,
        score=score.score,
        ungated_score=score.ungated_score,
        reasons=score.reasons,
        flags=flags if label is None else sorted({*flags, label}),
        metrics={slug: measure.value for slug, measure in answer.measured.measures.items()},
    )


def _error(case: Case, model: str, run: int, failure: Failed) -> CaseResult:
    return CaseResult(case.id, model, run, case.task, "error", flags=(failure.why,))
