"""Scores blocks of cases in several processes; joins them in order, to the same bytes as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK, BlockSize
from callscore.core.errors import UsageError
from callscore.evaluate.case_blocks import CaseBlock
from callscore.evaluate.cases import (
    BlockReader,
    CaseReader,
    Contradictions,
    DividedFeed,
    IndexedCase,
    load_case,
    tasks_for,
)
from callscore.evaluate.judging import JudgedBlock, JudgeRunner
from callscore.evaluate.line_buffer import LineBuffer
from callscore.evaluate.model_identity import ModelIdentities
from callscore.evaluate.reply_source import ReplySource
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import (
    CasePass,
    ScoringInputs,
    ScoringPass,
    ScoringResult,
    index_inputs,
    new_scorer,
    scoring_result,
)
from callscore.evaluate.sub_blocks import KeptSubBlock
from callscore.evaluate.substitutes import SubstituteCounts
from callscore.evaluate.sums import BlockSums, Sums
from callscore.processes.cores import count_processes
from callscore.report.source import CaseView
from callscore.scorecard.floors import DataFloors
from callscore.store.files import Line, Source
from callscore.store.verdict_records import to_file_record
from callscore.store.worklists import OpenItem
from callscore.suites.registry import suite_of

if TYPE_CHECKING:
    from callscore.processes.pool import ProcessPool
    from callscore.processes.ray_pool import RayPool

FEW_CASES = 2 * BLOCK.cases
"""Below, one process is used unless a number is given: starting others would take longer."""


class Workers(NamedTuple):
    """How many processes score, and how: only tests use other blocks and start methods."""

    number: int | None = None
    """By default one per core, for large data."""
    size: BlockSize = BLOCK
    method: str | None = None
    cluster: str | None = None
    """The address of a Ray cluster whose nodes score."""


ONE_PROCESS = Workers(1)
EVERY_CORE = Workers()


class Wanted(NamedTuple):
    """What is written of every case."""

    results: bool
    records: bool
    verdicts: bool
    open_items: bool
    views: bool
    sub_blocks: bool


class BlockContext(NamedTuple):
    """What all blocks of a job share; processes receive it when they start."""

    config: ScoreConfig
    size: BlockSize
    wanted: Wanted
    is_checked: bool
    """Whether every case was read before."""
    names: Mapping[str, Sequence[str]] | None = None
    """By suite, the names in all case files, for machines that do not have these."""
    judged_by: Sequence[str | None] | None = None
    """The judge and the embedder that another machine must have, too."""


class BlockWork(NamedTuple):
    """One block: its cases, and the parts of the indexes that are about them."""

    cases: CaseBlock
    inputs: ScoringInputs
    sources: Sequence[Source] = ()
    """Its lines, for machines that do not have the files."""


class BlockResult(msgspec.Struct):
    """What a block adds to the result, and the lines that it writes."""

    sums: Sums
    content: bytes
    """The content of its cases, to be hashed (C-132)."""
    floors: Sequence[Line]
    """The cases that the floors count."""
    contradictions: Contradictions
    unused_verdicts: int
    unused_labels: int
    substitutes: SubstituteCounts
    judged: JudgedBlock | None
    answered_by: ModelIdentities | None
    """The names under which the models replied, if the store has them."""
    results: bytes
    records: bytes
    verdicts: bytes
    open_items: Sequence[OpenItem]
    views: bytes
    sub_blocks: Sequence[KeptSubBlock]


def count_workers(config: ScoreConfig, workers: Workers, cases: int) -> int:
    """The number of processes that score; raises UsageError if it cannot be what was asked for."""
    one = (
        "a judge or an embedder that sends requests"
        if config.sends_requests
        else "skipping bad cases"
        if config.allow_bad_cases
        else None
    )
    number = workers.number
    found = count_processes(number, cases, FEW_CASES, workers.size.cases)
    if number is not None and number > 1 and one is not None:
        raise UsageError(f"workers: {number}; expected 1, as {one} needs one process")
    if workers.cluster is not None and one is not None:
        raise UsageError(f"engine: ray; expected local, as {one} needs one process")
    return found if one is None else 1


def score_blocks(
    config: ScoreConfig, sinks: Sinks, workers: Workers = ONE_PROCESS
) -> ScoringResult:
    """Score the files of a config, in one process or in several."""
    feed = CaseReader(config, workers.size)
    inputs = index_inputs(config, feed, sinks.judge_runner)
    with closing(inputs):
        number = count_workers(config, workers, feed.plan.selected)
        if workers.cluster is None:
            if number <= 1 or sinks.lines is None:
                return ScoringPass(config, sinks, feed, inputs, workers.size).finish()
            workers = workers._replace(number=number)
        return score_in_processes(config, sinks, feed, inputs, workers)


def score_in_processes(
    config: ScoreConfig, sinks: Sinks, feed: DividedFeed, inputs: ScoringInputs, workers: Workers
) -> ScoringResult:
    """Score the blocks of a feed in several processes, or on the nodes of a cluster."""
    assert sinks.lines is not None
    wanted = Wanted(
        results=sinks.lines.results is not None,
        records=sinks.on_record is not None,
        verdicts=sinks.on_verdict is not None,
        open_items=sinks.on_open is not None,
        views=sinks.on_case is not None,
        sub_blocks=sinks.on_sub_block is not None,
    )
    blocks = list(feed.plan.blocks(inputs.cases))
    works = (
        BlockWork(block, part_of(inputs, block, inputs.source.between(block.first, block.end)))
        for block in blocks
    )
    joined = JoinedBlocks(config, sinks, feed, inputs)
    context = BlockContext(config, workers.size, wanted, feed.is_checked)
    with _pool(workers, context, feed.tasks, sinks.judge_runner) as pool:
        found = pool.results(works, lambda work: work.cases.place)
        for block, result in zip(blocks, found, strict=True):
            joined.add(result)
            sinks.progress(block.end, inputs.cases)
    return joined.finish()


def _pool(
    workers: Workers,
    context: BlockContext,
    tasks: Collection[str],
    judge_runner: JudgeRunner | None,
) -> ProcessPool[BlockWork, BlockResult] | RayPool[BlockWork, BlockResult]:
    """What computes blocks: processes of this machine, or the nodes of a cluster."""
    if workers.cluster is not None:
        from callscore.evaluate.cluster_blocks import ray_pool

        return ray_pool(workers, context, tasks, judge_runner)
    from callscore.processes.pool import ProcessPool  # slow to import

    assert workers.number is not None
    return ProcessPool(workers.number, open_block_scorer, context, workers.method)


def part_of(inputs: ScoringInputs, block: CaseBlock, source: ReplySource) -> ScoringInputs:
    """The inputs of one block, whose replies `source` has."""
    first, end = block.first, block.end
    given, labels = inputs.given, inputs.labels
    if given.lines is not None:
        given = msgspec.structs.replace(given, lines=given.lines.between(first, end), unused=0)
    if labels.lines is not None:
        labels = msgspec.structs.replace(labels, lines=labels.lines.between(first, end), unused=0)
    return ScoringInputs(source, inputs.cases, given, labels)


class JoinedBlocks:
    """Adds blocks in their order, and writes their lines."""

    def __init__(
        self,
        config: ScoreConfig,
        sinks: Sinks,
        feed: DividedFeed,
        inputs: ScoringInputs,
        size: BlockSize = BLOCK,
    ) -> None:
        self._sinks, self._feed, self._inputs = sinks, feed, inputs
        self._tasks = tasks_for(config)
        for task in feed.tasks:  # forked processes then have them: 1 to 2 % less CPU in two
            if suite_of(task) is not None:
                self._tasks[task]
        self._scorer = new_scorer(config, inputs, sinks)
        self._floors = DataFloors(config.catalog.formula, inputs.cases)
        self._sums = BlockSums(size)
        self._views = msgspec.json.Decoder(CaseView)

    def add(self, block: BlockResult) -> None:
        """Add the next block."""
        self._sums.join(block.sums)
        self._add_rest(block)

    def add_sub_block(self, sub_block: BlockResult, cases: int) -> None:
        """Add the next part of a block, with its number of cases."""
        self._sums.join_sub_block(sub_block.sums, cases)
        self._add_rest(sub_block)

    def _add_rest(self, block: BlockResult) -> None:
        self._write(block)
        self._feed.join(block.content, block.contradictions)
        for line in block.floors:
            loaded = load_case(line, self._tasks, checked=True)
            self._floors.count(loaded.task, loaded.reference)
        self._inputs.given.unused += block.unused_verdicts
        self._inputs.labels.unused += block.unused_labels
        self._scorer.substitutes.join(block.substitutes)
        if block.judged is not None and self._sinks.judge_runner is not None:
            self._sinks.judge_runner.join(block.judged)
        answered_by = identities_of(self._inputs.source)
        if block.answered_by is not None and answered_by is not None:
            answered_by.join(block.answered_by)

    def take_views(self, block: BlockResult) -> Iterator[CaseView]:
        """The cases of a block; `add` does not pass them on again."""
        lines, block.views = block.views.splitlines(), b""
        yield from map(self._views.decode, lines)

    def _write(self, block: BlockResult) -> None:
        sinks = self._sinks
        assert sinks.lines is not None
        for write, lines in zip(
            sinks.lines, (block.results, block.records, block.verdicts), strict=True
        ):
            if write is not None and lines:
                write(lines)
        if sinks.on_open is not None:
            for item in block.open_items:
                sinks.on_open(item)
        if sinks.on_case is not None:
            for view in self.take_views(block):
                sinks.on_case(view)
        if sinks.on_sub_block is not None:
            for sub_block in block.sub_blocks:
                sinks.on_sub_block(sub_block)

    def finish(self) -> ScoringResult:
        """The result of all blocks."""
        return scoring_result(
            self._feed,
            self._inputs,
            self._sums.finish(),
            self._floors,
            self._scorer.substitutes,
        )


def identities_of(source: ReplySource) -> ModelIdentities | None:
    """The names under which the models of a source replied; files do not have them."""
    found = getattr(source, "answered_by", None)
    return found if isinstance(found, ModelIdentities) else None


def open_block_scorer(context: BlockContext) -> Callable[[BlockWork], BlockResult]:
    """A function that scores one block after another; judge and embedder are opened once."""
    config = context.config
    judge_runner: JudgeRunner | None = None
    if config.is_judged:
        from callscore.evaluate.judge_setup import open_judge_runner

        # Never closed: it ends with the process.
        judge_runner = ExitStack().enter_context(open_judge_runner(config))
    if context.judged_by is not None and context.judged_by != judged_by(judge_runner):
        raise UsageError("has another judge or embedder; expected the same on every machine")
    tasks = tasks_for(config, context.names)

    def score(work: BlockWork) -> BlockResult:
        reader = BlockReader(
            config,
            tasks,
            work.cases,
            work.sources,
            is_checked=context.is_checked,
            keeps_content=context.wanted.views,
        )
        lines = BlockLines(context.wanted)
        with closing(work.inputs):
            scoring = BlockPass(context, lines.sinks(judge_runner), reader, work)
            return scoring.finish_block(lines)

    return score


def judged_by(judge_runner: JudgeRunner | None) -> Sequence[str | None]:
    """What identifies the judge and the embedder of a machine."""
    if judge_runner is None:
        return []
    embedder = judge_runner.embedder
    return [judge_runner.judge_signature, embedder.signature if embedder is not None else None]


class BlockLines:
    """What a block writes, in memory."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.results, self.records, self.verdicts = LineBuffer(), LineBuffer(), LineBuffer()
        self.views = bytearray()
        self.open_items: list[OpenItem] = []
        self.sub_blocks: list[KeptSubBlock] = []
        self._encoder = msgspec.json.Encoder()

    def sinks(self, judge_runner: JudgeRunner | None) -> Sinks:
        """The sinks of a pass over the block."""
        wanted = self._wanted
        return Sinks(
            self.results if wanted.results else lambda result: None,
            self.records if wanted.records else None,
            (lambda given: self.verdicts(to_file_record(given))) if wanted.verdicts else None,
            on_open=self.open_items.append if wanted.open_items else None,
            judge_runner=judge_runner,
            on_case=self._add_view if wanted.views else None,
            on_sub_block=self.sub_blocks.append if wanted.sub_blocks else None,
        )

    def _add_view(self, view: CaseView) -> None:
        self._encoder.encode_into(view, self.views, -1)
        self.views += b"\n"


