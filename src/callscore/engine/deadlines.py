"""A deadline for every attempt, kept by one timer: a timer per request costs more than the request.

All attempts have the same time, so they expire in the order in which they began, and only the
oldest needs a timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Deadlines:
    """Cancels work that takes longer than a fixed number of seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._due: dict[asyncio.Task[object], float] = {}
        """When each task expires, in order."""
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, work: Awaitable[T]) -> T:
        """The result of the work; raises TimeoutError if it takes too long."""
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        self._due[task] = self._loop.time() + self._seconds
        if self._timer is None:
            self._watch()
        try:
            return await work
        except asyncio.CancelledError:
            # If the task was also cancelled from outside, that cancellation wins.
            if task in self._late and task.cancelling() <= before + 1:
                raise TimeoutError from None
            raise
        finally:
            self._due.pop(task, None)
            if task in self._late:
                self._late.discard(task)
                task.uncancel()

    def _watch(self) -> None:
        """Cancel what is late; set the timer for the next one."""
        self._timer = None
        while self._due:
            task, due = next(iter(self._due.items()))
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self._watch)
                return
            del self._due[task]
            self._late.add(task)
            task.cancel()
