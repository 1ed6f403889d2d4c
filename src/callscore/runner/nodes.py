"""The nodes of a Ray cluster send requests of a run, each as `callscore work` does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import get_ident

import msgspec

from callscore.core.consent import trust_every_config
from callscore.core.run import NodeNews, OnEvent, ignore_event
from callscore.engine import loop
from callscore.engine.loop import Shutdown
from callscore.processes.ray_workers import LOOK_S, NodeWorkers
from callscore.runner import work
from callscore.store.address import read_address

STOP_S = 30.0
"""How long nodes may finish what they have in flight when the run has ended."""


class NodeWork(msgspec.Struct, frozen=True):
    """What a node needs to know of a run; it has the file, the data, and the keys."""

    run_id: int
    store: str
    eval_file: Path


class NodeJob:
    """The work of one node; it can be stopped from another thread."""

    def __init__(self, given: NodeWork) -> None:
        self._given = given
        self._thread: int | None = None
        self._is_stopped = False

    def __call__(self) -> str:
        """Send requests of the run until none is left; returns how that ended."""
        given, self._thread = self._given, get_ident()
        store = read_address(given.store, given.eval_file.parent)
        # the token of a cluster allows to run anything on it; no user can be asked
        with trust_every_config():
            return work.work(given.run_id, store, given.eval_file, ignore_event).status

    def stop(self) -> None:
        """Send nothing more, and store what is in flight. A second request would drop it."""
        if self._thread is not None and not self._is_stopped:
            self._is_stopped = loop.interrupt(self._thread)


@asynccontextmanager
async def nodes_at_work(
    workers: NodeWorkers, given: NodeWork, on_event: OnEvent, stop: Shutdown
) -> AsyncIterator[None]:
    """Let the nodes work until the end of the block, or until a shutdown is requested."""
    await asyncio.to_thread(workers.start, given)
    telling = asyncio.create_task(_tell(workers, on_event))
    passing_on = asyncio.create_task(_pass_on(stop, workers.ask_to_stop))
    try:
        yield
    finally:
        passing_on.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                while not telling.done():  # a node that begins only now must hear it, too
                    await asyncio.to_thread(workers.ask_to_stop)
                    await asyncio.wait((telling,), timeout=LOOK_S)
        telling.cancel()
        await asyncio.gather(passing_on, telling, return_exceptions=True)


async def _tell(workers: NodeWorkers, on_event: OnEvent) -> None:
    """Tell which nodes do not work, and why."""
    reports = workers.reports()
    while True:
        report = await asyncio.to_thread(next, reports, ...)
        if report is ...:
            return
        if report is not None and (report.refused or report.failed):
            on_event(NodeNews(report.node, report.refused or report.failed))


async def _pass_on(stop: Shutdown, ask: Callable[[], None]) -> None:
    await stop.wait()
    await asyncio.to_thread(ask)
