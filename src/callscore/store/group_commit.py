"""Many writers, one transaction: rows that arrive during a commit go into the next one."""

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
from callscore.store.key_index import KeyIndex, last_id
from callscore.store.reply_codec import checksum

MOST_UNWRITTEN = 2_000
BETWEEN_S = 0.003
"""Seconds between commits; a longer interval saves CPU and costs wall time."""

# The first reply is kept even if another is paid for later, unless it is damaged.
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
"""The reply of a judge, and the run that paid for it."""
UncertainRow = tuple[float, int]
"""The possible cost of a lost attempt, and the run that made it."""


class Rows(NamedTuple):
    """The rows of one caller."""

    answer: AnswerRow | None = None
    item: ItemRow | None = None
    judged: JudgedRow | None = None
    uncertain: UncertainRow | None = None


class _Group(NamedTuple):
    """Rows in one transaction, and the callers waiting for it."""

    rows: list[Rows]
    waiting: Sequence[asyncio.Future[None]]
    written: Future[None]


class GroupCommit:
    """Writes rows in order, one transaction per group, in its own thread.

    Callers wait for their commit, so it reaches them in as few loop iterations as possible: one
    until a group is handed over, one until its callers are resumed.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, keys: KeyIndex) -> None:
        self._connection = connection
        self._path = path
        self._keys = keys
        connection.create_function("checksum", 2, checksum, deterministic=True)
        self._thread = ThreadPoolExecutor(1, "journal")
        self._rows: list[Rows] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._group: _Group | None = None
        """The group that is being written."""
        self._due = False
        """Whether a group is handed over at the end of this loop iteration."""
        self._submitted_at = 0.0
        self._broken: BaseException | None = None
        self.superseded = False
        """Whether a row was not written because an earlier one exists."""

    async def durable(self, rows: Rows) -> None:
        """Returns when these rows, and all before them, are durable."""
        self._add(rows)
        await self._committed()

    async def soon(self, rows: Rows) -> None:
        """Write the rows with the next group; waits only if too much is unwritten."""
        self._add(rows)
        if len(self._rows) > MOST_UNWRITTEN:
            await self._committed()

    def add(self, rows: Rows) -> None:
        """Write the rows with the next group, without waiting."""
        self._add(rows)

    async def settle(self) -> None:
        """Returns when everything is durable."""
        if self._due or self._group is not None:
            await self._committed()
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        """Write what is left and end the thread; write errors were reported before."""
        self._thread.shutdown(wait=True)
        self._use_loop(None)
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
            self._use_loop(loop)
        if self._broken is not None:
            raise self._broken
        self._rows.append(rows)
        if self._group is None and not self._due:
            self._schedule(loop)

    def _use_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Resume the callers of a group that an earlier loop has left behind."""
        group, self._loop = self._group, loop
        self._waiting, self._due = [], False
        if group is not None:
            self._group = None
            self._fail_group(group, group.written.exception())

    async def _committed(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        """Delay the next group: a commit costs nearly the same for one row as for fifty.

        The first group goes at the end of this loop iteration. The delay is short, because callers
        that wait long end up in lockstep.
        """
        self._due = True
        wait = self._submitted_at + BETWEEN_S - loop.time()
        if wait > 0:
            loop.call_later(wait, self._submit)
        else:
            loop.call_soon(self._submit)

    def _submit(self) -> None:
        self._due, self._submitted_at = False, asyncio.get_running_loop().time()
        rows, self._rows = self._rows, []
        waiting, self._waiting = self._waiting, []
        written = self._thread.submit(self._write, rows)
        self._group = _Group(rows, waiting, written)
        written.add_done_callback(partial(self._notify, asyncio.get_running_loop()))

    def _notify(self, loop: asyncio.AbstractEventLoop, written: Future[None]) -> None:
        """Runs in the commit thread."""
        # The loop is closed: no caller is waiting.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._on_written, written)

    def _on_written(self, written: Future[None]) -> None:
        group = self._group
        if group is None or group.written is not written:
            return
        self._group = None
        self._fail_group(group, written.exception())
        for waiter in group.waiting:
            if waiter.done():
                continue
            if self._broken is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(self._broken)
        if self._broken is None and (self._rows or self._waiting):
            self._schedule(asyncio.get_running_loop())

    def _fail_group(self, group: _Group, error: BaseException | None) -> None:
        """After a failure, keep the rows and accept no more: `close` tries them once more."""
        if error is None:
            return
        self._broken = error
        self._rows = group.rows + self._rows
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(error)

    def _write(self, rows: Sequence[Rows]) -> None:
        if not rows:  # the caller only waits for earlier rows
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
        self._keys.update(before, after)
