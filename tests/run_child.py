"""A run in a process of its own, which may kill itself at a named point.

python run_child.py FOLDER NAME CASES POINT COUNT

`FOLDER/paid` gets a line for every answer a provider would bill, `FOLDER/told` one for every
answer that the engine has told. At the COUNT-th time of POINT the process ends as by kill -9.
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
from callscore.engine.run import generate
from callscore.engine.workload import PlannedModel, Workload
from callscore.providers.scripted import ScriptedProvider, answer_ok
from callscore.store.journal import Journal
from callscore.store.run_records import RunHeader
from run_cases import work_for

CONCURRENCY = 6
LATENCY_S = 0.002
POINTS = ("sent", "answered", "begin", "commit", "committed", "told", "ending")

_seen: Counter[str] = Counter()
_deadly = ("", 0)


def pass_point(name: str) -> None:
    _seen[name] += 1
    if (name, _seen[name]) == _deadly:
        os.kill(os.getpid(), signal.SIGKILL)


class KillableConnection(sqlite3.Connection):
    """Passes the points around a transaction."""

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


async def run_cases_of(folder: Path, name: str, cases: int, journal: Journal) -> None:
    def script(call: ProviderRequest, attempt: int) -> ProviderResponse:
        pass_point("sent")
        write_line(folder / "paid", call.key.hex())
        pass_point("answered")
        return answer_ok(call, attempt)

    def on_event(event: Event) -> None:
        if isinstance(event, Completed) and not event.cached:
            write_line(folder / "told", event.work.request.key.hex())
            pass_point("told")

    spec = ModelSpec("m", "scripted", "scripted", price=Price(1, 1), limits=Limits(CONCURRENCY))
    provider = ScriptedProvider(script, latency_s=LATENCY_S)
    # Processes with other names ask for other things.
    work = (work_for(n, run=len(name)) for n in range(cases))
    run = journal.open_run(RunHeader(name, "config", "data", cases), resume=True)
    plan = Workload({"m": PlannedModel(spec, provider, work, cases)})
    summary = await generate(plan, run, on_event, Shutdown())
    pass_point("ending")
    run.end(summary.status)


def main() -> None:
    global _deadly
    folder, name, cases = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    _deadly = (sys.argv[4], int(sys.argv[5]))
    with Journal(folder / "journal.db", KillableConnection) as journal:
        asyncio.run(run_cases_of(folder, name, cases, journal))


if __name__ == "__main__":
    main()
