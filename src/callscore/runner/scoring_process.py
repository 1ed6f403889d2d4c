"""Scores a run in a process of its own, so that scoring does not slow down sending.

The process receives the replies to a sub-block of cases when all of them are durable, and reads the
cases itself. Sub-blocks join in the order of the files (`core/blocks.py`), so the result has the
same bytes as that of one process. At the end it makes the scorecard: it has loaded numpy while
requests were in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from callscore.core.blocks import BlockSize
from callscore.core.scorecard import Scorecard
from callscore.evaluate.block_scoring import (
    BlockContext,
    BlockResult,
    BlockWork,
    JoinedBlocks,
    Wanted,
    open_block_scorer,
    part_of,
)
from callscore.evaluate.reply_source import RepliesInMemory
from callscore.evaluate.scorecards import scorecard
from callscore.evaluate.scoring_pass import ScoringResult, index_inputs
from callscore.processes.cores import usable_cores
from callscore.runner.cases import CaseFiles, CasesToScore
from callscore.runner.prepare import PreparedRun

if TYPE_CHECKING:
    from callscore.evaluate.judging import JudgeRunner
    from callscore.processes.pool import ProcessPool
    from callscore.runner.race_observations import DrawnCalls, ObservedCall
    from callscore.runner.scoring import ScoringJob

    ScoringProcess = ProcessPool[BlockWork | ScoringResult, BlockResult | Scorecard]

FEW_REPLIES = 1_000
"""Below, this process scores: the other one would be ready when nearly everything is scored."""
CHECKED_TOGETHER = 16
"""Replies that arrive before the scoring looks for complete cases, and cases that are passed on
before control returns to the event loop."""


def scoring_process(prepared: PreparedRun) -> ScoringProcess | None:
    """A process that scores the replies of a run, not yet started; None if this one scores them.

    Judges need the event loop, and a race reads replies as they arrive. The process is forked, so
    it must be started before the store is opened and before there are threads. Where that is
    impossible, starting it costs more than it saves.
    """
    config, options = prepared.config, prepared.options
    if (
        len(prepared.survey.ids) * len(prepared.models) * config.repeats < FEW_REPLIES
        or usable_cores() == 1
        or config.scoring.is_judged
        or config.scoring.allow_bad_cases
        or options.race
        or not all(isinstance(source, CaseFiles) for source in prepared.sources)
    ):
        return None
    from callscore.processes.pool import ProcessPool, start_method

    if start_method() != "fork":
        return None
    wanted = Wanted(
        results=options.targets.results is not None,
        records=options.targets.records is not None,
        verdicts=options.targets.save_verdicts is not None,
        open_items=options.targets.open_items is not None,
        views=options.on_case is not None,
        sub_blocks=options.on_sub_block is not None,
    )
    size = BlockSize(options.workers.size.sub_block, 1)
    context = BlockContext(config.scoring, size, wanted, is_checked=True)
    return ProcessPool(1, open_run_scorer, context)


def open_run_scorer(
    context: BlockContext,
) -> Callable[[BlockWork | ScoringResult], BlockResult | Scorecard]:
    """A function that scores sub-blocks, and makes the scorecard of their result."""
    score = open_block_scorer(context)
    if context.config.intervals:
        # Before the last reply arrives: loading it takes as long as the intervals of 1,000 calls.
        import numpy  # noqa: F401

    def work(given: BlockWork | ScoringResult) -> BlockResult | Scorecard:
        if isinstance(given, BlockWork):
            return score(given)
        return scorecard(context.config, given, None)

    return work


class SubBlockScoring:
    """Scores the cases of case files in another process, a sub-block at a time."""

    judge_is_noted = True
    notes: Sequence[str] = ()

    def __init__(self, files: CaseFiles, job: ScoringJob, process: ScoringProcess) -> None:
        config = job.prepared.config.scoring
        config.check()
        self._replies, self._process = job.replies, process
        self._ids = files.ids
        self._size = job.prepared.options.workers.size
        self._sinks = job.sinks_of_calls()
        feed = CasesToScore(files, job.cases)
        self._inputs = index_inputs(config, feed, None, job.replies)
        job.stack.callback(self._inputs.close)
        self._joined = JoinedBlocks(config, self._sinks, feed, self._inputs, self._size)
        self._blocks = list(feed.plan.blocks(self._inputs.cases))
        self._done = 0
        """Sub-blocks that are scored."""
        self._thread = ThreadPoolExecutor(1, "scoring")
        job.stack.callback(self._thread.shutdown)

    async def score_complete_cases(self) -> None:
        """Score the next cases as their replies arrive; returns when all have arrived."""
        loop = asyncio.get_running_loop()
        while self._done < len(self._blocks):
            if not await self._all_replies_arrive():
                return
            # The thread waits for the process; nothing else waits for the thread.
            work = self._work(self._done)
            result = await loop.run_in_executor(self._thread, self._score, work)
            await self._pass_on_cases(result)
            self._join(result)

    async def _pass_on_cases(self, result: BlockResult) -> None:
        """Pass on the cases of a sub-block: 256 at once would hold up the loop for 13 ms."""
        if self._sinks.on_case is None:
            return
        for number, view in enumerate(self._joined.take_views(result), 1):
            self._sinks.on_case(view)
            if number % CHECKED_TOGETHER == 0:
                await asyncio.sleep(0)

    async def _all_replies_arrive(self) -> bool:
        """Wait for every reply to the next sub-block; False if `finish` must score it."""
        together = max(1, CHECKED_TOGETHER // (len(self._replies.models) or 1))
        ids = self._ids_of(self._done)
        at = 0
        while at < len(ids):
            complete = await self._replies.complete(ids[at], min(together, len(ids) - at))
            if not complete or self._replies.all_in.is_set():
                return False
            while at < len(ids) and self._replies.is_complete(ids[at]):
                at += 1
        return True

    def _ids_of(self, number: int) -> Sequence[str]:
        size = self._size.sub_block
        return self._ids[number * size : (number + 1) * size]

    def _work(self, number: int) -> BlockWork:
        """A sub-block with its replies, which are not needed here any more."""
        block, replies = self._blocks[number], self._replies
        found = {case_id: replies.of_case(case_id) for case_id in self._ids_of(number)}
        source = RepliesInMemory(replies.models, replies.labels, found)
        return BlockWork(block, part_of(self._inputs, block, source))

    def _score(self, work: BlockWork) -> BlockResult:
        (result,) = self._process.results([work], _place)
        assert isinstance(result, BlockResult)
        return result

    def _join(self, result: BlockResult) -> None:
        block, cases = self._blocks[self._done], len(self._ids_of(self._done))
        self._joined.add_sub_block(result, cases)
        self._done += 1
        self._sinks.progress(block.end, self._inputs.cases)

    async def judge(self, judge_runner: JudgeRunner) -> None:
        """Nothing: there is no judge."""

    async def observe(
        self, drawn: DrawnCalls, judge_runner: JudgeRunner | None
    ) -> Mapping[tuple[str, str], ObservedCall]:
        """Nothing: a race reads replies as they arrive, in one process."""
        return {}

    def finish(self) -> ScoringResult:
        """Score the remaining cases."""
        works = map(self._work, range(self._done, len(self._blocks)))
        for result in self._process.results(works, _place):
            assert isinstance(result, BlockResult)
            self._join(result)
        return self._joined.finish()


def make_card(process: ScoringProcess, result: ScoringResult) -> Scorecard:
    """The scorecard of all sub-blocks."""
    (card,) = process.results([result], _place)
    assert isinstance(card, Scorecard)
    return card


def _place(work: BlockWork | ScoringResult) -> str:
    return work.cases.place if isinstance(work, BlockWork) else "the scorecard"
