"""One call until it is answered, fails for good, or is left for another day."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from random import Random

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.errors import CallscoreError
from callscore.core.provider import (
    STOPS_THE_MODEL,
    Answered,
    AttemptFailed,
    FailureKind,
    ProviderRequest,
)
from callscore.core.run import CachedReply, OnEvent, Retry, Uncertain, Work
from callscore.engine.backoff import SHARED, jittered, told_to_wait, wait_after
from callscore.engine.budget import Budget
from callscore.engine.deadlines import Deadlines
from callscore.engine.model_queue import ModelQueue
from callscore.engine.plan import EngineOptions
from callscore.engine.shutdown import Shutdown

MAY_BE_BILLED: frozenset[FailureKind] = frozenset({"timeout", "unreadable"})
"""Attempts that the provider may have carried out, although no answer was had."""


class RetryingClient:
    """Makes attempts within limits, budget and deadlines."""

    def __init__(
        self, options: EngineOptions, budget: Budget, stop: Shutdown, on_event: OnEvent
    ) -> None:
        self._options = options
        self._stop = stop
        self._on_event = on_event
        self._budget = budget
        self._rng = Random(options.seed)
        self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines(options.attempt_s)
        self.sending: set[asyncio.Task[None] | None] = set()
        """Tasks with a call in the air, or with an answer that is not yet durable."""

    async def ask(self, lane: ModelQueue, work: Work) -> CachedReply | Failed | None:
        """The paid answer, or why there is none; None where the work is left for a later run."""
        try:
            return await self._ask(lane, work)
        except CallscoreError:
            raise
        except Exception as error:
            # A fault of an adapter. Its text might hold anything, so it is not quoted.
            kind = type(error).__name__
            return Failed("model", f"the adapter of {lane.spec.provider} failed: {kind}")

    async def _ask(self, lane: ModelQueue, work: Work) -> CachedReply | Failed | None:
        deadline = None
        failures: Counter[bool] = Counter()
        for attempt in count(1):
            result = await self._send(lane, work.call, again=attempt > 1)
            if result is None or isinstance(result, Failed):
                return result
            if isinstance(result, Reply):
                return CachedReply(work.call.key, result, attempt)
            now = self._loop.time()
            deadline = deadline or now + self._options.case_s
            shared = result.kind in SHARED
            failures[shared] += 1
            wait = wait_after(result, failures[shared], self._options, self._rng)
            if wait is not None and now + wait > deadline:
                wait = None
            self._on_event(Retry(work, result, attempt, wait))
            if wait is None:
                return Failed("model", _why(result))
            if self._stop.asked:
                return None
            await asyncio.sleep(wait)
        return None

    async def _send(
        self, lane: ModelQueue, call: ProviderRequest, *, again: bool
    ) -> Reply | AttemptFailed | Failed | None:
        tokens = unused = call.input_tokens + call.max_output_tokens
        if not await lane.gate.enter(tokens, again=again):
            return stopped(lane)
        sent = self._loop.time()
        try:
            if self._stop.asked:
                return None
            result = await self._paid_attempt(lane, call)
            if isinstance(result, Answered):
                self._heed_answer(lane, result, sent)
                unused = _unused(tokens, result.reply)
                return result.reply
            if isinstance(result, AttemptFailed):
                self._on_failure(lane, result, sent)
            return result
        finally:
            lane.gate.leave(unused)

    async def _paid_attempt(
        self, lane: ModelQueue, call: ProviderRequest
    ) -> Answered | AttemptFailed | None:
        """One attempt with its money set aside; None where the budget does not hold it."""
        most = lane.most_usd(call)
        if not await self._budget.reserve(most):
            lane.out_of_budget = True
            return None
        task = asyncio.current_task()
        self.sending.add(task)
        spent = uncertain = most
        began = self._loop.time()
        try:
            result = await self._attempt(lane, call)
            if isinstance(result, Answered):
                cost = lane.cost_usd(result.reply)
                spent, uncertain = most if cost is None else cost, 0.0
                latency_ms = (self._loop.time() - began) * 1000
                reply = msgspec.structs.replace(result.reply, cost_usd=cost, latency_ms=latency_ms)
                lane.count_paid(reply)
                return msgspec.structs.replace(result, reply=reply)
            if result.kind not in MAY_BE_BILLED:
                spent = uncertain = 0.0
            self.sending.discard(task)
            return result
        finally:
            self._budget.settle(most, spent)
            lane.count_attempt(uncertain)
            if uncertain:
                self._on_event(Uncertain(lane.spec.name, uncertain))

    async def _attempt(self, lane: ModelQueue, call: ProviderRequest) -> Answered | AttemptFailed:
        try:
            return await self._deadlines.within(lane.provider.attempt(call))
        except TimeoutError:
            seconds = self._options.attempt_s
            return AttemptFailed("timeout", f"no complete answer within {seconds:g} s")

    def _heed_answer(self, lane: ModelQueue, answered: Answered, sent: float) -> None:
        lane.gate.concurrency.answered(sent, self._loop.time())
        lane.gate.pause.answered(sent)
        seconds = answered.reset_s
        if seconds is None or not _nothing_left(answered):
            return
        self._pause(lane, min(seconds, self._options.retry_after_cap_s), sent)

    def _on_failure(self, lane: ModelQueue, failure: AttemptFailed, sent: float) -> None:
        if failure.kind in STOPS_THE_MODEL:
            lane.stop(_why(failure))
        if failure.kind == "timeout":
            # Whoever answers too late is asked for too much at once, as with a 429.
            lane.count_timeout()
            lane.gate.concurrency.timed_out()
        if failure.kind not in SHARED:
            return
        lane.gate.concurrency.refused()
        pause = lane.gate.pause
        told = told_to_wait(failure, self._options)
        if told is not None:
            self._pause(lane, told, sent)
        elif not pause.left_s(self._loop.time()):
            self._pause(lane, jittered(pause.streak + 1, self._options, self._rng), sent)

    def _pause(self, lane: ModelQueue, seconds: float, sent: float) -> None:
        lane.gate.pause.hold(seconds, self._loop.time(), sent)


def stopped(lane: ModelQueue) -> Failed:
    """What becomes of the work of a model that was stopped."""
    return Failed("model", f"stopped: {lane.stopped}")


def _nothing_left(answered: Answered) -> bool:
    quotas = (answered.requests_left, answered.tokens_left)
    return any(left is not None and left <= 0 for left in quotas)


def _unused(tokens: int, reply: Reply) -> int:
    """What a call did not use of its tokens; nothing where the provider does not say."""
    if reply.input_tokens is None or reply.output_tokens is None:
        return 0
    return tokens - reply.input_tokens - reply.output_tokens


def _why(failure: AttemptFailed) -> str:
    return f"{failure.kind}: {failure.message}"
