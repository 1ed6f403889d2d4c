"""Scores a run: each case when all its replies have arrived, the rest at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from callscore.app import open_sinks
from callscore.core.case import Failed
from callscore.core.judging import Embedder, Similarity
from callscore.core.run import ModelSpec, Stopping
from callscore.core.scorecard import Scorecard
from callscore.engine.limits import SharedLimits
from callscore.engine.loop import Shutdown
from callscore.evaluate.block_scoring import Workers, score_in_processes
from callscore.evaluate.case_steps import MeasuredCase
from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scorecards import joint_scorecard, scorecard
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import ScoringResult, index_inputs, open_pass
from callscore.runner.cases import CaseFiles, CasePrompt, CasesToScore, CaseStream
from callscore.runner.prepare import PreparedRun, ScoredParts
from callscore.runner.replies import RunReplies

if TYPE_CHECKING:
    from callscore.runner.race_observations import DrawnCalls, ObservedCall
    from callscore.runner.scoring_process import ScoringProcess

SCORED_TOGETHER = 16
"""Replies that are scored before control returns to the event loop."""


class ScoringJob(NamedTuple):
    """What the scoring of every source shares."""

    prepared: PreparedRun
    replies: RunReplies
    cases: Iterator[CasePrompt]
    """All cases of the run, read while they are requested."""
    sinks: Sinks
    judge_runner: JudgeRunner | None
    calls: JudgeCalls | None
    """The requests of judge and embedder."""
    stack: ExitStack
    """Closes the files that are opened."""
    process: ScoringProcess | None = None
    """Scores the replies, if this process does not."""

    def sinks_of_calls(self) -> Sinks:
        """The sinks of case files, with the judge."""
        options = self.prepared.options
        return msgspec.structs.replace(
            self.sinks,
            judge_runner=self.judge_runner,
            on_case=options.on_case,
            on_sub_block=options.on_sub_block,
        )


class ScoringPart(Protocol):
    """Scores the replies to the cases of one source."""

    judge_is_noted: bool
    """Whether its scorecard has the notes on the judge."""

    async def score_complete_cases(self) -> None:
        """Score cases when all their replies have arrived; `finish` scores the rest."""
        ...

    async def judge(self, judge_runner: JudgeRunner) -> None:
        """Ask the judge everything that is open; returns when all replies are judged."""
        ...

    async def observe(
        self, drawn: DrawnCalls, judge_runner: JudgeRunner | None
    ) -> Mapping[tuple[str, str], ObservedCall]:
        """By model and call, what a race reads; `finish` scores the calls again with the others."""
        ...

    def finish(self) -> ScoringResult:
        """Everything added up; writes results, records, verdicts and open items."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Notes on what was written; complete after `finish`."""
        ...


