"""Many writers, one transaction: what arrives while a commit is under way goes into the next."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from callscore.core.errors import StoreError
from callscore.store.connection import map_sqlite_errors, transaction
from callscore.store.key_index import KnownKeys, last_id
from callscore.store.reply_codec import checksum

MOST_UNWRITTEN = 2_000
BETWEEN_S = 0.003
"""From the beginning of one commit to the next; a longer wait saves CPU and costs wall time."""

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
UNCERTAIN = "UPDATE runs SET uncertain_usd = uncertain_usd + ? WHERE id = ?"
_JUDGED = "INSERT OR REPLACE INTO judge_answers (key, run_id) VALUES (?, ?)"

AnswerRow = tuple[bytes, bytes, float | None, int, int]
ItemRow = tuple[int, str, str, int, str, bytes, str | None, int]
JudgedRow = tuple[bytes, int]
"""The answer of a judge, and the run that paid for it."""
UncertainRow = tuple[float, int]
"""What an attempt may be billed with, and the run that made it."""


class Rows(NamedTuple):
    """What one caller wants written."""

    answer: AnswerRow | None = None
    item: ItemRow | None = None
    judged: JudgedRow | None = None
    uncertain: UncertainRow | None = None


class _Group(NamedTuple):
    """Rows on their way to the disk, and who waits for them."""

    rows: list[Rows]
    waiting: Sequence[asyncio.Future[None]]
    written: Future[None]


class GroupCommit:
    """Writes rows in the order given, one transaction a group, in a thread of its own.

    Callers wait for their commit before they go on, so it reaches them in as few turns of the
    loop as can be: one until a group is handed over, one until all who wait for it are told.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, keys: KnownKeys) -> None:
        self._connection = connection
        self._path = path
        self._keys = keys
        connection.create_function("checksum", 2, checksum, deterministic=True)
        self._thread = ThreadPoolExecutor(1, "journal")
        self._rows: list[Rows] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._group: _Group | None = None
        """Handed over, and not yet known to be on the disk."""
        self._due = False
        """Whether this turn of the loop ends with a group."""
        self._handed_over = 0.0
        self._broken: BaseException | None = None
        self.superseded = False
        """Whether a row was not written, because another stands there and stays."""

    async def durable(self, rows: Rows) -> None:
        """Returns when these rows, and all before them, are on the disk."""
        self._add(rows)
        await self._committed()

    async def soon(self, rows: Rows) -> None:
        """The rows go with the next group; waits only where too much is unwritten."""
        self._add(rows)
        if len(self._rows) > MOST_UNWRITTEN:
            await self._committed()

    def add(self, rows: Rows) -> None:
        """The rows go with the next group, and nobody waits for them."""
        self._add(rows)

    async def settle(self) -> None:
        """Returns when everything is on the disk."""
        if self._due or self._group is not None:
            await self._committed()
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        """Write what is left, and end the thread; what cannot be written was reported before."""
        self._thread.shutdown(wait=True)
        self._take_over(None)
        rows, self._rows = self._rows, []
        try:
            if rows:
                self._write(rows)
        except StoreError:
            if self._broken is None:
                raise

    def _add(self, rows: Rows) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._take_over(loop)
        if self._broken is not None:
            raise self._broken
        self._rows.append(rows)
        if self._group is None and not self._due:
            self._hand_over_soon(loop)

    def _take_over(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """A loop that ended may have left a group behind of which nobody was told."""
        group, self._loop = self._group, loop
        self._waiting, self._due = [], False
        if group is not None:
            self._group = None
            self._heed(group, group.written.exception())

    async def _committed(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def _hand_over_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """A commit costs nearly the same for one row as for fifty, so they do not come in a rush.

        The first goes with this turn of the loop. Callers wait, too: if they had to wait for long,
        they would end up marching in step.
        """
        self._due = True
        wait = self._handed_over + BETWEEN_S - loop.time()
        if wait > 0:
            loop.call_later(wait, self._hand_over)
        else:
            loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._due, self._handed_over = False, asyncio.get_running_loop().time()
        rows, self._rows = self._rows, []
        waiting, self._waiting = self._waiting, []
        written = self._thread.submit(self._write, rows)
        self._group = _Group(rows, waiting, written)
        written.add_done_callback(partial(self._tell, asyncio.get_running_loop()))

    def _tell(self, loop: asyncio.AbstractEventLoop, written: Future[None]) -> None:
        """Called in the thread of the commits."""
        # A loop that is gone has nobody left to be told.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._told, written)

    def _told(self, written: Future[None]) -> None:
        group = self._group
        if group is None or group.written is not written:
            return
        self._group = None
        self._heed(group, written.exception())
        for waiter in group.waiting:
            if waiter.done():
                continue
            if self._broken is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(self._broken)
        if self._broken is None and (self._rows or self._waiting):
            self._hand_over_soon(asyncio.get_running_loop())

    def _heed(self, group: _Group, error: BaseException | None) -> None:
        """After a failure nothing is taken, nor forgotten: closing tries these rows once more."""
        if error is None:
            return
        self._broken = error
        self._rows = group.rows + self._rows
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(error)

    def _write(self, rows: Sequence[Rows]) -> None:
        if not rows:  # somebody only waits for what was written before
            return
        parts = (
            (_ITEM, [row.item for row in rows if row.item is not None]),
            (_ANSWER, [row.answer for row in rows if row.answer is not None]),
            (_JUDGED, [row.judged for row in rows if row.judged is not None]),
            (UNCERTAIN, [row.uncertain for row in rows if row.uncertain is not None]),
        )
        with map_sqlite_errors(self._path), transaction(self._connection):
            before = last_id(self._connection)
            for statement, part in parts:
                if part and self._connection.executemany(statement, part).rowcount != len(part):
                    self.superseded = True
            after = last_id(self._connection)
        self._keys.heed(before, after)
