"""Scores stored outputs: cases are read one after the other, added to tallies, written out.

Nothing that grows with a case's size is kept: outputs and verdicts are found again by their
position in the file, and only ids, positions and tallies stay in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.judging import Item
from callscore.core.suite import Floor
from callscore.evaluate.case_steps import (
    NOT_EXAMINED,
    ExaminedCase,
    MeasuredCase,
    ReadCase,
    answers_of,
    examine_case,
)
from callscore.evaluate.cases import CaseFeed, CaseReader, IndexedCase
from callscore.evaluate.given_verdicts import given_on
from callscore.evaluate.index import build_index, refuse_mixture
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.reply_source import Answers, AnswerSource
from callscore.evaluate.scorer import (
    NOTHING_GIVEN,
    GivenVerdicts,
    OnCase,
    OnRecord,
    OnResult,
    OnVerdict,
    Scorer,
    ScoringOptions,
    Tallies,
)
from callscore.store.worklists import OnOpen
from callscore.suites.catalog import AllFloors

if TYPE_CHECKING:
    from asyncio import Task

CASES_A_CALL = 4
"""Cases that wait for a judge, per concurrent request: a slow one delays none."""

BATCH = 64
"""Cases scored together, step by step and task by task: the processor's cache saves a fifth."""

SETTLED_TOGETHER = 16
"""Judged cases per batch: few enough that no reply waits for long."""

Progress = Callable[[int, int], None]
UntilReady = Callable[[str], Awaitable[object]]
"""Returns when the case of an id may be examined: its answers are there, or never will be."""


def ignore_progress(done: int, total: int) -> None:
    """Ignore progress."""


class Tallied(msgspec.Struct, frozen=True):
    """What a pass over all cases leaves behind."""

    tallies: Tallies
    """By model, then by task."""
    dataset: str
    """Hash of the case lines that were scored."""
    judges: Sequence[str]
    skipped: Sequence[str]
    unused_verdicts: int
    by_code: int = 0
    """Scores in files of metrics that code computes."""
    floors: Mapping[str, Floor] = {}
    """By task, what trivial answers would score (C-135)."""
    contradicted: Sequence[str] = ()
    """What to say about references that contradict themselves (C-131)."""
    findings: Sequence[str] = ()
    """What answers hold that must not be written down."""


OnTallied = Callable[[Tallied], None]


class Sinks(msgspec.Struct, frozen=True):
    """Where results, records and progress go, and who answers what code leaves open."""

    on_result: OnResult
    on_record: OnRecord | None = None
    on_verdict: OnVerdict | None = None
    progress: Progress = ignore_progress
    on_open: OnOpen | None = None
    judge_runner: JudgeRunner | None = None
    on_case: OnCase | None = None


Waiting = tuple[IndexedCase, ReadCase, "Task[ExaminedCase]"]


