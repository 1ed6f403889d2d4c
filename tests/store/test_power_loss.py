"""The power fails: what was on the disk when a commit returned is all there is (R-02)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from callscore.core.run import Completed, Event, Limits
from callscore.engine import loop
from callscore.engine.workers import generate
from callscore.engine.workload import Workload
from callscore.providers.scripted import ScriptedProvider
from callscore.store.connection import connect
from callscore.store.journal import Journal
from engine_runs import planned_model
from run_cases import HEADER

CASES, AT_ONCE = 400, 10
FULL = 2


class Disk:
    """What lies on the disk whenever a commit returns, and what was told by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[bytes] = []
        self.moments: list[tuple[bytes, bytes, int]] = []

    def remember(self) -> None:
        log = self.path.with_name(f"{self.path.name}-wal")
        self.moments.append((self.path.read_bytes(), log.read_bytes(), len(self.told)))

    def connection(self) -> type[sqlite3.Connection]:
        disk = self

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                cursor = super().execute(sql, *parameters)
                if sql == "COMMIT":
                    disk.remember()
                return cursor

        return Watched


def run_on(disk: Disk) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, Completed):
            disk.told.append(event.work.request.key)

    model = planned_model(ScriptedProvider(latency_s=0.001), CASES, limits=Limits(AT_ONCE))
    with Journal(disk.path, disk.connection()) as journal:
        run = journal.open_run(HEADER)
        loop.run(lambda stop: generate(Workload({"m": model}), run, listen, stop))
        run.end("complete")


def test_every_acknowledged_row_is_there_when_the_power_fails_after_any_commit(
    tmp_path: Path,
) -> None:
    disk, chance = Disk(tmp_path / "runs.db"), Random(7)
    run_on(disk)
    assert len(disk.moments) > CASES / AT_ONCE / 2
    # What is told before a commit returns was written by one of those before.
    told = [number for _, _, number in disk.moments[1:]] + [CASES]
    for moment, ((file, log, _), number) in enumerate(zip(disk.moments, told, strict=True)):
        path = tmp_path / f"{moment}.db"
        path.write_bytes(file)
        # The next transaction was under way: some of it may have reached the disk.
        torn = chance.randbytes(chance.randrange(9_000))
        path.with_name(f"{path.name}-wal").write_bytes(log + torn)
        with Journal(path) as journal:
            assert all(journal.find_reply(key) is not None for key in disk.told[:number])


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "runs.db", sqlite3.Connection)) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
