"""The rate limiter of one model: admits requests in order."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from callscore.core.run import Limits
from callscore.engine.limits import Bucket, Concurrency, LocalConcurrency, Pause


class _Waiter(NamedTuple):
    admitted: asyncio.Future[bool]
    tokens: int


class RateLimiter:
    """Admits requests first come, first served, but retries before new requests.

    A retry has already waited, and its case has a deadline.
    """

    def __init__(self, limits: Limits, pause: Pause, local_soon_s: float | None = None) -> None:
        """`local_soon_s`: the server is local; the time within which it should answer all
        requests.
        """
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._requests = Bucket(limits.rpm, now) if limits.rpm is not None else None
        self._tokens = Bucket(limits.tpm, now) if limits.tpm is not None else None
        self._waiters: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._inside = 0
        self.pause = pause
        pause.when_lifted.append(self._admit_waiting)
        self.concurrency = (
            Concurrency(limits.concurrency)
            if local_soon_s is None
            else LocalConcurrency(limits.concurrency, local_soon_s)
        )

    async def acquire(self, tokens: int, *, again: bool = False) -> bool:
        """Wait until the request may be sent; `release` must follow. False if the limiter is
        closed.
        """
        if self._closed:
            return False
        if not self._waiters and self._has_capacity() and self._wait_s(tokens) <= 0:
            self._admit(tokens)
            return True
        waiter = _Waiter(self._loop.create_future(), tokens)
        if again:
            self._waiters.appendleft(waiter)
        else:
            self._waiters.append(waiter)
        self._admit_waiting()
        try:
            return await waiter.admitted
        except asyncio.CancelledError:
            admitted = waiter.admitted
            if admitted.done() and not admitted.cancelled() and admitted.result():
                self.release(0)
            raise

    def release(self, unused_tokens: int) -> None:
        """A request has ended; return the tokens that it did not use (negative: it used more)."""
        self._inside -= 1
        if self._tokens is not None and unused_tokens:
            self._tokens.give_back(unused_tokens)
        self._admit_waiting()

    def close(self) -> None:
        """Admit nothing more; waiting requests get False."""
        self._closed = True
        self._cancel_timer()
        for waiter in self._waiters:
            if not waiter.admitted.done():
                waiter.admitted.set_result(False)
        self._waiters.clear()

    def _has_capacity(self) -> bool:
        return self._inside < self.concurrency.allowed

    def _admit(self, tokens: int) -> None:
        self._inside += 1
        if self._requests is not None:
            self._requests.take(1)
        if self._tokens is not None:
            self._tokens.take(tokens)

    def _wait_s(self, tokens: int) -> float:
        now = self._loop.time()
        wait = self.pause.left_s(now)
        if self._requests is not None:
            wait = max(wait, self._requests.wait_s(1, now))
        if self._tokens is not None:
            wait = max(wait, self._tokens.wait_s(tokens, now))
        return wait

    def _admit_waiting(self) -> None:
        self._cancel_timer()
        while self._waiters and self._has_capacity():
            waiter = self._waiters[0]
            if not waiter.admitted.done():
                wait = self._wait_s(waiter.tokens)
                if wait > 0:
                    self._timer = self._loop.call_later(wait, self._admit_waiting)
                    return
                self._admit(waiter.tokens)
                waiter.admitted.set_result(True)
            self._waiters.popleft()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
