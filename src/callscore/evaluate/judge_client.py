"""Requests to judging models: from the cache if possible, else within limits and budget."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.provider import AttemptFailed, Provider, ProviderRequest, ProviderResponse
from callscore.core.run import (
    CachedReply,
    Completed,
    Event,
    ModelSpec,
    ModelSummary,
    OnEvent,
    Retry,
    Work,
    ignore_event,
)
from callscore.engine.limits import SharedLimits
from callscore.engine.loop import Shutdown
from callscore.engine.retry import RetryingClient, stop_failure
from callscore.engine.workload import EngineOptions, ModelQueue, PlannedModel, Workload
from callscore.evaluate.model_identity import ModelIdentities
from callscore.store.protocol import StoredReplies

TASK = "judge"
INTERRUPTED = "interrupted"

AttemptResult = ProviderResponse | AttemptFailed


class Billing(msgspec.Struct, frozen=True):
    """The run that judging is charged to, with its budget and its events."""

    options: EngineOptions = EngineOptions()
    run_id: int | None = None
    on_event: OnEvent = ignore_event
    sends: bool = True
    """False: only cached replies are used."""


class JudgeCalls:
    """Sends the requests of all judges of a job; a cached reply is never requested again."""

    def __init__(self, cache: StoredReplies | None, billing: Billing | None = None) -> None:
        self.cache = cache
        self.billing = billing or Billing()
        self.clients: list[JudgeClient] = []
        self.in_flight: dict[bytes, tuple[ModelQueue, asyncio.Future[AttemptResult]]] = {}
        self.given_up: dict[bytes, AttemptFailed] = {}
        self._uncounted: set[bytes] = set()
        """Keys of requests that this run has sent earlier (in a race, or before an interrupt), and
        that no judge has counted yet."""
        self.answered_by = ModelIdentities()
        self.shared_limits = self.billing.options.shared_limits()
        self._client: RetryingClient | None = None

    def add_judge(self, spec: ModelSpec, provider: Provider) -> JudgeClient:
        """Add a judge; returns its client."""
        from callscore.providers.addresses import is_local_server
        from callscore.providers.prices import price_for  # imports every provider

        price = spec.price if spec.price is not None else price_for(spec)
        named = msgspec.structs.replace(spec, name=f"{spec.name} (judge)", price=price)
        self.answered_by.expect(named.name, spec.model)
        is_local = spec.base_url is not None and is_local_server(spec.base_url)
        planned = PlannedModel(named, provider, (), 0, is_local=is_local)
        self.clients.append(JudgeClient(self, planned))
        return self.clients[-1]

    def check(self) -> None:
        """Refuse a budget that cannot be enforced, before the first request."""
        Workload(
            {s.planned.spec.name: s.planned for s in self.clients}, self.billing.options
        ).check()

    def begin(self, stop: Shutdown, shared_limits: SharedLimits | None = None) -> RetryingClient:
        """Start in the running loop; budget and pauses may be shared with the models."""
        self.shared_limits = shared_limits or self.billing.options.shared_limits()
        if self.cache is not None and self.billing.run_id is not None:
            self._uncounted = self.cache.judge_keys(self.billing.run_id)
        self._client = RetryingClient(
            self.billing.options, self.shared_limits.budget, stop, self._on_event_of_request
        )
        return self._client

    @property
    def client(self) -> RetryingClient:
        """The client; created with the first request."""
        return self._client or self.begin(Shutdown())

    def count_once(self, key: bytes) -> bool:
        """Whether a stored reply counts as sent in this run; a second time it does not."""
        is_new = key in self._uncounted
        self._uncounted.discard(key)
        return is_new

    async def idle(self) -> None:
        """Return when no request is in flight and every reply is durable."""
        if self._client is not None:
            await self._client.sending.wait_until_empty()

    def emit_progress(self) -> None:
        """Emit the progress of every judge that was asked."""
        now = asyncio.get_running_loop().time()
        for client in self.clients:
            client.emit_progress(now)

    def summaries(self) -> Mapping[str, ModelSummary]:
        """The number of requests and the cost of each judge that was asked."""
        return {
            queue.spec.name: queue.summary()
            for client in self.clients
            if (queue := client.queue) is not None
        }

    @property
    def out_of_budget(self) -> bool:
        """Whether a request was not sent because it would have exceeded the budget."""
        return any(
            client.queue is not None and client.queue.out_of_budget for client in self.clients
        )

    def _on_event_of_request(self, event: Event) -> None:
        if isinstance(event, Retry) and event.wait_s is None:
            self.given_up[event.work.request.key] = event.failure
        self.billing.on_event(event)


class JudgeClient:
    """The requests of one judge."""

    def __init__(self, calls: JudgeCalls, planned: PlannedModel) -> None:
        self._calls = calls
        self.planned = planned
        self.queue: ModelQueue | None = None
        self._look_again = 0.0
        """When progress is emitted next."""

    async def send(self, provider: Provider, call: ProviderRequest) -> AttemptResult:
        """The cached reply to this request, else a new one, cached before it is used."""
        if self.queue is None:
            limits, attempt_s = self._calls.shared_limits, self._calls.billing.options.attempt_s
            self.queue = ModelQueue(self.planned, limits, attempt_s)
        queue, cache, in_flight = self.queue, self._calls.cache, self._calls.in_flight
        queue.total += 1
        stored = cache.find_reply(call.key) if cache is not None else None
        work = Work("", queue.spec.name, 0, call, TASK)
        if stored is not None:
            self._emit(Completed(work, stored.reply, cached=True))
            return ProviderResponse(stored.reply, is_stored=not self._calls.count_once(call.key))
        if call.key in in_flight:
            # Two models gave the same reply: one request judges both.
            asking, future = in_flight[call.key]
            settled = await asyncio.shield(future)
            if isinstance(settled, ProviderResponse):
                self._emit(Completed(work, settled.reply, cached=True))
                return ProviderResponse(settled.reply, is_stored=True)
            if asking.spec.account != queue.spec.account:
                # An API key that is refused says nothing about another one.
                queue.total -= 1
                return await self.send(provider, call)
            return settled
        future = asyncio.get_running_loop().create_future()
        in_flight[call.key] = queue, future
        settled = AttemptFailed("not_sent", INTERRUPTED)
        try:
            settled = await self._send_new(queue, work)
        finally:
            del in_flight[call.key]
            future.set_result(settled)
        return settled

    async def _send_new(self, queue: ModelQueue, work: Work) -> AttemptResult:
        calls, why_not = self._calls, self._why_not(queue)
        if why_not:
            return AttemptFailed("not_sent", why_not)
        cache, key = calls.cache, work.request.key
        try:
            kept = await self._claim(queue, work) if cache is not None else None
            if kept is not None:
                self._emit(Completed(work, kept.reply, cached=True))
                return ProviderResponse(kept.reply, is_stored=True)
            found = await calls.client.send(queue, work)
            if isinstance(found, CachedReply) and cache is not None:
                found = await cache.keep_judge_reply(found, calls.billing.run_id)
        finally:
            if cache is not None:
                cache.release(key)
            calls.client.sending.discard(asyncio.current_task())
        if found is None:
            return AttemptFailed("not_sent", self._why_not(queue) or INTERRUPTED)
        if isinstance(found, Failed):
            self._emit(Completed(work, found))
            return calls.given_up.pop(work.request.key, AttemptFailed("not_sent", found.why))
        self._emit(Completed(work, found.reply, attempts=found.attempts))
        return ProviderResponse(found.reply)

    async def _claim(self, queue: ModelQueue, work: Work) -> CachedReply | None:
        """Lock the request; if another process has it in flight, wait for its reply."""
        assert self._calls.cache is not None  # checked by the caller
        options, call = self._calls.billing.options, work.request
        patience_s = options.attempt_s + options.case_s
        found = await self._calls.cache.claim(call.key, patience_s, queue.most_usd(call))
        return None if isinstance(found, Failed) else found  # no judge is asked in a batch

    def _why_not(self, queue: ModelQueue) -> str:
        """Why nothing more is sent to this judge; empty if requests may be sent."""
        if not self._calls.billing.sends:
            return "a run that is scored again sends no requests"
        if queue.out_of_budget:
            return "the budget does not allow the next request"
        return stop_failure(queue).why if queue.stop_reason is not None else ""

    def _emit(self, outcome: Completed) -> None:
        assert self.queue is not None  # set by the first request
        billing = self._calls.billing
        if isinstance(outcome.answer, Reply):
            reply = outcome.answer
            self._calls.answered_by.count(self.planned.spec.name, reply.model, reply.asked_as)
        self.queue.count(outcome, billing.options.give_up_after)
        billing.on_event(outcome)
        now = asyncio.get_running_loop().time()
        if now >= self._look_again:
            self.emit_progress(now)

    def emit_progress(self, now: float) -> None:
        """Emit the progress of this judge, if it was asked; not for every request."""
        billing = self._calls.billing
        self._look_again = now + billing.options.progress_s
        if self.queue is not None:
            billing.on_event(self.queue.progress(now))
