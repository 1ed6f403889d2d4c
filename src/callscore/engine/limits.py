"""What keeps a model from being pressed too hard: rates, adaptive concurrency, shared pauses."""

from __future__ import annotations

from collections.abc import Callable

SECONDS = 60.0
BURST = 0.05
"""The share of a minute's amount that may go at once."""
HARDLY_ANYTHING = 1e-9
HALF = 0.5
FIRST_NEARBY = 2
ROUNDS_OF = 2
"""Results a round, for each call at once."""
MANY = 100
"""Whoever allows more calls at once than this knows the server."""
ROUNDS_TO_WAIT = 8
FASTER = 1.1
STEP = 0.1
"""Of the ceiling: how much more is tried after a round that went well."""


class Bucket:
    """At most `per_minute` in any minute; a call larger than the burst waits for a full bucket."""

    def __init__(self, per_minute: int, now: float) -> None:
        self._capacity = max(1.0, per_minute * BURST)
        # The burst and what flows in within a minute make up the minute's amount together.
        self._per_second = (per_minute + 1 - self._capacity) / SECONDS
        self._level = self._capacity
        self._at = now

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until so much may be taken."""
        self._fill(now)
        missing = min(amount, self._capacity) - self._level
        return missing / self._per_second if missing > HARDLY_ANYTHING else 0.0

    def take(self, amount: float) -> None:
        """Take it, into debt where the amount is larger than the bucket."""
        self._level -= amount

    def give_back(self, amount: float) -> None:
        """What was taken and not used (or, negative, used beyond what was taken)."""
        self._level = min(self._capacity, self._level + amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._capacity, self._level + (now - self._at) * self._per_second)
        self._at = now


class Concurrency:
    """How many calls at once, settled anew after every round of as many results.

    Where half of a round or more was refused, the number is halved. Where less was, it goes
    down by the share that was refused, and up by a step: refusals that have nothing to do
    with the number of calls must not bring everything to a halt.
    """

    def __init__(self, ceiling: int) -> None:
        self._ceiling = float(ceiling)
        self._allowed = float(ceiling)
        self._step = max(1.0, ceiling * STEP)
        self._results = self._refused = 0

    @property
    def allowed(self) -> int:
        """Calls at once that are allowed now; never less than one."""
        return int(self._allowed)

    def answered(self, sent: float, now: float) -> None:
        """A call was answered; how quickly does not matter here."""
        self._results += 1
        self._end_of_round()

    def refused(self) -> None:
        """A call was refused for the sake of the provider's limits."""
        self._results += 1
        self._refused += 1
        self._end_of_round()

    def timed_out(self) -> None:
        """A call took too long: to be asked for less is all that can be done about that, too."""
        self.refused()

    def _end_of_round(self) -> None:
        if self._results < self.allowed:
            return
        share = self._refused / self._results
        wanted = self._allowed * (1 - share) + self._step if share < HALF else self._allowed * HALF
        self._allowed = max(1.0, min(self._ceiling, wanted))
        self._results = self._refused = 0


class NearbyConcurrency:
    """How many calls at once to a server nearby, which may well answer one at a time.

    It begins low. Where the ceiling's worth of calls would be answered soon even one after the
    other, all are allowed at once. Else the number is doubled for a round, and stays so only if
    more was answered a second; if not, it is tried again some rounds later. A timeout halves it at
    once, refusals where they are half of a round or more: a proxy on this machine hands on those of
    the provider behind it.
    """

    def __init__(self, ceiling: int, soon_s: float) -> None:
        self._ceiling = ceiling
        self._soon_s = soon_s
        self.allowed = min(FIRST_NEARBY, ceiling)
        """Calls at once that are allowed now."""
        self._began: float | None = None
        self._results = self._refused = 0
        self._rate = 0.0
        """Answers a second with as many calls as are known to be useful."""
        self._useful: int | None = None
        """How many those are, while twice as many are tried."""
        self._rounds_to_wait = 0

    def answered(self, sent: float, now: float) -> None:
        """A call that was sent then was answered now."""
        if (now - sent) * min(self._ceiling, MANY) <= self._soon_s:
            self.allowed, self._useful = self._ceiling, None
        self._began = sent if self._began is None else self._began
        self._results += 1
        if self._results < ROUNDS_OF * self.allowed:
            return
        rate = (self._results - self._refused) / max(now - self._began, HARDLY_ANYTHING)
        self._began, self._results, self._refused = now, 0, 0
        self._end_of_round(rate)

    def refused(self) -> None:
        """A call was refused for the sake of the server's limits."""
        self._soon_s = 0.0  # its first answers were quicker than those that followed
        self._results += 1
        self._refused += 1
        if self._refused >= HALF * ROUNDS_OF * self.allowed:
            self._halve()

    def timed_out(self) -> None:
        """A call took too long: the server has more than it can do."""
        self._soon_s = 0.0
        self._halve()

    def _halve(self) -> None:
        self.allowed = max(1, self.allowed // 2)
        self._began, self._results, self._refused, self._useful = None, 0, 0, None
        self._rounds_to_wait = ROUNDS_TO_WAIT

    def _end_of_round(self, rate: float) -> None:
        if self._useful is not None and rate < self._rate * FASTER:
            self.allowed, self._useful = self._useful, None
            self._rounds_to_wait = ROUNDS_TO_WAIT
            return
        self._rate, self._useful = rate, None
        if self._rounds_to_wait:
            self._rounds_to_wait -= 1
        elif self.allowed < self._ceiling:
            self._useful = self.allowed
            self.allowed = min(self._ceiling, 2 * self.allowed)


class Pause:
    """Until when nothing is sent with one key to one host, by whichever model.

    An answer to a call that was sent after the refused one shows that the provider takes
    others: the pause is lifted, and only the refused call waits.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._refused_sent = 0.0
        self.streak = 0
        """Pauses since the last answer."""
        self.when_lifted: list[Callable[[], None]] = []
        """Told when a pause ends before its time."""

    def left_s(self, now: float) -> float:
        """Seconds of the pause that are left."""
        return max(0.0, self._until - now)

    def hold(self, seconds: float, now: float, sent: float) -> None:
        """Pause, or pause longer, for a call sent then; a pause never gets shorter by another."""
        if not self.left_s(now):
            self.streak += 1
        self._until = max(self._until, now + seconds)
        self._refused_sent = max(self._refused_sent, sent)

    def answered(self, sent: float) -> None:
        """A call sent then was answered."""
        self.streak = 0
        if self._until and sent > self._refused_sent:
            self._until = 0.0
            for tell in self.when_lifted:
                tell()
