"""A run that several workers share: each sends the requests of the chunks that it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import NamedTuple

import msgspec

from callscore.core.case import Failed
from callscore.core.errors import UsageError
from callscore.core.run import (
    Chunk,
    Completed,
    Event,
    ModelSummary,
    OnEvent,
    RunSummary,
    Stopping,
    StoreNews,
    Work,
)
from callscore.engine.limits import Budget, SharedLimits
from callscore.engine.loop import Shutdown
from callscore.engine.retry import STOPPED
from callscore.engine.workers import generate
from callscore.engine.workload import Workload
from callscore.runner.cases import CasePrompt, CaseStream, work_of
from callscore.runner.prepare import PreparedRun
from callscore.store.postgres.chunks import digest_of
from callscore.store.protocol import RunLedger, SharedRun

LOOK_S = 0.05
"""How often a worker looks whether another one has taken over, or the store is away."""


def shared_limits(shared: SharedRun, budget_usd: float | None) -> SharedLimits:
    """Budget and rates in the store; pauses of this process."""
    return SharedLimits(shared.budget if budget_usd is not None else Budget(None), {}, shared.rates)


class SharedSending:
    """Sends what is left of a run, together with other workers."""

    def __init__(self, prepared: PreparedRun, ledger: RunLedger, *, is_holder: bool) -> None:
        """`is_holder`: this process opened the run; it also records what no worker can send."""
        assert ledger.shared is not None  # checked by the caller
        self._prepared, self._ledger, self._shared = prepared, ledger, ledger.shared
        self._is_holder = is_holder
        stream = CaseStream(prepared.sources)
        self._cases = {
            model.spec.name: _Reader(prepared, stream.reader()) for model in prepared.models
        }
        self._providers = {model.spec.name: model.provider for model in prepared.models}
        # reading up to a chunk far behind must not delay the replies in flight
        self._reading = ThreadPoolExecutor(1, "cases")
        self._open: dict[tuple[str, str], _OpenChunk] = {}
        """The chunks of this worker, by model and case."""
        self._worker = self._shared.worker

    async def send(
        self, plan: Workload, on_event: OnEvent, stop: Shutdown, limits: SharedLimits
    ) -> RunSummary:
        """Send until the run has no open chunk; after a takeover, go on as a new worker."""
        models = {
            name: msgspec.structs.replace(model, work=(), more=partial(self._take, name))
            for name, model in plan.models.items()
        }
        plan = Workload(models, plan.options)
        slots = sum(model.spec.limits.concurrency for model in models.values())
        summary: RunSummary | None = None
        while True:
            self._shared.budget.begin(slots)
            part, worker = stop.part(), self._shared.worker
            self._worker = worker
            watching = asyncio.create_task(self._watch(part, worker, on_event))
            emit = partial(self._emit, on_event, stop)
            try:
                sent = await generate(plan, self._ledger, emit, part, limits)
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
            summary = sent if summary is None else summary.merge(sent)
            if not self._shared.has_lost(worker) or stop.requested:
                return await self._of_all_workers(summary, plan)
            self._open.clear()
            await self._shared.join_again()

    def close(self) -> None:
        """End the reading of cases."""
        self._reading.shutdown(wait=True)

    async def _watch(self, part: Shutdown, worker: int, on_event: OnEvent) -> None:
        """Stop when another worker has taken over; tell when the store is away, and back."""
        was_away = False
        while not self._shared.has_lost(worker):
            outage = self._shared.outage
            if was_away != (outage is not None):
                was_away = outage is not None
                on_event(StoreNews(None if outage is None else str(outage)))
            await asyncio.sleep(LOOK_S)
        part.request()

    async def _take(self, model: str, is_stopped: bool) -> Iterable[Work] | None:
        """The work of the next chunk for a model; None if there is none."""
        if is_stopped and not self._is_holder:
            return None  # another machine may reach the model
        chunk = await self._shared.take_chunk(model, self._worker)
        if chunk is None:
            return None
        loop = asyncio.get_running_loop()
        works = await loop.run_in_executor(self._reading, self._read, chunk)
        keys = [work.request.key for work in works]
        await self._shared.look_up(keys)
        opened = _OpenChunk(chunk, keys, [])
        for work in works:
            self._open[model, work.case_id] = opened
        if not works:
            self._shared.finish_chunk(chunk)
        return works

    def _read(self, chunk: Chunk) -> list[Work]:
        ids = self._prepared.survey.ids[chunk.cases.start : chunk.cases.stop]
        if digest_of(ids) != chunk.digest:
            raise UsageError(
                f"cases {chunk.cases.start + 1} to {chunk.cases.stop} differ from those of the "
                "run; expected the same data and options on every machine"
            )
        prompts = self._cases[chunk.model].read(chunk.cases)
        provider, repeats = self._providers[chunk.model], self._prepared.config.repeats
        return list(work_of(chunk.model, provider, prompts, repeats))

    def _emit(self, on_event: OnEvent, stop: Shutdown, event: Event) -> None:
        if isinstance(event, Completed):
            self._count(event)
        if not isinstance(event, Stopping) or stop.requested:
            on_event(event)

    def _count(self, event: Completed) -> None:
        """Count a finished piece of work; after the last one of a chunk, finish it."""
        opened = self._open.get((event.work.model, event.work.case_id))
        if opened is None:
            return
        is_stopped = isinstance(event.answer, Failed) and event.answer.why.startswith(STOPPED)
        if is_stopped and not self._is_holder:
            return  # left for another worker
        opened.done.append(event.work.case_id)
        if len(opened.done) == len(opened.keys):
            self._shared.forget(opened.keys)
            self._shared.finish_chunk(opened.chunk)
            for case_id in opened.done:
                self._open.pop((event.work.model, case_id), None)

    async def _of_all_workers(self, summary: RunSummary, plan: Workload) -> RunSummary:
        """The summary with what other workers have done."""
        counts = await self._shared.count_items()
        models = {
            name: _add_others(model, plan.models[name].total, counts)
            for name, model in summary.models.items()
        }
        status = summary.status
        if status == "interrupted" and not any(model.not_run for model in models.values()):
            status = "complete"
        return RunSummary(status, models, summary.judges)


class _OpenChunk(NamedTuple):
    """A chunk in progress."""

    chunk: Chunk
    keys: list[bytes]
    done: list[str]
    """The cases of its finished pieces of work."""


class _Reader:
    """Reads the cases of chunks; a chunk that was passed is read from the beginning."""

    def __init__(self, prepared: PreparedRun, cases: Iterator[CasePrompt]) -> None:
        self._prepared, self._cases = prepared, cases
        self._position = 0

    def read(self, positions: range) -> list[CasePrompt]:
        """The cases at these positions."""
        if positions.start < self._position:
            self._cases, self._position = self._prepared.read_cases(), 0
        skipped = positions.start - self._position
        self._position = positions.stop
        return list(islice(self._cases, skipped, skipped + len(positions)))


def _add_others(
    model: ModelSummary, total: int, counts: Mapping[str, tuple[int, int]]
) -> ModelSummary:
    """The summary with what other workers have answered, which cost this one nothing."""
    answered, failed = counts.get(model.model, (0, 0))
    cached = model.cached + max(0, answered - model.answered)
    return msgspec.structs.replace(
        model, total=total, answered=answered, failed=failed, cached=cached
    )
