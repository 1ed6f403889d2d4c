"""Asks a model by its batch API: forms jobs of its work, and settles what comes back.

A request is in one job at most, and a job that may exist at the vendor is never created again.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.core.batch import (
    BatchItem,
    BatchJob,
    BatchLine,
    JobStore,
    batch_provider,
    live_spec,
)
from callscore.core.case import Failed, Reply
from callscore.core.provider import AttemptFailed, ProviderRequest
from callscore.core.run import (
    CachedReply,
    Completed,
    Event,
    Ledger,
    ModelSummary,
    OnEvent,
    Progress,
    RunItem,
    RunStatus,
    RunSummary,
    Stopping,
    Work,
)
from callscore.engine import batch_job
from callscore.engine.batch_job import STORED_AT_ONCE, Desk, JobResults, Left, OpenJob
from callscore.engine.batch_requests import NextJob, RequestBodies
from callscore.engine.limits import Budget, SharedLimits
from callscore.engine.loop import Shutdown
from callscore.engine.retry import MAY_BE_BILLED, stop_failure
from callscore.engine.workers import generate
from callscore.engine.workload import EngineOptions, ModelQueue, PlannedModel, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_JOBS = 3
"""How many jobs a request may be in (`then: batch`)."""
SOON_S = 0.5
"""Nothing is said about a shutdown before: jobs that are only awaited are left at once."""


class RunJobs(NamedTuple):
    """The jobs of a run, and where they are kept."""

    run_id: int
    store: JobStore


def worst_status(statuses: Sequence[RunStatus]) -> RunStatus:
    """How a run ended whose parts ended so."""
    order: Sequence[RunStatus] = ("interrupted", "budget", "unanswered", "complete")
    return min(statuses, key=order.index)


class Session(NamedTuple):
    """What all models of a run share."""

    options: EngineOptions
    ledger: Ledger
    jobs: RunJobs
    limits: SharedLimits
    on_event: OnEvent
    stop: Shutdown


class ModelBatches:
    """The jobs of one model in one session of a run."""

    def __init__(self, planned: PlannedModel, session: Session) -> None:
        self._provider = batch_provider(planned.provider)
        self._api = self._provider.batch_api
        self._spec = planned.spec
        self._planned = planned
        self._session = session
        self._ledger, self._jobs = session.ledger, session.jobs.store
        assert isinstance(session.limits.budget, Budget)  # a run with jobs is not shared
        self._stop, self._budget = session.stop, session.limits.budget
        self._queue = ModelQueue(planned, session.limits, session.options.attempt_s)
        self._open: dict[str, OpenJob] = {}
        """By token, the jobs of this session."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._also: dict[bytes, list[Work]] = {}
        """By key of a request that is pending or in a job, further work that it answers."""
        self._sendings: Counter[bytes] = Counter()
        self._to_send_live: list[BatchItem] = []
        self._most: int | None = None
        """The most requests of a job, and one job at a time, if the vendor queues few tokens."""
        self._all_read = asyncio.Event()
        """Set when all work was read: before, a request of an earlier session may lack its body."""
        self.ending = False

    async def carry_out(self) -> RunSummary:
        """Ask the model about all its work; what its jobs leave over is sent as `then` says."""
        with self._folder():
            await self._until_done(self._work())
            left = [self._live_work(item) for item in self._to_send_live]
        self.show_progress()
        self._queue.total -= len(left)
        summary = self._queue.summary()
        done = RunSummary(self._status(summary), {summary.model: summary})
        return await self._send_live(done, left) if left else done

    async def cancel(self) -> None:
        """Cancel the jobs of earlier sessions, and collect what they have finished."""
        self.ending = True
        with self._folder():
            await self._until_done(self._end_jobs())
        await self._ledger.settle()

    @contextmanager
    def _folder(self) -> Iterator[None]:
        """A private folder for requests and results: a job may be larger than the memory."""
        with TemporaryDirectory(prefix="callscore-") as name:
            folder = Path(name)
            session = self._session
            self._desk = Desk(
                self._api, self._jobs, self._budget, self._stop, session.on_event, folder
            )
            with (folder / "bodies").open("w+b") as file:
                self._bodies = RequestBodies(file)
                self._next = NextJob(self._api.limits, self._bodies)
                yield

    def _status(self, summary: ModelSummary) -> RunStatus:
        left = summary.not_run or self._to_send_live
        if left and (self._stop.requested or any(job.is_left for job in self._open.values())):
            return "interrupted"
        return "budget" if self._queue.out_of_budget else "complete"

    async def _send_live(self, done: RunSummary, left: Sequence[Work]) -> RunSummary:
        """Send what jobs have left over request by request, at the full price."""
        spec, session = live_spec(self._spec), self._session
        earlier = done.models[spec.name]

        def emit(event: Event) -> None:
            session.on_event(event.after(earlier) if isinstance(event, Progress) else event)

        planned = msgspec.structs.replace(self._planned, spec=spec, work=left, total=len(left))
        plan = Workload({spec.name: planned}, session.options)
        later = await generate(plan, self._ledger, emit, self._stop, session.limits)
        status = worst_status([done.status, later.status])
        return msgspec.structs.replace(done.merge(later), status=status)

    async def _until_done(self, main: Awaitable[None]) -> None:
        """Run to the end; after a shutdown request, only what is being sent is awaited."""
        working = asyncio.ensure_future(main)
        waiting = [asyncio.ensure_future(self._stop.wait())]
        try:
            await asyncio.wait((working, *waiting), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                patience_s = self._stop.patience_s(self._session.options)
                await asyncio.wait((working,), timeout=SOON_S)
                if not working.done():
                    self._session.on_event(Stopping(len(self._tasks), patience_s))
                waiting.append(asyncio.ensure_future(self._stop.grace(patience_s)))
                await asyncio.wait((working, waiting[1]), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            tasks = (working, *waiting, *self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self) -> None:
        await self._resume()
        try:
            with suppress(Left):
                await self._read_work()
        finally:
            self._all_read.set()
        await self._settle_jobs()

    async def _end_jobs(self) -> None:
        await self._resume()
        await self._settle_jobs()

    async def _settle_jobs(self) -> None:
        """Wait for all jobs; requests that go into another job follow."""
        while True:
            if self._next and not self._stop.requested:
                with suppress(Left):
                    await self._submit_rest()
            if not self._tasks:
                return
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            self._tasks -= done
            for task in done:
                task.result()

    async def _resume(self) -> None:
        """Go on with the jobs of earlier sessions."""
        for job in self._jobs.jobs(self._session.jobs.run_id, self._spec.name):
            unsent = self.ending or not self._api.has_files
            if job.state == "planned" or (job.state == "uploaded" and unsent):
                # nothing was asked: the work is planned again
                await self._api.remove_uploads(job)
                job = msgspec.structs.replace(job, state="collected")
                self._jobs.finish(job)
            items = self._jobs.items(job)
            if job.state != "collected":
                self._budget.take(job.reserved_usd)
            self._start(job, items)

    def _start(self, job: BatchJob, items: Sequence[BatchItem]) -> None:
        for item in items:
            self._also.setdefault(item.key, [])
            self._sendings[item.key] += 1
        opened = self._open[job.token] = OpenJob(job, items, self._desk, self)
        self._tasks.add(asyncio.create_task(opened.drive()))

    async def _read_work(self) -> None:
        held = {item.key: item for job in self._open.values() for item in job.items}
        for number, work in enumerate(self._queue.work):
            if self._stop.requested:
                raise Left
            item = held.get(work.request.key)
            if item is not None and (item.case_id, item.run) == (work.case_id, work.run):
                self._keep_body(work.request)  # its reply is counted when it is collected
            else:
                await self._add(work)
            if number % STORED_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _add(self, work: Work) -> None:
        """Settle a piece of work from the store, or put it into the next job."""
        key, most_usd = work.request.key, self._queue.most_usd(work.request)
        stored = self._ledger.find_reply(key)
        if stored is not None:
            await self._note(Completed(work, stored.reply, cached=True))
        elif key in self._also:
            request = msgspec.structs.replace(work.request, body=b"", prompt=None)
            self._also[key].append(msgspec.structs.replace(work, request=request))
        elif self._queue.stop_reason is not None:
            await self._note(Completed(work, stop_failure(self._queue)))
        elif await self._is_affordable(most_usd):
            self._keep_body(work.request)
            self._also[key] = []
            await self._put(BatchItem(work.case_id, work.run, work.task, key, most_usd))

    async def _is_affordable(self, most_usd: float) -> bool:
        """Whether the budget covers a request besides those of the next job.

        If not, that job goes first; the jobs in flight may turn out cheaper.
        """
        if self._budget.fits(self._next.usd + most_usd):
            return True
        if self._queue.out_of_budget:
            return False
        await self._submit_pending()
        return await self._wait_for_budget(most_usd)

    async def _wait_for_budget(self, most_usd: float) -> bool:
        """Wait while jobs in flight may turn out cheaper; False if the budget is spent."""
        tasks = [
            asyncio.ensure_future(self._budget.reserve(most_usd)),
            asyncio.ensure_future(self._stop.wait()),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        tasks[1].cancel()
        if not tasks[0].done():
            tasks[0].cancel()
            raise Left
        if not tasks[0].result():
            self._queue.out_of_budget = True
            return False
        self._budget.settle(most_usd, 0.0)  # reserved again with the whole job
        return True

    def _keep_body(self, request: ProviderRequest) -> None:
        self._bodies.keep(request, self._provider.batch_body(request))

    async def _put(self, item: BatchItem) -> None:
        """Put a request into the next job; a full job is submitted."""
        if not self._next.has_room(item):
            await self._submit_pending()
        self._next.add(item)

    async def _submit_rest(self) -> None:
        """Submit what goes into another job, as far as the budget covers it."""
        if self._budget.fits(self._next.usd) and self._queue.stop_reason is None:
            await self._submit_pending()
            return
        for item in self._next.take():
            if self._queue.stop_reason is not None:
                await self.settle(item, stop_failure(self._queue))
            elif await self._is_affordable(item.most_usd):
                await self._put(item)
        await self._submit_pending()

    async def _submit_pending(self) -> None:
        """Plan a job of the pending requests, and start it."""
        if self._most is not None and self._tasks:
            return  # another job must end first
        items = self._next.take(self._most)
        if not items:
            return
        now = batch_job.TIMING.now()
        job = BatchJob(
            token=secrets.token_hex(8),
            run_id=self._session.jobs.run_id,
            model=self._spec.name,
            state="planned",
            requests=len(items),
            reserved_usd=math.fsum(item.most_usd for item in items),
            planned_at=now,
            changed_at=now,
        )
        kept = self._jobs.plan(job, items)
        if len(kept) < len(items):
            reserved = math.fsum(item.most_usd for item in kept)
            job = msgspec.structs.replace(job, requests=len(kept), reserved_usd=reserved)
            self._jobs.write(job)
            await self._settle_held(items, {item.key for item in kept})
        if not kept:
            self._jobs.finish(msgspec.structs.replace(job, state="deleted"))
            return
        self._budget.take(job.reserved_usd)
        self._start(job, kept)

    async def _settle_held(self, items: Sequence[BatchItem], kept: set[bytes]) -> None:
        """Settle requests that another job or process has in flight, or has got answered."""
        for item in items:
            if item.key in kept:
                continue
            stored, holder = self._ledger.find_reply(item.key), self._jobs.holder(item.key)
            where = f"batch job {holder.token} of run {holder.run_id}" if holder else "a process"
            failed = Failed("model", f"in flight in {where}; resume later")
            await self.settle(item, failed if stored is None else stored.reply, cached=True)

    # What a job asks of its owner.

    def lines_of(self, job: BatchJob, items: Mapping[str, BatchItem]) -> Path:
        """A file with the requests of a job."""
        path = self._desk.folder / f"{job.token}.jsonl"
        with path.open("wb") as file:
            for custom_id, item in items.items():
                file.write(self._api.line(custom_id, self._bodies.read(item.key)) + b"\n")
        return path

    def stop_asking(self, why: str) -> None:
        """No further job can work."""
        self._queue.stop(why)

    def count_uncertain(self, usd: float) -> None:
        """An amount may still be billed."""
        self._queue.count_attempt(usd)

    def show_progress(self) -> None:
        """Emit the progress of the model."""
        progress = self._queue.progress(asyncio.get_running_loop().time())
        number = sum(job.in_flight for job in self._open.values())
        self._session.on_event(
            msgspec.structs.replace(progress, in_flight=number, concurrency=number)
        )

    async def store(self, item: BatchItem, line: BatchLine, results: JobResults) -> None:
        """Store the reply in a result, or add it to the failed ones."""
        stored = self._ledger.find_reply(item.key)
        if stored is not None:  # stored by a session that was killed before the end
            await self.settle(item, stored.reply, cached=True)
            return
        found = self._read(line)
        if isinstance(found, AttemptFailed):
            results.failed.append((item, found))
            if found.kind in MAY_BE_BILLED:
                results.uncertain_usd += item.most_usd
            return
        cost = self._queue.cost_usd(found)
        reply = msgspec.structs.replace(found, cost_usd=cost)
        results.spent_usd += item.most_usd if cost is None else cost
        work = self._work_of(item)
        await self._ledger.keep(_item(work, paid=True), CachedReply(item.key, reply))
        self._queue.count_attempt()
        self._queue.count_paid(reply)
        self._emit(Completed(work, reply, attempts=1))
        await self._settle_also(item.key, reply)

    def _read(self, line: BatchLine) -> Reply | AttemptFailed:
        found = self._provider.read_line(line)
        return found if isinstance(found, AttemptFailed) else found.reply

    async def settle(
        self, item: BatchItem, answer: Reply | Failed, *, cached: bool = False
    ) -> None:
        """A request has its final answer."""
        cached = cached and isinstance(answer, Reply)
        await self._note(Completed(self._work_of(item), answer, cached=cached))
        await self._settle_also(item.key, answer)

    async def _settle_also(self, key: bytes, answer: Reply | Failed) -> None:
        for work in self._also.pop(key, ()):
            await self._note(Completed(work, answer, cached=isinstance(answer, Reply)))

    async def ask_again(self, item: BatchItem) -> None:
        """A request was never sent: it goes into another job."""
        self._sendings[item.key] -= 1
        if await self._is_known(item):
            await self._put(item)
        elif not self._is_left_for_later:
            await self.settle(item, Failed("model", "its batch job was never created"))

    def shrink_jobs(self, requests: int) -> bool:
        """A job of this many requests was too large; False if no smaller one is possible."""
        if requests == 1:
            self._queue.stop("the vendor accepts not even a batch of one request")
            return False
        self._most = min(self._most or requests, requests // 2)
        return True

    async def _is_known(self, item: BatchItem) -> bool:
        """Whether the body of a request is known, so that it can be sent again."""
        if not self.ending:
            await self._all_read.wait()
        return item.key in self._bodies

    @property
    def _is_left_for_later(self) -> bool:
        return self.ending or self._stop.requested

    async def leave_over(self, item: BatchItem, why: str) -> None:
        """A request was sent and has no final answer: send it again as `then` says."""
        then, is_known = self._spec.then, await self._is_known(item)
        if self.ending or (self._stop.requested and not is_known):
            return  # the work is left for a later session
        if then == "stop" or not is_known:
            await self.settle(item, Failed("model", why))
        elif then == "batch" and self._sendings[item.key] < MOST_JOBS:
            await self._put(item)
        elif then == "batch":
            await self.settle(item, Failed("model", f"{why} (in {MOST_JOBS} jobs)"))
        else:
            self._to_send_live.append(item)
            for work in self._also.pop(item.key, ()):
                self._to_send_live.append(
                    BatchItem(work.case_id, work.run, work.task, item.key, item.most_usd)
                )

    async def _note(self, outcome: Completed) -> None:
        error = outcome.answer.why if isinstance(outcome.answer, Failed) else None
        await self._ledger.note(_item(outcome.work, error=error))
        self._emit(outcome)

    def _emit(self, outcome: Completed) -> None:
        # requests of a job fail together: failures in a row do not stop the model
        self._queue.count(outcome, give_up_after=self._queue.total + 1)
        self._session.on_event(outcome)

    def _work_of(self, item: BatchItem) -> Work:
        """The piece of work of a request, without its body."""
        request = ProviderRequest(item.key, self._spec.model, b"", 0, 0)
        return Work(item.case_id, self._spec.name, item.run, request, item.task)

    def _live_work(self, item: BatchItem) -> Work:
        """The piece of work of a request that is sent live."""
        request = self._bodies.request(item.key, self._spec.model)
        return msgspec.structs.replace(self._work_of(item), request=request)


def _item(work: Work, *, error: str | None = None, paid: bool = False) -> RunItem:
    return RunItem(work.case_id, work.model, work.run, work.task, work.request.key, error, paid)
