"""Scores stored outputs: reads cases one at a time, adds them to tallies, writes results.

Only ids, file positions and tallies stay in memory; outputs and verdicts are read again by
their position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK, BlockSize
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Item
from callscore.core.scenarios import ScenarioPart, ScenarioScore, StepVerdicts
from callscore.core.task import Floor
from callscore.evaluate.case_steps import (
    NOT_JUDGED,
    JudgedCase,
    JudgedItems,
    MeasuredCase,
    ParsedCase,
    judge_case,
    parsed_replies,
)
from callscore.evaluate.cases import CaseFeed, CaseReader, IndexedCase
from callscore.evaluate.given_verdicts import (
    NOTHING_GIVEN,
    GivenVerdicts,
    VerdictIndex,
    index_verdicts,
    read_verdicts,
    refuse_mixture,
)
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.labels import LabelIndex, LabelSummary, index_labels
from callscore.evaluate.reply_measurer import ScoringOptions
from callscore.evaluate.reply_source import CaseReplies, ReplySource, open_replies
from callscore.evaluate.scorer import Scorer, Sinks
from callscore.evaluate.substitutes import Substitutes
from callscore.evaluate.sums import Sums, Tallies
from callscore.scorecard.final import check_weighted_tasks
from callscore.scorecard.floors import DataFloors

if TYPE_CHECKING:
    from asyncio import Task

CASES_PER_REQUEST = 4
"""Cases that wait for a judge, per concurrent request, so that a slow request delays none."""

BATCH = 64
"""Cases scored together, step by step and task by task: about 20 % faster than singly."""

SHOWN_DIGITS = 16
"""Of the hash of the cases, in a signature."""
SETTLED_TOGETHER = 16
"""Judged cases per batch: few enough that no reply waits for long."""

UntilReady = Callable[[str], Awaitable[object]]
"""Returns when the case with an id may be judged: all its replies have arrived or failed."""


class ScoringResult(msgspec.Struct, frozen=True):
    """The result of a pass over all cases."""

    tallies: Tallies
    """By model, then by task."""
    dataset: str
    """Hash of the data that was scored, as signatures show it."""
    tasks: Collection[str]
    """The selected tasks with cases in the data, before a limit (C-82)."""
    judges: Sequence[str]
    skipped: Sequence[str]
    unused_verdicts: int
    origins: Mapping[str, str] = {}
    """By model, its provider if no model was asked: `simulated`, `baseline` or `replay`."""
    by_code: int = 0
    """Number of verdicts from files on metrics that code computes."""
    floors: Mapping[str, Floor] = {}
    """By task, what trivial answers would score (C-135)."""
    contradicted: Sequence[str] = ()
    """Notes on references that contradict themselves (C-131)."""
    measured_by: Mapping[str, str] = {}
    """By metric, what compared texts in place of LaBSE or mUSE (C-68)."""
    leaks: Mapping[tuple[str, str], Sequence[str]] = {}
    """By model and kind, the cases whose replies have data that must not be written down."""
    judged: Mapping[str, Mapping[str, JudgedItems]] = {}
    """By model and metric, what a judging model decided."""
    labels: LabelSummary | None = None
    """The labels of people that correct judged values; None if there are none."""
    uncited: int = 0
    """Scores of whole metrics whose citation is neither a field nor found (C-100)."""
    scenarios: Mapping[str, ScenarioScore] = {}
    """By model, what only scenarios have: languages, documents, warnings."""
    judged_steps: Mapping[ScenarioPart, StepVerdicts] = {}
    """What a judge decided about steps of scenarios."""
    cases: int = 0
    """All cases of the case files, selected or not."""


OnScoringResult = Callable[[ScoringResult], None]


class ScoringInputs(msgspec.Struct):
    """What is scored besides the cases, each indexed once by the position of its case."""

    source: ReplySource
    cases: int
    """All cases of the files, selected or not."""
    given: VerdictIndex = msgspec.field(default_factory=VerdictIndex)
    labels: LabelIndex = msgspec.field(default_factory=LabelIndex)

    def close(self) -> None:
        """Close the files."""
        self.source.close()
        for lines in (self.given.lines, self.labels.lines):
            if lines is not None:
                lines.close()


def index_inputs(
    config: ScoreConfig,
    feed: CaseFeed,
    judge_runner: JudgeRunner | None,
    source: ReplySource | None = None,
) -> ScoringInputs:
    """Read replies, verdicts and labels once; raises DataError with file, line and case."""
    ids = feed.positions
    if not ids:
        raise UsageError(f"{', '.join(map(str, config.cases))}: contains no case")
    if config.weights:
        check_weighted_tasks(config.weights, feed.tasks)
    source = source or open_replies(config, ids)
    if config.cost_per_1000:
        _check_costs(config, source.models)
    inputs = ScoringInputs(source, len(ids))
    if config.verdicts:
        inputs.given = index_verdicts(config, ids, source.models)
        refuse_mixture(inputs.given, judge_runner)
    if config.labels:
        inputs.labels = index_labels(config, ids, source.models)
    config.catalog.check_settings()
    return inputs


def open_pass(
    config: ScoreConfig,
    sinks: Sinks,
    source: ReplySource | None = None,
    feed: CaseFeed | None = None,
    blocks: BlockSize = BLOCK,
) -> ScoringPass:
    """A pass over replies of `source` and cases of `feed`; by default those of the files."""
    feed = feed or CaseReader(config, blocks)
    inputs = index_inputs(config, feed, sinks.judge_runner, source)
    return ScoringPass(config, sinks, feed, inputs, blocks)


def scoring_result(
    feed: CaseFeed,
    inputs: ScoringInputs,
    sums: Sums,
    floors: DataFloors,
    substitutes: Substitutes,
) -> ScoringResult:
    """The result of all cases; their feed has come to its end."""
    return ScoringResult(
        tallies=sums.tallies,
        dataset=feed.digest[:SHOWN_DIGITS],
        tasks=feed.tasks,
        judges=sorted(inputs.given.judges),
        skipped=feed.skipped,
        unused_verdicts=inputs.given.unused,
        origins=inputs.source.labels,
        by_code=inputs.given.by_code,
        floors=floors.found(),
        contradicted=feed.contradictions,
        leaks=sums.leaks,
        measured_by=substitutes.names(),
        judged=sums.judged,
        labels=None if inputs.labels.lines is None else inputs.labels.summary(),
        uncited=sums.uncited.total(),
        cases=inputs.cases,
    )


def scoring_options(
    config: ScoreConfig, inputs: ScoringInputs, judge_runner: JudgeRunner | None
) -> ScoringOptions:
    """How replies are scored, by the config and the kinds of verdicts in its files."""
    given = inputs.given
    estimates = {**config.estimates, **given.estimates}
    whole = given.whole or (judge_runner is not None and judge_runner.judges_whole)
    has_judge = judge_runner is not None and judge_runner.judge is not None
    return ScoringOptions(
        estimates=bool(estimates),
        substitutes=Substitutes(judge_runner, estimates, whole=whole),
        benchmarks=config.benchmarks or given.on_benchmarks,
        has_judge=judge_runner is not None,
        intervals=config.intervals,
        labelled=inputs.labels.metrics,
        ranges=given.worded or given.whole or has_judge,
        whole=whole,
    )


def new_scorer(
    config: ScoreConfig, inputs: ScoringInputs, sinks: Sinks, blocks: BlockSize = BLOCK
) -> Scorer:
    """Scores the replies of a job."""
    source, judge_runner = inputs.source, sinks.judge_runner
    options = scoring_options(config, inputs, judge_runner)
    flags = {model: _common_flags(model, source, judge_runner) for model in source.models}
    return Scorer(config.catalog, flags, sinks, options, blocks)


PendingCase = tuple[IndexedCase, ParsedCase, "Task[JudgedCase]"]


class CasePass(ABC):
    """Scores cases in the order of the case files; can be paused and continued."""

    def __init__(
        self,
        config: ScoreConfig,
        sinks: Sinks,
        cases: Iterable[IndexedCase],
        inputs: ScoringInputs,
        blocks: BlockSize = BLOCK,
    ) -> None:
        self._inputs, self._blocks = inputs, blocks
        self._judge_runner = sinks.judge_runner
        if sinks.judge_runner is not None:
            sinks.judge_runner.expect(inputs.cases)
        self._is_computed = not config.sends_requests
        self._progress = sinks.progress
        self._cases = iter(cases)
        self._next = next(self._cases, None)
        self._scorer = new_scorer(config, inputs, sinks, blocks)

    @abstractmethod
    def count_floor(self, indexed: IndexedCase) -> None:
        """Count a case for the floors."""

    @property
    def next_id(self) -> str | None:
        """The id of the next case to be scored; None if none is left."""
        return None if self._next is None else self._next.loaded.case.id

    def advance(self, is_ready: Callable[[str], bool], most: int) -> int:
        """Score at most `most` of the next cases, as long as `is_ready` accepts their ids.

        Returns how many were scored; none with a judge, which needs an event loop.
        """
        cases: list[IndexedCase] = []
        while (
            len(cases) < most and self._judge_runner is None and (indexed := self._next) is not None
        ):
            if not is_ready(indexed.loaded.case.id):
                break
            cases.append(indexed)
            self._take_next()
        self.score(cases)
        return len(cases)

    def score_all(self) -> None:
        """Score the remaining cases."""
        if self._judge_runner is not None and self._next is not None:
            import asyncio  # only a judge or an embedder needs an event loop

            asyncio.run(self.judge_all(self._judge_runner))
        while cases := list(islice(iter(self._take_next, None), BATCH)):
            self.score(cases)

    def close(self) -> None:
        """Close the files."""
        self._inputs.close()

    def _take_next(self) -> IndexedCase | None:
        indexed, self._next = self._next, next(self._cases, None)
        if indexed is not None:
            self.count_floor(indexed)
        return indexed

    def _parse(self, indexed: IndexedCase, replies: CaseReplies) -> ParsedCase:
        """Parse the replies to a case; look up verdicts and labels from files."""
        given = labels = NOTHING_GIVEN
        case_id, position = indexed.loaded.case.id, indexed.position
        if (lines := self._inputs.given.lines) is not None:
            given = read_verdicts(lines.lines(position), case_id)
        if (lines := self._inputs.labels.lines) is not None:
            labels = read_verdicts(lines.lines(position), case_id)
        parsed = self._scorer.parse(indexed.loaded, replies, given, labels)
        if given:
            self._inputs.given.unused += _count_unused(given, parsed, replies)
        if labels:
            self._inputs.labels.unused += _count_unused(labels, parsed, replies)
        return parsed

    async def measure_case(
        self, indexed: IndexedCase, replies: CaseReplies, judge_runner: JudgeRunner | None
    ) -> MeasuredCase:
        """Measure one case on its own; nothing is written or added to the tallies."""
        lines = self._inputs.given.lines
        case_id = indexed.loaded.case.id
        given = read_verdicts(lines.lines(indexed.position), case_id) if lines else NOTHING_GIVEN
        parsed = self._scorer.parse(indexed.loaded, replies, given)
        judged = NOT_JUDGED if judge_runner is None else await judge_case(parsed, judge_runner)
        return self._scorer.measure(parsed, judged)

    def score(self, batch: Sequence[IndexedCase]) -> None:
        """Score a batch, the cases of one task together; results and sums keep their order.

        Every case without a judge is scored here, `BATCH` at a time.
        """
        source = self._inputs.source
        replies = [source.replies(one.position, one.loaded.case) for one in batch]
        tasks = [indexed.loaded.case.task for indexed in batch]
        by_task = sorted(range(len(batch)), key=tasks.__getitem__)
        parsed = [self._parse(batch[at], replies[at]) for at in by_task]
        measured = [self._scorer.measure(case, NOT_JUDGED) for case in parsed]
        in_order = dict(zip(by_task, measured, strict=True))
        self._add(batch, [in_order[at] for at in range(len(batch))])

    def _add(self, cases: Sequence[IndexedCase], measured: Sequence[MeasuredCase]) -> None:
        self._scorer.add(measured)
        if cases:
            self._progress(cases[-1].position + 1, self._inputs.cases)

    async def judge_all(
        self, judge_runner: JudgeRunner, until_ready: UntilReady | None = None
    ) -> None:
        """Score all cases with a judge, several concurrently, in the order of the files."""
        import asyncio

        waiting: deque[PendingCase] = deque()
        taken = 0
        try:
            while (indexed := self._next) is not None:
                if self._is_computed and taken % self._blocks.cases == 0:
                    while waiting:
                        await self._settle_some(waiting)
                    judge_runner.begin_block()
                taken += 1
                if until_ready is not None:
                    await until_ready(indexed.loaded.case.id)
                self._take_next()
                replies = self._inputs.source.replies(indexed.position, indexed.loaded.case)
                parsed = self._parse(indexed, replies)
                waiting.append(
                    (indexed, parsed, asyncio.create_task(judge_case(parsed, judge_runner)))
                )
                if len(waiting) >= CASES_PER_REQUEST * judge_runner.concurrency:
                    await self._settle_some(waiting)
            while waiting:
                await self._settle_some(waiting)
        finally:
            for _, _, task in waiting:
                task.cancel()
            await judge_runner.close()

    async def _settle_some(self, waiting: deque[PendingCase]) -> None:
        """Wait for the first case; measure it and those after it that are judged as well."""
        await waiting[0][2]
        ready = list(islice(takewhile(_is_judged, waiting), SETTLED_TOGETHER))
        for _ in ready:
            waiting.popleft()
        measured = [self._scorer.measure(parsed, judged.result()) for _, parsed, judged in ready]
        self._add([indexed for indexed, _, _ in ready], measured)


class ScoringPass(CasePass):
    """A pass over all cases of a job."""

    def __init__(
        self,
        config: ScoreConfig,
        sinks: Sinks,
        feed: CaseFeed,
        inputs: ScoringInputs,
        blocks: BlockSize = BLOCK,
    ) -> None:
        self._feed = feed
        self._floors = DataFloors(config.catalog.formula, inputs.cases)
        super().__init__(config, sinks, feed, inputs, blocks)
        if self._next is None and feed.skipped:
            raise DataError(f"no usable case is left, for example: {feed.skipped[0]}")

    def count_floor(self, indexed: IndexedCase) -> None:
        """Count a case for the floors, if it is due."""
        self._floors.add(indexed.loaded.task, indexed.loaded.reference)

    def finish(self) -> ScoringResult:
        """Score the remaining cases; returns the tallies of all."""
        self.score_all()
        return scoring_result(
            self._feed,
            self._inputs,
            self._scorer.finish(),
            self._floors,
            self._scorer.substitutes,
        )


def _check_costs(config: ScoreConfig, models: Sequence[str]) -> None:
    for model in config.cost_per_1000:
        if model not in models:
            known = ", ".join(models)
            raise UsageError(
                f"cost of {model!r}: there is no output of this model; expected one of {known}"
            )


def _is_judged(waiting: PendingCase) -> bool:
    """Whether its verdicts have arrived; the error of a failed judge is raised when awaited."""
    task = waiting[2]
    return task.done() and not task.cancelled() and task.exception() is None


def _common_flags(
    model: str, source: ReplySource, judge_runner: JudgeRunner | None
) -> Sequence[str]:
    """The flags of all results of a model: not a real model, judged by its own family."""
    label = source.labels.get(model)
    related = judge_runner is not None and judge_runner.is_related(model)
    return [*([label] if label is not None else ()), *(("judge_overlap",) if related else ())]


def _count_unused(given: GivenVerdicts, parsed: ParsedCase, replies: CaseReplies) -> int:
    """How many verdicts on a case match none of its replies: another run, task or item."""
    task = parsed.loaded.case.task
    runs = {run for of_model in replies.values() for run in of_model} | {1}
    return sum(
        len(verdicts)
        for (model, run), items in given.items()
        for item, verdicts in items.items()
        if run not in (runs if model is None else replies.get(model, ()))
        or item.metric.partition(".")[0] not in (task, "bench")
        or not _is_known(item, model, run, parsed)
    )


def _is_known(item: Item, model: str | None, run: int, parsed: ParsedCase) -> bool:
    """Whether a reply that a verdict may be about has the item; a failed reply need not."""
    about = [a for a in parsed_replies(parsed) if a.run == run and model in (None, a.model)]
    return not about or any(
        parsed.loaded.task.has_item(parsed.loaded.reference, a.output, item) for a in about
    )
