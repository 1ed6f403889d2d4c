"""Many writers, one transaction: what arrives while a commit is under way goes into the next."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from callscore.core.errors import StoreError
from callscore.store.connecting import told_plainly, transaction
from callscore.store.kept_reply import checksum

MOST_UNWRITTEN = 2_000

# The first answer stays, whoever pays once more; unless it can no longer be read.
_ANSWER = (
    "INSERT INTO answers (key, reply, cost_usd, attempts, checksum) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET reply = excluded.reply, cost_usd = excluded.cost_usd,"
    " attempts = excluded.attempts, checksum = excluded.checksum"
    " WHERE checksum(answers.key, answers.reply) != answers.checksum"
)
_ITEM = (
    "INSERT INTO items (run_id, case_id, model, run, task, key, error, paid)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run_id, case_id, model, run) DO UPDATE SET"
    " key = excluded.key, error = excluded.error, paid = max(paid, excluded.paid)"
    " WHERE items.error IS NOT NULL"
)

AnswerRow = tuple[bytes, bytes, float | None, int, int]
ItemRow = tuple[int, str, str, int, str, bytes, str | None, int]


class Rows(NamedTuple):
    """What one caller wants written."""

    answer: AnswerRow | None
    item: ItemRow


class GroupCommit:
    """Writes rows in the order given, one transaction a group, in a thread of its own."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        connection.create_function("checksum", 2, checksum, deterministic=True)
        self._thread = ThreadPoolExecutor(1, "journal")
        self._rows: list[Rows] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[None] | None = None
        self._broken: StoreError | None = None

    async def durable(self, rows: Rows) -> None:
        """Returns when these rows, and all before them, are on the disk."""
        self._add(rows)
        await self._committed()

    async def soon(self, rows: Rows) -> None:
        """The rows go with the next group; waits only where too much is unwritten."""
        self._add(rows)
        if len(self._rows) > MOST_UNWRITTEN:
            await self._committed()

    async def settle(self) -> None:
        """Returns when everything is on the disk."""
        while self._task is not None and not self._task.done():
            await self._committed()
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        """Write what is left, and end the thread; what cannot be written was reported before."""
        self._thread.shutdown(wait=True)
        rows, self._rows = self._rows, []
        try:
            if rows:
                self._write(rows)
        except StoreError:
            if self._broken is None:
                raise

    def _add(self, rows: Rows) -> None:
        if self._broken is not None:
            raise self._broken
        self._rows.append(rows)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _committed(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._rows or self._waiting:
            # One turn of the loop: a commit costs the same for one row as for fifty. Waiting
            # longer would save CPU, but callers wait too, and end up marching in step.
            await asyncio.sleep(0)
            rows, self._rows = self._rows, []
            waiting, self._waiting = self._waiting, []
            try:
                # Shielded: rows that were taken from the list are written, whoever is cancelled.
                await asyncio.shield(loop.run_in_executor(self._thread, self._write, rows))
            except StoreError as error:
                self._fail(error, rows, waiting)
                return
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def _fail(
        self, error: StoreError, rows: list[Rows], waiting: Sequence[asyncio.Future[None]]
    ) -> None:
        """Nothing more is taken, and nothing is forgotten: closing tries these rows once more."""
        self._broken = error
        self._rows = rows + self._rows
        for waiter in [*waiting, *self._waiting]:
            if not waiter.done():
                waiter.set_exception(error)
        self._waiting = []

    def _write(self, rows: Sequence[Rows]) -> None:
        answers = [row.answer for row in rows if row.answer is not None]
        with told_plainly(self._path), transaction(self._connection):
            self._connection.executemany(_ANSWER, answers)
            self._connection.executemany(_ITEM, [row.item for row in rows])
