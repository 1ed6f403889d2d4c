"""The run: workers pull work when there is room, and keep every paid answer before it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from callscore.core.case import Failed, Reply
from callscore.core.errors import OutputError, StoreError
from callscore.core.run import (
    CachedReply,
    Completed,
    Item,
    Ledger,
    OnEvent,
    RunStatus,
    RunSummary,
    Stopping,
    Work,
)
from callscore.engine.model_queue import ModelQueue
from callscore.engine.plan import EngineOptions, Workload
from callscore.engine.retry import RetryingClient, stopped
from callscore.engine.shared_limits import SharedLimits
from callscore.engine.shutdown import Shutdown

Settled = Reply | Failed | None


async def generate(
    plan: Workload,
    ledger: Ledger,
    on_event: OnEvent,
    stop: Shutdown,
    commons: SharedLimits | None = None,
) -> RunSummary:
    """Carry out a plan. Raises only what ends a run: no place to keep answers, or bad data.

    The budget is that of the plan, unless something is shared with others.
    """
    plan.check()
    commons = commons or SharedLimits.of(plan.options)
    attempt_s = plan.options.attempt_s
    lanes = [
        ModelQueue(planned, commons.pause(planned.spec), attempt_s)
        for planned in plan.models.values()
    ]
    asker = RetryingClient(plan.options, commons.budget, stop, on_event)
    run = _Run(plan.options, ledger, asker, on_event, stop)
    await run.carry_out(lanes)
    await ledger.settle()
    run.tell_progress(lanes)
    return RunSummary(_status(lanes, stop), {lane.spec.name: lane.summary() for lane in lanes})


def _status(lanes: Sequence[ModelQueue], stop: Shutdown) -> RunStatus:
    if stop.asked and any(lane.summary().not_run for lane in lanes):
        return "interrupted"
    return "budget" if any(lane.out_of_budget for lane in lanes) else "complete"


class _Run:
    def __init__(
        self,
        options: EngineOptions,
        ledger: Ledger,
        asker: RetryingClient,
        on_event: OnEvent,
        stop: Shutdown,
    ) -> None:
        self._options = options
        self._ledger = ledger
        self._asker = asker
        self._on_event = on_event
        self._stop = stop
        self._asked: dict[bytes, tuple[ModelQueue, asyncio.Future[Settled]]] = {}
        """Who is asking under a key, and what will come of it."""

    async def carry_out(self, lanes: Sequence[ModelQueue]) -> None:
        """As many workers a model as calls may be under way; they are the only queue."""
        workers = [
            asyncio.create_task(self._work(lane))
            for lane in lanes
            for _ in range(min(lane.spec.limits.concurrency, lane.total))
        ]
        minders = [
            asyncio.create_task(self._stop_when_asked(workers, lanes)),
            asyncio.create_task(self._tell_now_and_then(lanes)),
        ]
        try:
            await self._until_done(workers)
        finally:
            for task in (*workers, *minders):
                task.cancel()
            await asyncio.gather(*workers, *minders, return_exceptions=True)

    async def _until_done(self, workers: Sequence[asyncio.Task[None]]) -> None:
        if not workers:
            return
        done, others = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        error = next((e for task in done if not task.cancelled() and (e := task.exception())), None)
        if error is None:
            return
        if others and (isinstance(error, OutputError) or not isinstance(error, StoreError)):
            # What is already paid for is still kept.
            if not self._stop.asked:
                self._stop.ask()
            await asyncio.wait(others)
        raise error

    async def _stop_when_asked(
        self, workers: Sequence[asyncio.Task[None]], lanes: Sequence[ModelQueue]
    ) -> None:
        await self._stop.wait()
        for task in workers:
            if task not in self._asker.sending:
                task.cancel()
        patience_s = self._stop.patience_s(self._options)
        self.tell_progress(lanes)
        self._on_event(Stopping(len(self._asker.sending), patience_s))
        await self._stop.grace(patience_s)
        for task in workers:
            task.cancel()

    async def _work(self, lane: ModelQueue) -> None:
        while not self._stop.asked:
            work = next(lane.work, None)
            if work is None:
                return
            await self._settle(lane, work)
            self._asker.sending.discard(asyncio.current_task())

    async def _settle(self, lane: ModelQueue, work: Work) -> None:
        key = work.call.key
        stored = self._ledger.stored(key)
        if stored is not None:
            await self._note(lane, Completed(work, stored.reply, cached=True))
        elif key in self._asked:
            # The same request is under way: it is paid for once, and answers both.
            asking, under_way = self._asked[key]
            answer = await asyncio.shield(under_way)
            if isinstance(answer, Failed) and asking.spec.account != lane.spec.account:
                # A key that is refused says nothing about another key.
                await self._settle(lane, work)
            elif answer is not None:
                await self._note(lane, Completed(work, answer, cached=True))
        elif lane.stopped is not None:
            await self._note(lane, Completed(work, stopped(lane)))
        elif not lane.out_of_budget:
            await self._ask(lane, work)
        else:
            await asyncio.sleep(0)

    async def _ask(self, lane: ModelQueue, work: Work) -> None:
        key = work.call.key
        settled: asyncio.Future[Settled] = asyncio.get_running_loop().create_future()
        self._asked[key] = lane, settled
        answer: Settled = None
        try:
            patience_s = self._options.attempt_s + self._options.case_s
            found = await self._ledger.claim(key, patience_s, lane.most_usd(work.call))
            if found is not None:
                answer = found.reply
                await self._note(lane, Completed(work, answer, cached=True))
            else:
                answer = await self._paid(lane, work)
        finally:
            self._ledger.release(key)
            del self._asked[key]
            settled.set_result(answer)

    async def _paid(self, lane: ModelQueue, work: Work) -> Settled:
        """What a request that nobody else has under way comes to."""
        result = await self._asker.ask(lane, work)
        if isinstance(result, CachedReply):
            await self._ledger.keep(_item(work, paid=True), result)
            self._tell(lane, Completed(work, result.reply, attempts=result.attempts))
            return result.reply
        if result is not None:
            await self._note(lane, Completed(work, result))
        return result

    async def _note(self, lane: ModelQueue, outcome: Completed) -> None:
        """Settle work that cost nothing, and let others have their turn."""
        error = outcome.answer.why if isinstance(outcome.answer, Failed) else None
        await self._ledger.note(_item(outcome.work, error=error))
        self._tell(lane, outcome)
        await asyncio.sleep(0)

    def _tell(self, lane: ModelQueue, outcome: Completed) -> None:
        lane.count(outcome, self._options.give_up_after)
        self._on_event(outcome)

    def tell_progress(self, lanes: Sequence[ModelQueue]) -> None:
        """How far every model is."""
        now = asyncio.get_running_loop().time()
        for lane in lanes:
            self._on_event(lane.progress(now))

    async def _tell_now_and_then(self, lanes: Sequence[ModelQueue]) -> None:
        while True:
            self.tell_progress(lanes)
            await asyncio.sleep(self._options.progress_s)


def _item(work: Work, *, error: str | None = None, paid: bool = False) -> Item:
    return Item(work.case_id, work.model, work.run, work.task, work.call.key, error, paid)
