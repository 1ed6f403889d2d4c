"""The calls suite over stored outputs: cases stream by, tallies grow, results are written.

Nothing that grows with a case's size is kept: outputs and verdicts are found again by their
position in the file, and only ids, positions and tallies stay in memory.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from callscore.answers import AnswerSource, EmbeddedAnswers, RecordedAnswers
from callscore.cases import Placed, WantedCases, case_positions
from callscore.config import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.judging import Item, Verdict
from callscore.examining import Examiner
from callscore.scoring import (
    NOT_EXAMINED,
    ExaminedCase,
    GivenVerdicts,
    OnRecord,
    OnResult,
    OnVerdict,
    ReadCase,
    Scorer,
    ScoringOptions,
    Tallies,
    examine_case,
)
from callscore.store.files import Line, LinesByKey, lines_of
from callscore.store.records import read_output_head, read_verdict
from callscore.suites import catalog

if TYPE_CHECKING:
    from asyncio import Task

CASES_AT_ONCE = 24
"""So many cases may wait for a judge; results still come in the order of the files."""

Progress = Callable[[int, int], None]


def no_progress(done: int, total: int) -> None:
    """Progress nobody watches."""


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
    estimates: bool = False
    """Whether a verdict is the word of a built-in substitute."""
    benchmarks_judged: bool = False
    """Whether a verdict speaks about a benchmark: then they are wanted."""


class Outlets(msgspec.Struct, frozen=True):
    """Where results, records and progress go, and who answers what code leaves open."""

    on_result: OnResult
    on_record: OnRecord | None = None
    on_verdict: OnVerdict | None = None
    progress: Progress = no_progress
    examiner: Examiner | None = None


def tally_cases(
    config: ScoreConfig, outlets: Outlets, source: AnswerSource | None = None
) -> Tallied:
    """Score every answer of every model, case by case, in the order of the case files.

    The answers come from `source`, else from the files of the config.
    """
    index = _build_index(config, source)
    cases = WantedCases(config, index.ids)
    job = _Job(config, index, outlets, cases)
    try:
        if outlets.examiner is None:
            for placed in cases:
                job.settle(placed, job.read(placed), NOT_EXAMINED)
        else:
            import asyncio  # only a judge or an embedder needs a loop

            asyncio.run(job.examine_all(outlets.examiner))
    finally:
        index.source.close()
        if index.verdicts is not None:
            index.verdicts.close()
    return Tallied(
        tallies=job.scorer.tallies,
        dataset=job.digest.hexdigest(),
        judges=sorted(index.judges),
        skipped=cases.skipped,
        unused_verdicts=index.unused_verdicts,
    )


Waiting = tuple[Placed, ReadCase, "Task[ExaminedCase]"]


class _Job:
    """One pass over all cases."""

    def __init__(
        self, config: ScoreConfig, index: _Index, outlets: Outlets, cases: WantedCases
    ) -> None:
        labels = index.source.labels
        self._index = index
        self._progress = outlets.progress
        self._cases = cases
        self.digest = hashlib.blake2b(digest_size=16)
        self.scorer = Scorer(
            config.checked_settings(),
            {model: labels.get(model) for model in index.source.models},
            ScoringOptions(
                on_result=outlets.on_result,
                on_record=outlets.on_record,
                on_verdict=outlets.on_verdict,
                estimates=index.estimates,
                benchmarks=config.benchmarks or index.benchmarks_judged,
                asks=outlets.examiner is not None,
            ),
        )

    def read(self, placed: Placed) -> ReadCase:
        """The answers to a case and what files say about them."""
        self.digest.update(placed.line.raw.strip() + b"\n")
        answers = self._index.source.answers(placed.position, placed.opened.case)
        return self.scorer.read(placed.opened, answers, _given(self._index, placed.position))

    def settle(self, placed: Placed, read: ReadCase, examined: ExaminedCase) -> None:
        """Measure a case and add it up."""
        self.scorer.settle(read, examined)
        self._progress(placed.position + 1, len(self._index.ids))

    async def examine_all(self, examiner: Examiner) -> None:
        """All cases, some of them at once, settled in the order of the files."""
        import asyncio

        waiting: deque[Waiting] = deque()
        try:
            for placed in self._cases:
                read = self.read(placed)
                waiting.append((placed, read, asyncio.create_task(examine_case(read, examiner))))
                if len(waiting) >= CASES_AT_ONCE:
                    await self._settle_first(waiting)
            while waiting:
                await self._settle_first(waiting)
        finally:
            for _, _, task in waiting:
                task.cancel()
            await examiner.close()

    async def _settle_first(self, waiting: deque[Waiting]) -> None:
        placed, read, task = waiting[0]
        examined = await task
        waiting.popleft()
        self.settle(placed, read, examined)


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
            metric = catalog.checked_verdict(record.metric, record.verdict, record.value)
        except DataError as error:
            raise error.located(line.place, record.case_id) from None
        position = _position(index.ids, record.case_id, line)
        if record.model is not None and record.model not in models:
            index.unused_verdicts += 1
            continue
        index.judges.add(record.by or "unnamed")
        index.estimates = index.estimates or record.approximate
        index.benchmarks_judged = index.benchmarks_judged or metric.startswith("bench.")
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


def _given(index: _Index, position: int) -> GivenVerdicts:
    """What the files say about the answers to one case."""
    if index.verdicts is None:
        return {}
    found: dict[tuple[str | None, int], dict[Item, list[Verdict]]] = {}
    for line in index.verdicts.lines(position):
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
            approximate=record.approximate,
        )
        items = found.setdefault((record.model, record.run), {})
        items.setdefault(Item(metric, verdict.item), []).append(verdict)
    return found
