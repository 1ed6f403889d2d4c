"""Many rows in one commit: rows that arrive while a group is written go into the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from callscore.core.errors import StoreError

Row = TypeVar("Row")
MOST_UNWRITTEN = 2_000
"""Rows in memory; beyond, who adds one waits for a commit."""
BETWEEN_S = 0.003
"""Seconds between commits; a longer interval saves CPU and costs wall time."""


class _Group(NamedTuple, Generic[Row]):
    """Rows in one transaction, and the callers waiting for it."""

    rows: list[Row]
    waiting: Sequence[asyncio.Future[None]]
    written: Future[None]


class GroupCommit(Generic[Row]):
    """Writes rows in order, one transaction per group, in its own thread: rows that arrive during
    a commit go into the next one.

    Callers wait for their commit, so it reaches them in as few loop iterations as possible: one
    until a group is handed over, one until its callers are resumed.
    """

    def __init__(self, write: Callable[[Sequence[Row]], None]) -> None:
        """`write` is called in the thread; it raises StoreError."""
        self._write = write
        self._thread = ThreadPoolExecutor(1, "journal")
        self._rows: list[Row] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._group: _Group[Row] | None = None
        """The group that is being written."""
        self._due = False
        """Whether a group is handed over at the end of this loop iteration."""
        self._submitted_at = 0.0
        self._broken: BaseException | None = None

    async def write_durably(self, rows: Row) -> None:
        """Write the rows; returns when they, and all before them, are durable."""
        self.add(rows)
        await self._wait_for_commit()

    async def write_soon(self, rows: Row) -> None:
        """Write the rows with the next group; waits only if too many are unwritten."""
        self.add(rows)
        if len(self._rows) > MOST_UNWRITTEN:
            await self._wait_for_commit()

    async def settle(self) -> None:
        """Returns when everything is durable."""
        if self._due or self._group is not None:
            await self._wait_for_commit()
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

    def add(self, rows: Row) -> None:
        """Write the rows with the next group, without waiting."""
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

    async def _wait_for_commit(self) -> None:
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

    def _fail_group(self, group: _Group[Row], error: BaseException | None) -> None:
        """After a failure, keep the rows and accept no more: `close` tries them once more."""
        if error is None:
            return
        self._broken = error
        self._rows = group.rows + self._rows
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(error)
