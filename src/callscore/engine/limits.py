"""Limits on requests: rates and concurrency per model, pauses per account, a budget per run."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from callscore.core.run import ModelSpec, RateBucket, RateKind, SharedRates, SpendingLimit

SECONDS = 60.0
BURST = 0.05
"""The share of a minute's amount that may be used at once."""
EPSILON = 1e-9
SHARE_POLL_S = 0.05
HALF = 0.5
INITIAL_LOCAL = 2
"""Requests in flight at first to a server on this machine, which may answer one by one."""
ROUND_SIZE = 2
"""Results per round, for each concurrent request."""
TRUSTED_CONCURRENCY = 100
"""A configured concurrency above this is trusted from the start."""
ROUNDS_BEFORE_RETRY = 8
"""Rounds after a refusal, or a step that brought nothing, before more is tried again."""
MIN_SPEEDUP = 1.1
"""Twice the concurrency is kept if it brings this many times the replies per second."""
STEP = 0.1
"""The increase after a good round, as a share of the ceiling."""


class Bucket:
    """At most `per_minute` in any minute; a request larger than the burst waits for a full
    bucket.
    """

    def __init__(self, per_minute: int, now: float) -> None:
        self._capacity = max(1.0, per_minute * BURST)
        # The burst and the refill within a minute together make the minute's amount.
        self._per_second = (per_minute + 1 - self._capacity) / SECONDS
        self._level = self._capacity
        self._at = now

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until the amount is available."""
        self._fill(now)
        missing = min(amount, self._capacity) - self._level
        return missing / self._per_second if missing > EPSILON else 0.0

    def take(self, amount: float) -> None:
        """Take the amount; the bucket goes into debt if the amount is larger."""
        self._level -= amount

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used (negative: used beyond what was taken)."""
        self._level = min(self._capacity, self._level + amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._capacity, self._level + (now - self._at) * self._per_second)
        self._at = now


class Concurrency:
    """Adaptive concurrency, adjusted after every round of as many results as requests are allowed.

    If at least half of a round was refused, it is halved. Otherwise it falls by the refused share
    and rises by a step: refusals that are unrelated to the load must not bring it down to one.
    """

    def __init__(self, ceiling: int) -> None:
        self._ceiling = float(ceiling)
        self._allowed = float(ceiling)
        self._step = max(1.0, ceiling * STEP)
        self._results = self._refused = 0

    @property
    def allowed(self) -> int:
        """The current number of concurrent requests; at least one."""
        return int(self._allowed)

    def count_reply(self, sent: float, now: float) -> None:
        """Count a reply; its duration does not matter here."""
        self._results += 1
        self._end_of_round()

    def count_refusal(self) -> None:
        """Count a rate-limit refusal."""
        self._results += 1
        self._refused += 1
        self._end_of_round()

    def count_timeout(self) -> None:
        """Count a timeout; it is treated like a refusal."""
        self.count_refusal()

    def _end_of_round(self) -> None:
        if self._results < self.allowed:
            return
        share = self._refused / self._results
        wanted = self._allowed * (1 - share) + self._step if share < HALF else self._allowed * HALF
        self._allowed = max(1.0, min(self._ceiling, wanted))
        self._results = self._refused = 0