class BlockPass(CasePass):
    """A pass over the cases of one block."""

    def __init__(
        self, context: BlockContext, sinks: Sinks, reader: BlockReader, work: BlockWork
    ) -> None:
        config, inputs = context.config, work.inputs
        self._reader = reader
        self._due = DataFloors(config.catalog.formula, inputs.cases, work.cases.seen)
        self._floor_lines: list[Line] = []
        super().__init__(config, sinks, reader, inputs, context.size)

    def count_floor(self, indexed: IndexedCase) -> None:
        """Keep the line of a case that the floors count."""
        if self._due.is_due(indexed.loaded.task.name):
            self._floor_lines.append(indexed.line)

    def finish_block(self, lines: BlockLines) -> BlockResult:
        """Score all cases of the block."""
        self.score_all()
        runner = self._judge_runner
        return BlockResult(
            sums=self._scorer.finish(),
            content=self._reader.content,
            floors=self._floor_lines,
            contradictions=self._reader.found,
            unused_verdicts=self._inputs.given.unused,
            unused_labels=self._inputs.labels.unused,
            substitutes=self._scorer.substitutes.counts,
            judged=runner.take_block() if runner is not None else None,
            answered_by=identities_of(self._inputs.source),
            results=lines.results.take(),
            records=lines.records.take(),
            verdicts=lines.verdicts.take(),
            open_items=lines.open_items,
            views=bytes(lines.views),
            sub_blocks=lines.sub_blocks,
        )