class ScoringPass:
    """Scores one case after the other, in the order of the case files; waits where it is left."""

    def __init__(
        self,
        config: ScoreConfig,
        sinks: Sinks,
        source: AnswerSource | None = None,
        feed: CaseFeed | None = None,
    ) -> None:
        """Answers come from `source`, cases from `feed`; else both from the files of the config."""
        self._feed = feed or CaseReader(config)
        self._index = index = build_index(config, source, self._feed.positions)
        self._examiner = sinks.judge_runner
        refuse_mixture(index, sinks.judge_runner)
        self._progress = sinks.progress
        self._catalog = config.catalog
        self._catalog.check_settings()
        self._floors = AllFloors(self._catalog, len(index.ids))
        self._cases = iter(self._feed)
        self._next = next(self._cases, None)
        if self._next is None and self._feed.skipped:
            raise DataError(f"no usable case is left, for example: {self._feed.skipped[0]}")
        self._scorer = Scorer(
            self._catalog,
            {
                model: _marks(model, index.source, sinks.judge_runner)
                for model in index.source.models
            },
            ScoringOptions(
                on_result=sinks.on_result,
                on_record=sinks.on_record,
                on_verdict=sinks.on_verdict,
                estimates=index.estimates,
                benchmarks=config.benchmarks or index.benchmarks_judged,
                asks=sinks.judge_runner is not None,
                on_open=sinks.on_open,
                intervals=config.intervals,
                on_case=sinks.on_case,
                whole=index.whole
                or (sinks.judge_runner is not None and sinks.judge_runner.judges_whole),
            ),
        )

    @property
    def next_id(self) -> str | None:
        """The id of the next case to be scored; None where none is left."""
        return None if self._next is None else self._next.opened.case.id

    def advance(self, is_ready: Callable[[str], bool], most: int) -> int:
        """Score the next cases, no more than these, as long as the one of the id is ready.

        Returns how many were. With a judge there are none: that needs a loop of its own.
        """
        cases: list[IndexedCase] = []
        while len(cases) < most and self._examiner is None and (placed := self._next) is not None:
            if not is_ready(placed.opened.case.id):
                break
            cases.append(placed)
            self._taken()
        self.score(cases)
        return len(cases)

    def finish(self) -> Tallied:
        """Score what is left; the sum of everything."""
        if self._examiner is not None and self._next is not None:
            import asyncio  # only a judge or an embedder needs a loop

            asyncio.run(self.examine_all(self._examiner))
        while cases := list(islice(iter(self._taken, None), BATCH)):
            self.score(cases)
        return Tallied(
            tallies=self._scorer.tallies,
            dataset=self._feed.digest,
            judges=sorted(self._index.judges),
            skipped=self._feed.skipped,
            unused_verdicts=self._index.unused_verdicts,
            by_code=self._index.by_code,
            floors=self._floors.found(),
            contradicted=self._feed.contradictions,
            findings=self._scorer.findings.notes(),
        )

    def close(self) -> None:
        """Give back the files."""
        self._index.source.close()
        if self._index.verdicts is not None:
            self._index.verdicts.close()

    def _taken(self) -> IndexedCase | None:
        placed, self._next = self._next, next(self._cases, None)
        if placed is not None:
            self._floors.add(placed.opened.suite, placed.opened.case.task, placed.opened.reference)
        return placed

    def _answers(self, placed: IndexedCase) -> Answers:
        return self._index.source.answers(placed.position, placed.opened.case)

    def _read(self, placed: IndexedCase, answers: Answers) -> ReadCase:
        """The answers to a case as its task reads them, and what files say about them."""
        index = self._index
        if index.verdicts is None:
            return self._scorer.read(placed.opened, answers, NOTHING_GIVEN)
        given = given_on(index.verdicts.lines(placed.position))
        read = self._scorer.read(placed.opened, answers, given)
        if given:
            index.unused_verdicts += _unused(given, read, answers)
        return read

    async def measured(
        self, placed: IndexedCase, answers: Answers, judge_runner: JudgeRunner | None
    ) -> MeasuredCase:
        """One case by itself, whenever it is wanted: nothing is written or added up."""
        verdicts = self._index.verdicts
        given = given_on(verdicts.lines(placed.position)) if verdicts else NOTHING_GIVEN
        read = self._scorer.read(placed.opened, answers, given)
        examined = NOT_EXAMINED if judge_runner is None else await examine_case(read, judge_runner)
        return self._scorer.measure(read, examined)

    def score(self, batch: Sequence[IndexedCase]) -> None:
        """Score some cases, those of one task together; results and sums keep their order.

        Every case without a judge is scored here, `BATCH` at a time.
        """
        answers = [self._answers(placed) for placed in batch]
        tasks = [placed.opened.case.task for placed in batch]
        by_task = sorted(range(len(batch)), key=tasks.__getitem__)
        read = [self._read(batch[at], answers[at]) for at in by_task]
        measured = [self._scorer.measure(case, NOT_EXAMINED) for case in read]
        in_order = dict(zip(by_task, measured, strict=True))
        self._add(batch, [in_order[at] for at in range(len(batch))])

    def _add(self, cases: Sequence[IndexedCase], measured: Sequence[MeasuredCase]) -> None:
        self._scorer.add(measured)
        if cases:
            self._progress(cases[-1].position + 1, len(self._index.ids))

    async def examine_all(
        self, judge_runner: JudgeRunner, until_ready: UntilReady | None = None
    ) -> None:
        """All cases, some of them at once, begun and settled in the order of the files."""
        import asyncio

        waiting: deque[Waiting] = deque()
        try:
            while (placed := self._next) is not None:
                if until_ready is not None:
                    await until_ready(placed.opened.case.id)
                self._taken()
                read = self._read(placed, self._answers(placed))
                waiting.append(
                    (placed, read, asyncio.create_task(examine_case(read, judge_runner)))
                )
                if len(waiting) >= CASES_A_CALL * judge_runner.at_once:
                    await self._settle_some(waiting)
            while waiting:
                await self._settle_some(waiting)
        finally:
            for _, _, task in waiting:
                task.cancel()
            await judge_runner.close()

    async def _settle_some(self, waiting: deque[Waiting]) -> None:
        """Wait for the first case; measure it, and those behind it that are examined as well."""
        await waiting[0][2]
        ready = list(islice(takewhile(_is_examined, waiting), SETTLED_TOGETHER))
        for _ in ready:
            waiting.popleft()
        measured = [self._scorer.measure(read, examined.result()) for _, read, examined in ready]
        self._add([placed for placed, _, _ in ready], measured)


def _is_examined(waiting: Waiting) -> bool:
    """Whether its verdicts are there; the error of a failed judge is raised when it is awaited."""
    task = waiting[2]
    return task.done() and not task.cancelled() and task.exception() is None


def _marks(model: str, source: AnswerSource, judge_runner: JudgeRunner | None) -> Sequence[str]:
    """What every result of a model says: that it is none, or that a relative has judged it."""
    label = source.labels.get(model)
    related = judge_runner is not None and judge_runner.is_related(model)
    return [*([label] if label is not None else ()), *(("judge_overlap",) if related else ())]


def _unused(given: GivenVerdicts, read: ReadCase, answers: Answers) -> int:
    """Verdicts on a case that fit none of its answers: of another run, task, or item."""
    task = read.opened.case.task
    runs = {run for of_model in answers.values() for run in of_model} | {1}
    return sum(
        len(verdicts)
        for (model, run), items in given.items()
        for item, verdicts in items.items()
        if run not in (runs if model is None else answers.get(model, ()))
        or item.metric.partition(".")[0] not in (task, "bench")
        or not _is_known(item, model, run, read)
    )


def _is_known(item: Item, model: str | None, run: int, read: ReadCase) -> bool:
    """Whether an answer that a verdict may be about has the item; a failed one need not."""
    about = [a for a in answers_of(read) if a.run == run and model in (None, a.model)]
    return not about or any(
        read.opened.task.has_item(read.opened.reference, a.output, item) for a in about
    )
