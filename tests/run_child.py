"""A run in a separate process that kills itself at a given point.

python run_child.py FOLDER NAME CASES POINT COUNT

`FOLDER/paid` gets one line per reply that a provider would bill, `FOLDER/reported` one per reply
that the engine has reported. When POINT is passed for the COUNT-th time, the process kills itself
with SIGKILL.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from callscore.core.provider import ProviderRequest, ProviderResponse
from callscore.core.run import Completed, Event, Limits, ModelSpec, Price
from callscore.engine.loop import Shutdown
from callscore.engine.workers import generate
from callscore.engine.workload import PlannedModel, Workload
from callscore.providers.scripted import ScriptedProvider, answer_ok
from callscore.store.journal import Journal
from callscore.store.run_records import RunHeader
from run_cases import work_for

CONCURRENCY = 6
LATENCY_S = 0.002
POINTS = ("sent", "answered", "begin", "commit", "committed", "reported", "ending")

_seen: Counter[str] = Counter()
_kill_at = ("", 0)


def pass_point(name: str) -> None:
    _seen[name] += 1
    if (name, _seen[name]) == _kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


class KillableConnection(sqlite3.Connection):
    """Passes the points at the start and the end of a transaction."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql.startswith("BEGIN"):
            pass_point("begin")
        if sql != "COMMIT":
            return super().execute(sql, *parameters)
        pass_point("commit")
        cursor = super().execute(sql)
        pass_point("committed")
        return cursor


def write_line(path: Path, line: str) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(line.encode() + b"\n")


async def execute_run(folder: Path, name: str, cases: int, journal: Journal) -> None:
    def script(call: ProviderRequest, attempt: int) -> ProviderResponse:
        pass_point("sent")
        write_line(folder / "paid", call.key.hex())
        pass_point("answered")
        return answer_ok(call, attempt)

    def on_event(event: Event) -> None:
        if isinstance(event, Completed) and not event.cached:
            write_line(folder / "reported", event.work.request.key.hex())
            pass_point("reported")

    spec = ModelSpec("m", "scripted", "scripted", price=Price(1, 1), limits=Limits(CONCURRENCY))
    provider = ScriptedProvider(script, latency_s=LATENCY_S)
    # The number of the repeat makes requests of different names differ.
    work = (work_for(n, run=len(name)) for n in range(cases))
    run = journal.open_run(RunHeader(name, "config", "data", cases), resume=True)
    plan = Workload({"m": PlannedModel(spec, provider, work, cases)})
    summary = await generate(plan, run, on_event, Shutdown())
    pass_point("ending")
    run.end(summary.status)


def main() -> None:
    global _kill_at
    folder, name, cases = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    _kill_at = (sys.argv[4], int(sys.argv[5]))
    with Journal(folder / "journal.db", KillableConnection) as journal:
        asyncio.run(execute_run(folder, name, cases, journal))


if __name__ == "__main__":
    main()
