"""Sends one request until it is answered, fails for good, or is left for a later run.

First the client, then the waits between attempts, then the deadline of each attempt.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable
from itertools import count
from random import Random
from typing import TypeVar

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.errors import CallscoreError
from callscore.core.provider import (
    NEVER_REPEATED,
    STOPS_THE_MODEL,
    AttemptFailed,
    FailureKind,
    ProviderRequest,
    ProviderResponse,
)
from callscore.core.run import CachedReply, OnEvent, Retry, SpendingLimit, Uncertain, Work
from callscore.engine.loop import Shutdown
from callscore.engine.workload import EngineOptions, ModelQueue

T = TypeVar("T")
SHARED: frozenset[FailureKind] = frozenset({"rate_limited", "overloaded"})
"""Failures that concern every request with the same key: all of them wait."""
MAY_BE_BILLED: frozenset[FailureKind] = frozenset({"timeout", "unreadable"})
"""Failures after which the provider may still have processed the request."""


class InFlight:
    """Tasks with a request in flight, or with a reply that is not yet durable."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None] | None] = set()
        self._empty = asyncio.Event()

    def add(self, task: asyncio.Task[None] | None) -> None:
        """A task sends a request."""
        self._tasks.add(task)
        self._empty.clear()

    def discard(self, task: asyncio.Task[None] | None) -> None:
        """The request of a task has ended, and its reply, if any, is durable."""
        self._tasks.discard(task)
        if not self._tasks:
            self._empty.set()

    async def wait_until_empty(self) -> None:
        """Return when no task is left."""
        while self._tasks:
            await self._empty.wait()

    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)


class RetryingClient:
    """Sends requests within limits, budget and deadlines."""

    def __init__(
        self, options: EngineOptions, budget: SpendingLimit, stop: Shutdown, on_event: OnEvent
    ) -> None:
        self._options = options
        self._stop = stop
        self._on_event = on_event
        self._budget = budget
        self._rng = Random(options.seed)
        self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines(options.attempt_s)
        self.sending = InFlight()

    async def send(self, queue: ModelQueue, work: Work) -> CachedReply | Failed | None:
        """The paid reply, or why there is none; None if the work is left for a later run."""
        try:
            return await self._retry(queue, work)
        except CallscoreError:
            raise
        except Exception as error:
            # A bug in an adapter. Its message could contain anything, so it is not shown.
            kind = type(error).__name__
            return Failed("model", f"the adapter of {queue.spec.provider} failed: {kind}")

    async def _retry(self, queue: ModelQueue, work: Work) -> CachedReply | Failed | None:
        deadline = None
        failures: Counter[bool] = Counter()
        for attempt in count(1):
            result = await self._send(queue, work.request, again=attempt > 1)
            if result is None or isinstance(result, Failed):
                return result
            if isinstance(result, Reply):
                return CachedReply(work.request.key, result, attempt)
            now = self._loop.time()
            deadline = deadline or now + self._options.case_s
            shared = result.kind in SHARED
            failures[shared] += 1
            wait = retry_wait(result, failures[shared], self._options, self._rng)
            if wait is not None and now + wait > deadline:
                wait = None
            self._on_event(Retry(work, result, attempt, wait))
            if wait is None:
                return Failed("model", _reason(result))
            if self._stop.requested:
                return None
            await asyncio.sleep(wait)
        return None

    async def _send(
        self, queue: ModelQueue, request: ProviderRequest, *, again: bool
    ) -> Reply | AttemptFailed | Failed | None:
        tokens = unused = request.input_tokens + request.max_output_tokens
        if not await queue.limiter.acquire(tokens, again=again):
            return stop_failure(queue)
        sent = self._loop.time()
        try:
            if self._stop.requested:
                return None
            result = await self._paid_attempt(queue, request)
            if isinstance(result, ProviderResponse):
                self._on_answer(queue, result, sent)
                unused = _unused_tokens(tokens, result.reply)
                return result.reply
            if isinstance(result, AttemptFailed):
                self._on_failure(queue, result, sent)
            return result
        finally:
            queue.limiter.release(unused)

    async def _paid_attempt(
        self, queue: ModelQueue, request: ProviderRequest
    ) -> ProviderResponse | AttemptFailed | None:
        """One attempt with its cost reserved; None if the budget does not cover it."""
        most = queue.most_usd(request)
        if not await self._budget.reserve(most):
            queue.out_of_budget = True
            return None
        task = asyncio.current_task()
        self.sending.add(task)
        spent = uncertain = most
        began = time.perf_counter_ns()  # uvloop's clock has no fractions of a millisecond
        try:
            try:
                result = await self._deadlines.within(queue.provider.attempt(request))
            except TimeoutError:
                why = f"no complete answer within {self._options.attempt_s:g} s"
                result = AttemptFailed("timeout", why)
            if isinstance(result, ProviderResponse):
                cost = queue.cost_usd(result.reply)
                spent, uncertain = most if cost is None else cost, 0.0
                latency_ms = (time.perf_counter_ns() - began) / 1e6
                reply = msgspec.structs.replace(result.reply, cost_usd=cost, latency_ms=latency_ms)
                queue.count_paid(reply)
                return msgspec.structs.replace(result, reply=reply)
            if result.kind not in MAY_BE_BILLED:
                spent = uncertain = 0.0
            self.sending.discard(task)
            return result
        finally:
            self._budget.settle(most, spent)
            queue.count_attempt(uncertain)
            if uncertain:
                self._on_event(Uncertain(queue.spec.name, uncertain))

    def _on_answer(self, queue: ModelQueue, response: ProviderResponse, sent: float) -> None:
        queue.limiter.concurrency.count_reply(sent, self._loop.time())
        queue.limiter.pause.on_reply(sent)
        seconds = response.reset_s
        if seconds is None or not _is_exhausted(response):
            return
        self._pause(queue, min(seconds, self._options.retry_after_cap_s), sent)

    def _on_failure(self, queue: ModelQueue, failure: AttemptFailed, sent: float) -> None:
        if failure.kind in STOPS_THE_MODEL:
            queue.stop(_reason(failure))
        if failure.kind == "timeout":
            # A timeout is treated like a 429: the server gets too many requests at once.
            queue.count_timeout()
            queue.limiter.concurrency.count_timeout()
        if failure.kind not in SHARED:
            return
        queue.limiter.concurrency.count_refusal()
        pause = queue.limiter.pause
        wait = requested_wait(failure, self._options)
        if wait is not None:
            self._pause(queue, wait, sent)
        elif not pause.left_s(self._loop.time()):
            self._pause(queue, backoff_wait(pause.streak + 1, self._options, self._rng), sent)

    def _pause(self, queue: ModelQueue, seconds: float, sent: float) -> None:
        queue.limiter.extend_pause(seconds, sent)