class CaseScoring:
    """Scores the cases of case files, each on its own."""

    judge_is_noted = True
    notes: Sequence[str] = ()

    def __init__(self, files: CaseFiles, job: ScoringJob) -> None:
        config = job.prepared.config.scoring
        config.check()
        self._replies, self._calls = job.replies, job.calls
        self._repeats = job.prepared.config.repeats
        feed = CasesToScore(files, job.cases)
        size = job.prepared.options.workers.size
        self._pass = open_pass(config, job.sinks_of_calls(), job.replies, feed, size)
        job.stack.callback(self._pass.close)

    async def score_complete_cases(self) -> None:
        """Score the next cases as their replies arrive; returns when all have arrived."""
        together = max(1, SCORED_TOGETHER // (len(self._replies.models) or 1))
        while (case_id := self._pass.next_id) is not None:
            if not await self._replies.complete(case_id, together) or self._replies.all_in.is_set():
                return
            self._pass.advance(self._replies.is_complete, together)
            await asyncio.sleep(0)

    async def judge(self, judge_runner: JudgeRunner) -> None:
        """Judge and score cases when all their replies have arrived."""
        await self._pass.judge_all(judge_runner, self._wait_until_judgeable)

    async def _wait_until_judgeable(self, case_id: str) -> None:
        """Wait for the replies; a judge that computes in this process waits for all of them."""
        await asyncio.sleep(0)
        if self._calls is not None and self._calls.clients:
            await self._replies.complete(case_id)
        else:
            await self._replies.all_in.wait()

    async def observe(
        self, drawn: DrawnCalls, judge_runner: JudgeRunner | None
    ) -> Mapping[tuple[str, str], ObservedCall]:
        """Every case of the calls, measured on its own."""
        from callscore.runner.race_observations import observe_cases  # loaded only for a race

        models = {
            call: [model for model, of_model in drawn.calls.items() if call in of_model]
            for call in drawn.prompts
        }
        cases = [(call, prompt) for call, of_call in drawn.prompts.items() for prompt in of_call]
        measured = await asyncio.gather(
            *(self._measure(prompt, models[call], judge_runner) for call, prompt in cases)
        )
        by_case = {
            prompt.case.id: found for (_, prompt), found in zip(cases, measured, strict=True)
        }
        return {
            (model, call): observe_cases(
                [
                    (prompt.case.task, by_case[prompt.case.id].replies.get(model, ()))
                    for prompt in drawn.prompts[call]
                ],
                self._repeats,
                drawn.gates,
            )
            for model, of_model in drawn.calls.items()
            for call in of_model
        }

    async def _measure(
        self, prompt: CasePrompt, models: Sequence[str], judge_runner: JudgeRunner | None
    ) -> MeasuredCase:
        assert prompt.indexed is not None  # of a case file
        replies = {model: self._replies.of_model(model, prompt.case.id) for model in models}
        answered = {model: runs for model, runs in replies.items() if runs}
        return await self._pass.measure_case(prompt.indexed, answered, judge_runner)

    def finish(self) -> ScoringResult:
        """Score the remaining cases."""
        return self._pass.finish()


class BlockScoring:
    """Scores the case files of a stored run in several processes, which read its store."""

    judge_is_noted = True
    notes: Sequence[str] = ()

    def __init__(self, files: CaseFiles, job: ScoringJob, workers: Workers) -> None:
        self._config = job.prepared.config.scoring
        self._config.check()
        self._feed = CasesToScore(files, job.cases)
        self._sinks = job.sinks_of_calls()
        self._inputs = index_inputs(self._config, self._feed, job.judge_runner, job.replies)
        # A fork would share the open database with this process.
        self._workers = workers._replace(method="spawn")

    async def score_complete_cases(self) -> None:
        """Nothing: all replies are stored, and `finish` scores them."""

    async def judge(self, judge_runner: JudgeRunner) -> None:
        """Nothing: the processes judge what they score."""

    async def observe(
        self, drawn: DrawnCalls, judge_runner: JudgeRunner | None
    ) -> Mapping[tuple[str, str], ObservedCall]:
        """Nothing: a race reads replies as they arrive, in one process."""
        return {}

    def finish(self) -> ScoringResult:
        """Score all cases."""
        feed, inputs, workers = self._feed, self._inputs, self._workers
        with closing(inputs):
            return score_in_processes(self._config, self._sinks, feed, inputs, workers)


class RunScoring:
    """The scoring of a run; its files are written only if it ends without an error."""

    def __init__(
        self,
        prepared: PreparedRun,
        replies: RunReplies,
        calls: JudgeCalls | None,
        cases: CaseStream,
        process: ScoringProcess | None = None,
    ) -> None:
        self.calls = calls
        """The requests of judge and embedder; None if the config has neither."""
        self.replies = replies
        self._prepared = prepared
        # The process that scores reads the cases itself.
        self._cases: Iterator[CasePrompt] = cases.reader() if process is None else iter(())
        self._process = process
        self._stack = ExitStack()

    def __enter__(self) -> RunScoring:
        prepared = self._prepared
        sinks = self._stack.enter_context(open_sinks(prepared.options.targets))
        self._judge_runner: JudgeRunner | None = None
        if self.calls is not None:
            judging = open_judge_runner(prepared.config.scoring, self.calls)
            self._judge_runner = self._stack.enter_context(judging)
            if self.calls.clients:
                self.calls.check()
        self.embedder = self._judge_runner.embedder if self._judge_runner is not None else None
        is_local = not isinstance(prepared.config.scoring.embedder, ModelSpec)
        if self._judge_runner is not None and self.embedder is not None and is_local:
            self._judge_runner.embedder = DeferredEmbedder(self.embedder, self.replies.all_in)
        job = ScoringJob(
            prepared,
            self.replies,
            self._cases,
            sinks,
            self._judge_runner,
            self.calls,
            self._stack,
            self._process,
        )
        self.parts = [source.open_scoring(job) for source in prepared.sources]
        """In the order of the sources of the run."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    async def follow(self, stop: Shutdown, limits: SharedLimits | None = None) -> bool:
        """Judge and score replies as they arrive; False if an interrupt left some unjudged.

        Without a judge, returns when all replies have arrived; `card` scores the rest.
        """
        calls, judge_runner = self.calls, self._judge_runner
        if calls is None or judge_runner is None:
            for part in self.parts:
                await part.score_complete_cases()
            return True
        calls.begin(stop, limits)
        return await run_until_stopped(self._judge(judge_runner), calls, stop)

    async def _judge(self, judge_runner: JudgeRunner) -> None:
        for part in self.parts:
            await part.judge(judge_runner)

    def card(self) -> Scorecard:
        """The scorecard of all sources."""
        results = [part.finish() for part in self.parts]
        for result in results:
            if self._prepared.options.on_scoring_result is not None:
                self._prepared.options.on_scoring_result(result)
        config = self._prepared.config.scoring
        cards = [*map(self._card_of, self.parts, results)]
        if self._prepared.options.on_scored is not None:
            self._prepared.options.on_scored(ScoredParts(results, cards, self._judge_runner))
        card = joint_scorecard(config, cards)
        answered_by = self.replies.answered_by
        models = [
            msgspec.structs.replace(model, answered_by=answered_by.identity(model.model))
            for model in card.models
        ]
        return msgspec.structs.replace(card, models=models)

    def _card_of(self, part: ScoringPart, result: ScoringResult) -> Scorecard:
        if self._process is not None:
            from callscore.runner.scoring_process import make_card

            return make_card(self._process, result)
        judge_runner = self._judge_runner if part.judge_is_noted else None
        return scorecard(self._prepared.config.scoring, result, judge_runner)

    def notes(self) -> list[str]:
        """Notes on the models; complete when everything is scored."""
        notes = [*self._prepared.notes, *self.replies.answered_by.notes()]
        notes += [note for part in self.parts for note in part.notes]
        if self._judge_runner is not None and not any(part.judge_is_noted for part in self.parts):
            notes += self._judge_runner.answered_by.notes()
        return notes


async def run_until_stopped(
    judging: Coroutine[Any, Any, None], calls: JudgeCalls, stop: Shutdown
) -> bool:
    """Judge to the end; after an interrupt, wait for the requests in flight and keep their
    replies.
    """
    work = asyncio.create_task(judging)
    others = [asyncio.create_task(stop.wait())]
    try:
        await asyncio.wait((work, *others), return_when=asyncio.FIRST_COMPLETED)
        ended = work.done()
        if not ended:
            patience_s = stop.patience_s(calls.billing.options)
            calls.emit_progress()
            calls.billing.on_event(Stopping(len(calls.client.sending), patience_s))
            grace = stop.grace(patience_s)
            others += [asyncio.create_task(calls.idle()), asyncio.create_task(grace)]
            await asyncio.wait((work, *others[1:]), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (work, *others):
            task.cancel()
        await asyncio.gather(work, *others, return_exceptions=True)
    calls.emit_progress()
    if not work.cancelled():
        work.result()
    return ended


class DeferredEmbedder:
    """Defers comparing sentences until all replies have arrived, as computing delays them."""

    def __init__(self, embedder: Embedder, all_in: asyncio.Event) -> None:
        self._embedder, self._all_in = embedder, all_in

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self._embedder.name

    @property
    def signature(self) -> str:
        """The signature of the embedder."""
        return self._embedder.signature

    def reads(self, lang: str | None) -> bool:
        """Whether the embedder supports this language."""
        return self._embedder.reads(lang)

    @property
    def substitute(self) -> Callable[[str, str | None], str | None] | None:
        """Names what compares a reference instead of LaBSE or mUSE, if the embedder can    C-68"""
        return getattr(self._embedder, "substitute", None)

    @property
    def forget(self) -> Callable[[], None] | None:
        """Drops the vectors of the embedder, if it keeps them."""
        return getattr(self._embedder, "forget", None)

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """The similarities of the embedder."""
        await self._all_in.wait()
        return await self._embedder.similarities(pairs, lang)