class LocalConcurrency:
    """Concurrency for a server on this machine or network, which may answer one request at a time.

    It starts low. If as many requests as the ceiling would be answered soon even one by one, the
    ceiling is used. Otherwise the number is doubled for a round and kept only if the throughput
    rose; if not, it is tried again some rounds later. A timeout halves it at once, refusals if they
    are at least half of a round: a local proxy passes on those of the provider behind it.
    """

    def __init__(self, ceiling: int, soon_s: float) -> None:
        self._ceiling = ceiling
        self._soon_s = soon_s
        self.allowed = min(INITIAL_LOCAL, ceiling)
        """The current number of concurrent requests."""
        self._began: float | None = None
        self._results = self._refused = 0
        self._rate = 0.0
        """Replies per second at the last concurrency that paid off."""
        self._useful: int | None = None
        """That concurrency, while twice as much is tried."""
        self._rounds_to_wait = 0

    def count_reply(self, sent: float, now: float) -> None:
        """Count a reply, with its times of sending and arrival."""
        if (now - sent) * min(self._ceiling, TRUSTED_CONCURRENCY) <= self._soon_s:
            self.allowed, self._useful = self._ceiling, None
        self._began = sent if self._began is None else self._began
        self._results += 1
        if self._results < ROUND_SIZE * self.allowed:
            return
        rate = (self._results - self._refused) / max(now - self._began, EPSILON)
        self._began, self._results, self._refused = now, 0, 0
        self._end_of_round(rate)

    def count_refusal(self) -> None:
        """Count a rate-limit refusal."""
        self._soon_s = 0.0  # its first replies were faster than those that followed
        self._results += 1
        self._refused += 1
        if self._refused >= HALF * ROUND_SIZE * self.allowed:
            self._halve()

    def count_timeout(self) -> None:
        """Count a timeout: the server is overloaded."""
        self._soon_s = 0.0
        self._halve()

    def _halve(self) -> None:
        self.allowed = max(1, self.allowed // 2)
        self._began, self._results, self._refused, self._useful = None, 0, 0, None
        self._rounds_to_wait = ROUNDS_BEFORE_RETRY

    def _end_of_round(self, rate: float) -> None:
        if self._useful is not None and rate < self._rate * MIN_SPEEDUP:
            self.allowed, self._useful = self._useful, None
            self._rounds_to_wait = ROUNDS_BEFORE_RETRY
            return
        self._rate, self._useful = rate, None
        if self._rounds_to_wait:
            self._rounds_to_wait -= 1
        elif self.allowed < self._ceiling:
            self._useful = self.allowed
            self.allowed = min(self._ceiling, 2 * self.allowed)


class Pause:
    """The pause of one key on one host, shared by all models that use it.

    A reply to a request that was sent after the refused one shows that the provider accepts
    requests again: the pause ends, and only the refused request waits.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._refused_sent = 0.0
        self.streak = 0
        """Pauses since the last reply."""
        self.end_callbacks: list[Callable[[], None]] = []
        """Callbacks for a pause that ends early."""

    def left_s(self, now: float) -> float:
        """Seconds left."""
        return max(0.0, self._until - now)

    def extend(self, seconds: float, now: float, sent: float) -> None:
        """Pause after the refusal of a request sent at `sent`; a longer pause is kept."""
        if not self.left_s(now):
            self.streak += 1
        self._until = max(self._until, now + seconds)
        self._refused_sent = max(self._refused_sent, sent)

    def on_reply(self, sent: float) -> None:
        """End the pause if a request that was sent after the refused one got a reply."""
        self.streak = 0
        if self._until and sent > self._refused_sent:
            self._until = 0.0
            for callback in self.end_callbacks:
                callback()


class _Waiter(NamedTuple):
    admitted: asyncio.Future[bool]
    tokens: int


class RateLimiter:
    """Admits requests first come, first served, but retries before new requests.

    A retry has already waited, and its case has a deadline.
    """

    def __init__(
        self,
        spec: ModelSpec,
        pause: Pause,
        local_soon_s: float | None = None,
        rates: SharedRates | None = None,
    ) -> None:
        """`local_soon_s`: for a local server, the time within which it should answer as many
        requests as allowed. `rates`: shared with other processes.
        """
        self._loop = asyncio.get_running_loop()
        self._spec, self._rates = spec, rates
        limits = spec.limits
        self._requests = self._bucket("requests", limits.rpm)
        self._tokens = self._bucket("tokens", limits.tpm)
        self._waiters: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._inside = 0
        self.pause = pause
        pause.end_callbacks.append(self._admit_waiting)
        self.concurrency = (
            Concurrency(limits.concurrency)
            if local_soon_s is None
            else LocalConcurrency(limits.concurrency, local_soon_s)
        )

    def _bucket(self, kind: RateKind, per_minute: int | None) -> RateBucket | None:
        if per_minute is None:
            return None
        if self._rates is None:
            return Bucket(per_minute, self._loop.time())
        return self._rates.bucket(self._spec, kind, per_minute, self._on_permits)

    def _on_permits(self, pause_s: float) -> None:
        now = self._loop.time()
        if pause_s > self.pause.left_s(now):
            self.pause.extend(pause_s, now, now)
        self._admit_waiting()

    def extend_pause(self, seconds: float, sent: float) -> None:
        """Pause after the refusal of a request sent at `sent`, and with all processes."""
        self.pause.extend(seconds, self._loop.time(), sent)
        if self._rates is not None:
            self._rates.pause(self._spec, seconds)

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
        if self._waiters:
            self._admit_waiting()

    def close(self) -> None:
        """Admit nothing more; waiting requests get False."""
        self._closed = True
        self._cancel_timer()
        for waiter in self._waiters:
            if not waiter.admitted.done():
                waiter.admitted.set_result(False)
        self._waiters.clear()

    @property
    def in_flight(self) -> int:
        """Requests that were admitted and have not ended."""
        return self._inside

    def _has_capacity(self) -> bool:
        allowed = self.concurrency.allowed
        if self._rates is not None:
            allowed = min(allowed, self._rates.share(self._spec.limits.concurrency))
        return self._inside < allowed

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
        if self._waiters and self._rates is not None:  # the share of this process may change
            self._timer = self._loop.call_later(SHARE_POLL_S, self._admit_waiting)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Budget:
    """Never reserves more than the limit, counting requests in flight at their maximum cost."""

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self._limit = limit_usd
        self._spent = spent_usd
        self._reserved = 0.0
        self._in_flight = 0
        self._waiters: list[asyncio.Future[None]] = []

    async def reserve(self, most_usd: float) -> bool:
        """Reserve the amount; wait while requests in flight may turn out cheaper.

        Returns False if nothing is in flight and the amount still does not fit: the budget is
        spent.
        """
        if self._limit is None:
            return True
        while not self.fits(most_usd):
            if not self._in_flight:
                return False
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        self._in_flight += 1
        self._reserved += most_usd
        return True

    def fits(self, most_usd: float) -> bool:
        """Whether the amount could be reserved now."""
        return self._limit is None or self._spent + self._reserved + most_usd <= self._limit

    def take(self, most_usd: float) -> None:
        """Reserve an amount that is owed already, whether it fits or not."""
        if self._limit is not None:
            self._in_flight += 1
            self._reserved += most_usd

    def settle(self, most_usd: float, spent_usd: float) -> None:
        """End a reservation with the actual cost."""
        if self._limit is None:
            return
        self._in_flight -= 1
        # Floating-point sums leave a residue; with nothing in flight, nothing is reserved.
        self._reserved = self._reserved - most_usd if self._in_flight else 0.0
        self._spent += spent_usd
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class SharedLimits(NamedTuple):
    """One budget, and one pause for each key on each host."""

    budget: SpendingLimit
    pauses: dict[tuple[str, str, str], Pause]
    rates: SharedRates | None = None
    """Shared with other processes; None if this one is alone."""

    def pause(self, spec: ModelSpec) -> Pause:
        """The pause of a model's account."""
        return self.pauses.setdefault(spec.account, Pause())

    def without_budget(self) -> SharedLimits:
        """The same pauses without the budget, for requests that cost nothing."""
        return self._replace(budget=Budget(None))
