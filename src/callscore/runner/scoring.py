"""Scores a run: each case when all its replies have arrived, the rest at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.app import open_sinks
from callscore.core.case import Failed
from callscore.core.judging import Embedder, Similarity
from callscore.core.run import ModelSpec, Stopping
from callscore.core.scorecard import Scorecard
from callscore.engine.limits import SharedLimits
from callscore.engine.loop import Shutdown
from callscore.evaluate.case_steps import MeasuredCase
from callscore.evaluate.cases import IndexedCase
from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.reply_source import CaseReplies
from callscore.evaluate.scorecards import joint_scorecard
from callscore.evaluate.scoring_pass import ScoringPass, ScoringResult
from callscore.runner.cases import CasePrompt, CasesToScore
from callscore.runner.prepare import PreparedRun
from callscore.runner.replies import RunReplies

if TYPE_CHECKING:
    from callscore.runner.scenarios import ScenarioScoring

SCORED_TOGETHER = 16
"""Replies that are scored before control returns to the event loop."""


class RunScoring:
    """The scoring of a run; its files are written only if it ends without an error."""

    def __init__(
        self,
        prepared: PreparedRun,
        replies: RunReplies,
        calls: JudgeCalls | None,
        cases: Iterator[CasePrompt],
    ) -> None:
        self.calls = calls
        """The requests of judge and embedder; None if the config has neither."""
        self.replies = replies
        self._prepared = prepared
        self._cases = cases
        self._stack = ExitStack()

    def __enter__(self) -> RunScoring:
        config, files = self._prepared.config, self._prepared.case_files
        self._sinks = self._stack.enter_context(open_sinks(self._prepared.options.targets))
        self._pass: ScoringPass | None = None
        self._scenarios: ScenarioScoring | None = None
        self._judge_runner: JudgeRunner | None = None
        if self.calls is not None:
            judging = open_judge_runner(config.scoring, self.calls)
            self._judge_runner = self._stack.enter_context(judging)
            self.calls.check()
        self.embedder = self._judge_runner.embedder if self._judge_runner is not None else None
        self._defer_embedder()
        if files is not None:
            config.scoring.check()
            sinks = msgspec.structs.replace(
                self._sinks, judge_runner=self._judge_runner, on_case=self._prepared.options.on_case
            )
            feed = CasesToScore(files, self._cases)
            self._pass = ScoringPass(config.scoring, sinks, self.replies, feed)
            self._stack.callback(self._pass.close)
        if self._prepared.scenarios is not None:
            from callscore.runner.scenarios import ScenarioScoring

            self._scenarios = ScenarioScoring(
                self._prepared, self.replies, self._sinks, self._stack
            )
        return self

    def _defer_embedder(self) -> None:
        judge_runner, config = self._judge_runner, self._prepared.config.scoring
        if (
            judge_runner is None
            or judge_runner.embedder is None
            or isinstance(config.embedder, ModelSpec)
        ):
            return
        judge_runner.embedder = DeferredEmbedder(judge_runner.embedder, self.replies.all_in)

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
            await self._score_complete_cases()
            return True
        calls.begin(stop, limits)
        return await run_until_stopped(self._judge(judge_runner), calls, stop)

    async def _score_complete_cases(self) -> None:
        together = max(1, SCORED_TOGETHER // (len(self.replies.models) or 1))
        while self._pass is not None and (case_id := self._pass.next_id) is not None:
            if not await self.replies.complete(case_id, together) or self.replies.all_in.is_set():
                return
            self._pass.advance(self.replies.is_complete, together)
            await asyncio.sleep(0)

    async def _judge(self, judge_runner: JudgeRunner) -> None:
        """Judge cases when all their replies have arrived, scenarios at the end."""
        if self._pass is not None:
            await self._pass.judge_all(judge_runner, self._wait_until_judgeable)
        if self._scenarios is not None and judge_runner.judge is not None:
            await self.replies.all_in.wait()
            await self._scenarios.judge(judge_runner)

    async def _wait_until_judgeable(self, case_id: str) -> None:
        """Wait for the replies; a judge that computes in this process waits for all of them."""
        await asyncio.sleep(0)
        if self.calls is not None and self.calls.clients:
            await self.replies.complete(case_id)
        else:
            await self.replies.all_in.wait()

    async def measure_case(
        self, indexed: IndexedCase, answers: CaseReplies, judge_runner: JudgeRunner | None
    ) -> MeasuredCase:
        """Measure one case on its own, for a race; `card` scores it again with the others."""
        assert self._pass is not None  # a race has case files
        return await self._pass.measure_case(indexed, answers, judge_runner)

    async def scenario_scores(
        self, scenarios: Mapping[str, Sequence[str]], judge_runner: JudgeRunner | None
    ) -> Mapping[tuple[str, str], Sequence[float | None]]:
        """By model and scenario, its score in each language, for a race."""
        assert self._scenarios is not None  # the race is about scenarios
        return await self._scenarios.scores_of(scenarios, judge_runner)

    def card(self) -> Scorecard | None:
        """The scorecard of cases and scenarios, if the run has some."""
        results: list[ScoringResult] = []
        if self._pass is not None:
            results.append(self._pass.finish())
        if self._scenarios is not None:
            results.append(self._scenarios.tallies())
        if not results:
            return None
        for result in results:
            if self._prepared.options.on_scoring_result is not None:
                self._prepared.options.on_scoring_result(result)
        card = joint_scorecard(self._prepared.config.scoring, results, self._judge_runner)
        answered_by = self.replies.answered_by
        models = [
            msgspec.structs.replace(model, answered_by=answered_by.identity(model.model))
            for model in card.models
        ]
        return msgspec.structs.replace(card, models=models)

    def notes(self) -> list[str]:
        """Notes on the models; complete when everything is scored."""
        notes = [*self._prepared.notes, *self.replies.answered_by.notes()]
        if self._scenarios is not None:
            notes += self._scenarios.notes
        if self._pass is None and self._judge_runner is not None:
            notes += self._judge_runner.answered_by.notes()  # else the card has them
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

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        """The similarities of the embedder."""
        await self._all_in.wait()
        return await self._embedder.similarities(pairs, lang)