STOPPED = "stopped: "
"""Begins the failure of work whose model gets no more requests."""


def stop_failure(queue: ModelQueue) -> Failed:
    """The result of work whose model gets no more requests."""
    return Failed("model", f"{STOPPED}{queue.stop_reason}")


def _is_exhausted(response: ProviderResponse) -> bool:
    """Whether the provider reports that a quota is used up."""
    quotas = (response.requests_left, response.tokens_left)
    return any(left is not None and left <= 0 for left in quotas)


def _unused_tokens(tokens: int, reply: Reply) -> int:
    """The reserved tokens that a request did not use; 0 if the provider does not say."""
    if reply.input_tokens is None or reply.output_tokens is None:
        return 0
    return tokens - reply.input_tokens - reply.output_tokens


def _reason(failure: AttemptFailed) -> str:
    return f"{failure.kind}: {failure.message}"


def backoff_wait(step: int, options: EngineOptions, rng: Random) -> float:
    """U(0, min(cap, first · 2^(step - 1))): full jitter"""
    # A float overflows beyond 2^1023; the cap is reached long before.
    ceiling = min(options.backoff_cap_s, options.backoff_first_s * 2.0 ** min(step - 1, 60))
    return rng.uniform(0.0, ceiling)


def requested_wait(failure: AttemptFailed, options: EngineOptions) -> float | None:
    """The wait that Retry-After demands, capped; None if there is none."""
    wait = failure.retry_after_s
    if wait is None or not wait > 0:
        return None
    return min(wait, options.retry_after_cap_s)


def retry_wait(
    failure: AttemptFailed, failures: int, options: EngineOptions, rng: Random
) -> float | None:
    """Seconds until the next attempt of this request; None if there is none.

    `failures` counts the failures of this request; rate-limit refusals are counted separately.
    """
    if failure.kind in NEVER_REPEATED:
        return None
    if failure.kind not in SHARED and failures >= options.max_attempts:
        return None
    wait = requested_wait(failure, options)
    return backoff_wait(failures, options, rng) if wait is None else wait


class Deadlines:
    """Cancels work that takes longer than a fixed number of seconds, with one timer for all of it:
    a timer per request costs more than the request.

    All attempts have the same time, so they expire in the order in which they began, and only the
    oldest needs a timer.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._due: dict[asyncio.Task[object], float] = {}
        """When each task expires, in order."""
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, work: Awaitable[T]) -> T:
        """The result of the work; raises TimeoutError if it takes too long."""
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        self._due[task] = self._loop.time() + self._seconds
        if self._timer is None:
            self._watch()
        try:
            return await work
        except asyncio.CancelledError:
            # If the task was also cancelled from outside, that cancellation wins.
            if task in self._late and task.cancelling() <= before + 1:
                raise TimeoutError from None
            raise
        finally:
            self._due.pop(task, None)
            if task in self._late:
                self._late.discard(task)
                task.uncancel()

    def _watch(self) -> None:
        """Cancel what is late; set the timer for the next one."""
        self._timer = None
        while self._due:
            task, due = next(iter(self._due.items()))
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self._watch)
                return
            del self._due[task]
            self._late.add(task)
            task.cancel()
