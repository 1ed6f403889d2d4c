"""Small runs of the engine with scripted providers and all events recorded: with a real journal, or
in memory and virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from callscore.core.case import Reply
from callscore.core.provider import AttemptFailed, FailureKind, ProviderRequest, ProviderResponse
from callscore.core.run import (
    CachedReply,
    Completed,
    Event,
    Limits,
    ModelSpec,
    Price,
    RunItem,
    RunSummary,
    Work,
)
from callscore.engine.loop import Shutdown
from callscore.engine.workers import generate
from callscore.engine.workload import EngineOptions, PlannedModel, Workload
from callscore.providers.scripted import ScriptedProvider, answer_ok
from callscore.store.journal import Journal
from run_cases import HEADER, work_for
from virtual_time import run_in_virtual_time


class RunResult(NamedTuple):
    """The summary and the events of a run, and where it is stored."""

    summary: RunSummary
    events: Sequence[Event]
    path: Path
    run_id: int

    @property
    def outcomes(self) -> list[Completed]:
        return [event for event in self.events if isinstance(event, Completed)]

    def answers(self, model: str = "m") -> dict[str, tuple[str | bytes, float | None]]:
        found = {}
        with Journal(self.path) as journal:
            for case_id in {event.work.case_id for event in self.outcomes}:
                reply = journal.replies_to(self.run_id, case_id).get(model, {}).get(1)
                if isinstance(reply, Reply):
                    found[case_id] = (reply.text, reply.cost_usd)
        return found


def attempt_failed(
    kind: FailureKind, message: str = "no", wait: float | None = None
) -> AttemptFailed:
    return AttemptFailed(kind, message, retry_after_s=wait)


def scripted_provider(by_attempt: Mapping[int, AttemptFailed]) -> ScriptedProvider:
    """A provider that fails in the given attempts of every request, and answers in the others."""

    def script(call: ProviderRequest, attempt: int) -> ProviderResponse | AttemptFailed:
        return by_attempt.get(attempt) or answer_ok(call, attempt)

    return ScriptedProvider(script)


def planned_model(
    provider: ScriptedProvider,
    work: int | Iterable[Work],
    *,
    name: str = "m",
    total: int | None = None,
    limits: Limits | None = None,
    price: Price | None = None,
    account: str = "",
) -> PlannedModel:
    spec = ModelSpec(
        name=name,
        provider="scripted",
        model="scripted",
        api_key_env=account or name,
        price=price,
        limits=limits or Limits(8),
    )
    if isinstance(work, int):
        total, work = work, (work_for(n, name) for n in range(work))
    if total is None:
        work = list(work)
        total = len(work)
    return PlannedModel(spec, provider, work, total)


def run_models(
    folder: Path,
    models: Sequence[PlannedModel],
    options: EngineOptions | None = None,
    *,
    on_event: Callable[[Event, Shutdown], None] = lambda event, stop: None,
    on_start: Callable[[Shutdown], None] = lambda stop: None,
    check_durable: bool = False,
    keep_events: bool = True,
) -> RunResult:
    """Run models to the end, or until the run stops."""
    path = folder / "journal.db"
    plan = Workload({model.spec.name: model for model in models}, options or EngineOptions())
    events: list[Event] = []

    async def run() -> RunSummary:
        stop = Shutdown()
        on_start(stop)

        def listen(event: Event) -> None:
            if keep_events:
                events.append(event)
            if check_durable and isinstance(event, Completed):
                assert journal.find_reply(event.work.request.key) is not None
            on_event(event, stop)

        return await generate(plan, open_run, listen, stop)

    with Journal(path) as journal:
        open_run = journal.open_run(HEADER, resume=True)
        try:
            summary = asyncio.run(run())
        except BaseException:
            open_run.end("interrupted")
            raise
        open_run.end(summary.status)
    return RunResult(summary, events, path, open_run.id)


class MemoryLedger:
    """A ledger in memory: what waits for a disk cannot live in virtual time."""

    def __init__(self, commit_s: float = 0.0) -> None:
        self.replies: dict[bytes, CachedReply] = {}
        self._commit_s = commit_s

    def find_reply(self, key: bytes) -> CachedReply | None:
        return self.replies.get(key)

    async def claim(self, key: bytes, patience_s: float, most_usd: float) -> CachedReply | None:
        """Nobody else asks."""

    def release(self, key: bytes) -> None:
        """Nobody else asks."""

    async def keep(self, item: RunItem, stored: CachedReply) -> None:
        assert stored.key not in self.replies
        if self._commit_s:
            await asyncio.sleep(self._commit_s)
        self.replies[stored.key] = stored

    async def note(self, item: RunItem) -> None:
        """Nothing is looked at afterwards."""

    async def settle(self) -> None:
        """Everything is kept at once."""


class VirtualResult(NamedTuple):
    """The summary and the events of a run in virtual time, its replies, and how long it took."""

    summary: RunSummary
    events: Sequence[Event]
    replies: Mapping[bytes, CachedReply]
    took_s: float


def run_virtually(
    models: Sequence[PlannedModel],
    options: EngineOptions | None = None,
    *,
    on_event: Callable[[Event, Shutdown], None] = lambda event, stop: None,
    commit_s: float = 0.0,
) -> VirtualResult:
    """Run models to the end, or until the run stops; only what waits takes time."""
    plan = Workload({model.spec.name: model for model in models}, options or EngineOptions())
    events: list[Event] = []
    ledger = MemoryLedger(commit_s)

    async def run() -> VirtualResult:
        loop, stop = asyncio.get_running_loop(), Shutdown()
        began = loop.time()

        def listen(event: Event) -> None:
            events.append(event)
            on_event(event, stop)

        summary = await generate(plan, ledger, listen, stop)
        return VirtualResult(summary, events, ledger.replies, loop.time() - began)

    return run_in_virtual_time(run())


def virtual_time() -> float:
    """The time in the running loop."""
    return asyncio.get_running_loop().time()
