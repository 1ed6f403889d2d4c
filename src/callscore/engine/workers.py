"""The run: workers pull work when there is capacity, and store every paid reply before using it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from callscore.core.case import Failed, Reply
from callscore.core.errors import OutputError, StoreError
from callscore.core.run import (
    CachedReply,
    Completed,
    Ledger,
    OnEvent,
    RunItem,
    RunStatus,
    RunSummary,
    Stopping,
    Work,
)
from callscore.engine.limits import SharedLimits
from callscore.engine.loop import Shutdown
from callscore.engine.retry import RetryingClient, stop_failure
from callscore.engine.workload import EngineOptions, ModelQueue, Workload

Result = Reply | Failed | None


async def generate(
    plan: Workload,
    ledger: Ledger,
    on_event: OnEvent,
    stop: Shutdown,
    shared_limits: SharedLimits | None = None,
) -> RunSummary:
    """Carry out a workload. Raises only what ends a run: the store fails, or the data is invalid.

    The budget is that of the options, unless limits are shared.
    """
    plan.check()
    shared_limits = shared_limits or plan.options.shared_limits()
    attempt_s = plan.options.attempt_s
    queues = [ModelQueue(planned, shared_limits, attempt_s) for planned in plan.models.values()]
    client = RetryingClient(plan.options, shared_limits.budget, stop, on_event)
    run = _Run(plan.options, ledger, client, on_event, stop)
    await run.carry_out(queues)
    await ledger.settle()
    run.emit_progress(queues)
    return RunSummary(_status(queues, stop), {queue.spec.name: queue.summary() for queue in queues})


def _status(queues: Sequence[ModelQueue], stop: Shutdown) -> RunStatus:
    if stop.requested and any(queue.summary().not_run for queue in queues):
        return "interrupted"
    return "budget" if any(queue.out_of_budget for queue in queues) else "complete"


class _Run:
    def __init__(
        self,
        options: EngineOptions,
        ledger: Ledger,
        client: RetryingClient,
        on_event: OnEvent,
        stop: Shutdown,
    ) -> None:
        self._options = options
        self._ledger = ledger
        self._client = client
        self._on_event = on_event
        self._stop = stop
        self._in_flight: dict[bytes, tuple[ModelQueue, asyncio.Future[Result]]] = {}
        """The requests in flight by key, with their future results."""

    async def carry_out(self, queues: Sequence[ModelQueue]) -> None:
        """Run one worker per concurrent request; there is no other queue."""
        workers = [
            asyncio.create_task(self._work(queue))
            for queue in queues
            for _ in range(min(queue.spec.limits.concurrency, queue.total))
        ]
        watchers = [
            asyncio.create_task(self._stop_on_request(workers, queues)),
            asyncio.create_task(self._emit_periodically(queues)),
        ]
        try:
            await self._until_done(workers)
        finally:
            for task in (*workers, *watchers):
                task.cancel()
            await asyncio.gather(*workers, *watchers, return_exceptions=True)

    async def _until_done(self, workers: Sequence[asyncio.Task[None]]) -> None:
        if not workers:
            return
        done, others = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        error = next((e for task in done if not task.cancelled() and (e := task.exception())), None)
        if error is None:
            return
        if others and (isinstance(error, OutputError) or not isinstance(error, StoreError)):
            # Replies that are already paid for are still stored.
            if not self._stop.requested:
                self._stop.request()
            await asyncio.wait(others)
        raise error

    async def _stop_on_request(
        self, workers: Sequence[asyncio.Task[None]], queues: Sequence[ModelQueue]
    ) -> None:
        await self._stop.wait()
        for task in workers:
            if task not in self._client.sending:
                task.cancel()
        patience_s = self._stop.patience_s(self._options)
        self.emit_progress(queues)
        self._on_event(Stopping(len(self._client.sending), patience_s))
        await self._stop.grace(patience_s)
        for task in workers:
            task.cancel()

    async def _work(self, queue: ModelQueue) -> None:
        while not self._stop.requested:
            work = next(queue.work, None)
            if work is None:
                if await queue.refill():
                    continue
                return
            await self._settle(queue, work)
            self._client.sending.discard(asyncio.current_task())

    async def _settle(self, queue: ModelQueue, work: Work) -> None:
        key = work.request.key
        stored = self._ledger.find_reply(key)
        if stored is not None:
            await self._note(queue, Completed(work, stored.reply, cached=True))
        elif key in self._in_flight:
            # The same request is in flight: it is sent once and answers both.
            sender, in_flight = self._in_flight[key]
            answer = await asyncio.shield(in_flight)
            if isinstance(answer, Failed) and sender.spec.account != queue.spec.account:
                # A rejected key says nothing about another key.
                await self._settle(queue, work)
            elif answer is not None:
                await self._note(queue, Completed(work, answer, cached=True))
        elif queue.stop_reason is not None:
            await self._note(queue, Completed(work, stop_failure(queue)))
        elif not queue.out_of_budget:
            await self._send(queue, work)
        else:
            await asyncio.sleep(0)

    async def _send(self, queue: ModelQueue, work: Work) -> None:
        key = work.request.key
        settled: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = queue, settled
        answer: Result = None
        try:
            patience_s = self._options.attempt_s + self._options.case_s
            found = await self._ledger.claim(key, patience_s, queue.most_usd(work.request))
            if isinstance(found, Failed):
                answer = found
                await self._note(queue, Completed(work, answer))
            elif found is not None:
                answer = found.reply
                await self._note(queue, Completed(work, answer, cached=True))
            else:
                answer = await self._send_and_store(queue, work)
        finally:
            self._ledger.release(key)
            del self._in_flight[key]
            settled.set_result(answer)

    async def _send_and_store(self, queue: ModelQueue, work: Work) -> Result:
        """Send a request, and store its result."""
        result = await self._client.send(queue, work)
        if isinstance(result, CachedReply):
            # The slot is held until the reply is durable: a worker that sent meanwhile would
            # double what a kill makes us pay again.
            await self._ledger.keep(_item(work, paid=True), result)
            self._emit(queue, Completed(work, result.reply, attempts=result.attempts))
            return result.reply
        if result is not None:
            await self._note(queue, Completed(work, result))
        return result

    async def _note(self, queue: ModelQueue, outcome: Completed) -> None:
        """Record work that cost nothing, and yield to other tasks."""
        error = outcome.answer.why if isinstance(outcome.answer, Failed) else None
        await self._ledger.note(_item(outcome.work, error=error))
        self._emit(queue, outcome)
        await asyncio.sleep(0)

    def _emit(self, queue: ModelQueue, outcome: Completed) -> None:
        queue.count(outcome, self._options.give_up_after)
        self._on_event(outcome)

    def emit_progress(self, queues: Sequence[ModelQueue]) -> None:
        """Emit the progress of every model."""
        now = asyncio.get_running_loop().time()
        for queue in queues:
            self._on_event(queue.progress(now))

    async def _emit_periodically(self, queues: Sequence[ModelQueue]) -> None:
        while True:
            self.emit_progress(queues)
            await asyncio.sleep(self._options.progress_s)


def _item(work: Work, *, error: str | None = None, paid: bool = False) -> RunItem:
    return RunItem(work.case_id, work.model, work.run, work.task, work.request.key, error, paid)
