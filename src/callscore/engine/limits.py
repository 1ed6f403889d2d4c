"""Limits per model: rates, adaptive concurrency, shared pauses."""

from __future__ import annotations

from collections.abc import Callable

SECONDS = 60.0
BURST = 0.05
"""The share of a minute's amount that may be used at once."""
EPSILON = 1e-9
HALF = 0.5
INITIAL_LOCAL = 2
ROUND_SIZE = 2
"""Results per round, for each concurrent request."""
TRUSTED_CONCURRENCY = 100
"""A configured concurrency above this is trusted from the start."""
ROUNDS_BEFORE_RETRY = 8
MIN_SPEEDUP = 1.1
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
    """Adaptive concurrency: adjusted after every round of as many results.

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

    def answered(self, sent: float, now: float) -> None:
        """Count a reply; its duration does not matter here."""
        self._results += 1
        self._end_of_round()

    def refused(self) -> None:
        """Count a rate-limit refusal."""
        self._results += 1
        self._refused += 1
        self._end_of_round()

    def timed_out(self) -> None:
        """Count a timeout; it is treated like a refusal."""
        self.refused()

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

    def answered(self, sent: float, now: float) -> None:
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

    def refused(self) -> None:
        """Count a rate-limit refusal."""
        self._soon_s = 0.0  # its first replies were faster than those that followed
        self._results += 1
        self._refused += 1
        if self._refused >= HALF * ROUND_SIZE * self.allowed:
            self._halve()

    def timed_out(self) -> None:
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
        self.when_lifted: list[Callable[[], None]] = []
        """Callbacks for a pause that ends early."""

    def left_s(self, now: float) -> float:
        """Seconds left."""
        return max(0.0, self._until - now)

    def hold(self, seconds: float, now: float, sent: float) -> None:
        """Pause because of a request sent at `sent`; never shortens a pause."""
        if not self.left_s(now):
            self.streak += 1
        self._until = max(self._until, now + seconds)
        self._refused_sent = max(self._refused_sent, sent)

    def answered(self, sent: float) -> None:
        """A request sent at `sent` was answered."""
        self.streak = 0
        if self._until and sent > self._refused_sent:
            self._until = 0.0
            for tell in self.when_lifted:
                tell()
