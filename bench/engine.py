"""What the engine and the journal cost themselves: a provider that answers at once, no network."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bench.measuring import sized
from callscore.core.case import Reply
from callscore.core.provider import ProviderRequest
from callscore.core.run import CachedReply, Ledger, Limits, ModelSpec, Price, RunItem, Work
from callscore.engine.loop import Shutdown
from callscore.engine.workers import generate
from callscore.engine.workload import PlannedModel, Workload
from callscore.providers.scripted import ScriptedProvider
from callscore.store.journal import Journal, OpenRun
from callscore.store.run_records import RunHeader

CALLS, AT_ONCE, ROUNDS = sized(4_000, 40), 100, sized(3, 1)
LIMIT_US = 100.0


class NoLedger:
    """Keeps nothing: the floor beside which the journal is measured."""

    def find_reply(self, key: bytes) -> CachedReply | None:
        return None

    async def claim(self, key: bytes, patience_s: float, most_usd: float) -> CachedReply | None:
        return None

    def release(self, key: bytes) -> None:
        return

    async def keep(self, item: RunItem, stored: CachedReply) -> None:
        return

    async def note(self, item: RunItem) -> None:
        return

    async def settle(self) -> None:
        return


def works() -> Iterator[Work]:
    for number in range(CALLS):
        key = blake2b(b"%d" % number, digest_size=32).digest()
        call = ProviderRequest(key, "m", b"x" * 2_600, 650, 500)
        yield Work(f"case-{number}", "m", 1, call, "qa")


async def answer_all(ledger: Ledger) -> None:
    spec = ModelSpec("m", "scripted", "m", price=Price(1, 2), limits=Limits(AT_ONCE))
    plan = Workload({"m": PlannedModel(spec, ScriptedProvider(), works(), CALLS)})
    await generate(plan, ledger, lambda event: None, Shutdown())


async def keep_all(run: OpenRun) -> None:
    wanted = works()
    reply = Reply("x" * 1_500, "stop", 650, 300, 0.001)

    async def worker() -> None:
        for work in wanted:
            item = RunItem(work.case_id, work.model, 1, work.task, work.request.key, None, True)
            await run.keep(item, CachedReply(work.request.key, reply))

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


def spent(way: Callable[[], Coroutine[Any, Any, None]]) -> tuple[float, float]:
    """CPU in microseconds a call, and calls a second."""
    cpu, wall = time.process_time(), time.monotonic()
    asyncio.run(way())
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    return 1e6 * cpu / CALLS, CALLS / wall


def with_journal(way: Callable[[OpenRun], Coroutine[Any, Any, None]]) -> tuple[float, float]:
    """The first time in a new journal, every answer paid and kept."""
    header = RunHeader("bench", "config", "data", CALLS)
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.db") as journal:
        run = journal.open_run(header)
        result = spent(lambda: way(run))
        run.end("complete")
    return result


def main() -> None:
    bare, kept, rows = [], [], []
    for _ in range(ROUNDS):
        bare.append(spent(lambda: answer_all(NoLedger())))
        kept.append(with_journal(answer_all))
        rows.append(with_journal(keep_all))
    print(f"engine alone        {min(bare)[0]:6.0f} us CPU a call")
    print(f"engine and journal  {min(kept)[0]:6.0f} us CPU a call  (limit {LIMIT_US:.0f})")
    fastest = max(a_second for _, a_second in rows)
    print(f"journal alone       {min(rows)[0]:6.0f} us CPU a row, {fastest:,.0f} rows/s")


if __name__ == "__main__":
    main()
