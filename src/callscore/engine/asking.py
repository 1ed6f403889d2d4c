"""One call until it is answered, fails for good, or is left for another day."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random

import msgspec

from callscore.core.calling import (
    STOPS_THE_MODEL,
    Answered,
    AttemptFailed,
    Call,
    FailureKind,
)
from callscore.core.case import Failed, Reply
from callscore.core.run_words import OnEvent, Retry, Stored, Work
from callscore.engine.backoff import SHARED, jittered, told_to_wait, wait_after
from callscore.engine.budget import Budget
from callscore.engine.lane import Lane
from callscore.engine.plan import EngineOptions
from callscore.engine.stopping import Stop

MAY_BE_BILLED: frozenset[FailureKind] = frozenset({"timeout", "unreadable"})
"""Attempts that the provider may have carried out, although no answer was had."""


class Asker:
    """Makes attempts within limits, budget and deadlines."""

    def __init__(self, options: EngineOptions, stop: Stop, on_event: OnEvent) -> None:
        self._options = options
        self._stop = stop
        self._on_event = on_event
        self._budget = Budget(options.budget_usd, options.already_spent_usd)
        self._rng = Random(options.seed)
        self._loop = asyncio.get_running_loop()
        self.sending: set[asyncio.Task[None] | None] = set()
        """Tasks with a call in the air, or with an answer that is not yet durable."""

    async def ask(self, lane: Lane, work: Work) -> Stored | Failed | None:
        """The paid answer, or why there is none; None where the work is left for a later run."""
        deadline = None
        counted = 0
        for attempt in count(1):
            result = await self._send(lane, work.call, again=attempt > 1)
            if result is None or isinstance(result, Failed):
                return result
            if isinstance(result, Reply):
                return Stored(work.call.key, result, attempt)
            now = self._loop.time()
            deadline = deadline or now + self._options.case_s
            counted += result.kind not in SHARED
            wait = wait_after(result, counted, self._options, self._rng)
            if wait is not None and now + max(wait, lane.gate.pause.left_s(now)) > deadline:
                wait = None
            self._on_event(Retry(work, result, attempt, wait))
            if wait is None:
                return Failed("model", _why(result))
            if self._stop.asked:
                return None
            if wait:
                await asyncio.sleep(wait)
        return None

    async def _send(
        self, lane: Lane, call: Call, *, again: bool
    ) -> Reply | AttemptFailed | Failed | None:
        tokens = unused = call.input_tokens + call.max_output_tokens
        ticket = await lane.gate.enter(tokens, again=again)
        if ticket is None:
            return stopped(lane)
        try:
            result = await self._paid_attempt(lane, call)
            if isinstance(result, Answered):
                self._heed_headers(lane, result, tokens)
                unused = _unused(tokens, result.reply)
                return result.reply
            if isinstance(result, AttemptFailed):
                self._heed_failure(lane, result, ticket)
            return result
        finally:
            lane.gate.leave(unused)

    async def _paid_attempt(self, lane: Lane, call: Call) -> Answered | AttemptFailed | None:
        """One attempt with its money set aside; None where the budget does not hold it."""
        most = lane.most_usd(call)
        if not await self._budget.reserve(most):
            lane.out_of_budget = True
            return None
        task = asyncio.current_task()
        self.sending.add(task)
        spent = uncertain = most
        try:
            result = await self._attempt(lane, call)
            if isinstance(result, Answered):
                cost = lane.cost_usd(result.reply)
                spent, uncertain = most if cost is None else cost, 0.0
                reply = msgspec.structs.replace(result.reply, cost_usd=cost)
                lane.count_paid(reply)
                return msgspec.structs.replace(result, reply=reply)
            if result.kind not in MAY_BE_BILLED:
                spent = uncertain = 0.0
            self.sending.discard(task)
            return result
        finally:
            self._budget.settle(most, spent)
            lane.count_attempt(uncertain)

    async def _attempt(self, lane: Lane, call: Call) -> Answered | AttemptFailed:
        seconds = self._options.attempt_s
        try:
            async with asyncio.timeout(seconds):
                return await lane.provider.attempt(call)
        except TimeoutError:
            return AttemptFailed("timeout", f"no complete answer within {seconds:g} s")

    def _heed_headers(self, lane: Lane, answered: Answered, tokens: int) -> None:
        lane.gate.concurrency.answered()
        lane.gate.pause.answered()
        if answered.reset_s is None:
            return
        left, tokens_left = answered.requests_left, answered.tokens_left
        if (left is not None and left <= 0) or (tokens_left is not None and tokens_left < tokens):
            seconds = min(max(answered.reset_s, 0.0), self._options.retry_after_cap_s)
            lane.gate.pause.hold(seconds, self._loop.time())

    def _heed_failure(self, lane: Lane, failure: AttemptFailed, ticket: int) -> None:
        if failure.kind in STOPS_THE_MODEL:
            lane.stop(_why(failure))
        if failure.kind not in SHARED:
            return
        lane.gate.refused(ticket)
        pause, now = lane.gate.pause, self._loop.time()
        told = told_to_wait(failure, self._options)
        if told is not None:
            pause.hold(told, now)
        elif not pause.left_s(now):
            pause.hold(jittered(pause.streak + 1, self._options, self._rng), now)


def stopped(lane: Lane) -> Failed:
    """What becomes of the work of a model that was stopped."""
    return Failed("model", f"stopped: {lane.stopped}")


def _unused(tokens: int, reply: Reply) -> int:
    """What a call did not use of its tokens; nothing where the provider does not say."""
    if reply.input_tokens is None or reply.output_tokens is None:
        return 0
    return tokens - reply.input_tokens - reply.output_tokens


def _why(failure: AttemptFailed) -> str:
    return f"{failure.kind}: {failure.message}"
