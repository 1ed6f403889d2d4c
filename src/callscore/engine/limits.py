"""What keeps a model from being pressed too hard: rates, adaptive concurrency, shared pauses."""

from __future__ import annotations

SECONDS = 60.0
BURST = 0.05
"""The share of a minute's amount that may go at once."""
HARDLY_ANYTHING = 1e-9


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
    """How many calls at once: halved when the provider complains, raised step by step again.

    Calls that were sent before the last halving say nothing about the new level, so a
    volley of refusals lowers it once, not to nothing.
    """

    def __init__(self, ceiling: int) -> None:
        self._ceiling = float(ceiling)
        self._allowed = float(ceiling)
        self._step = max(1.0, ceiling / 20)
        self._lowered_at = 0

    @property
    def allowed(self) -> int:
        """Calls at once that are allowed now; never less than one."""
        return int(self._allowed)

    def answered(self) -> None:
        """A call was answered: one step up for every round of answers."""
        if self._allowed < self._ceiling:
            self._allowed = min(self._ceiling, self._allowed + self._step / self._allowed)

    def refused(self, ticket: int, newest_ticket: int) -> None:
        """The provider refused the call with this number for the sake of its limits."""
        if ticket > self._lowered_at:
            self._lowered_at = newest_ticket
            self._allowed = max(1.0, self._allowed / 2)


class Pause:
    """Until when nothing is sent with one key to one host, by whichever model."""

    def __init__(self) -> None:
        self._until = 0.0
        self.streak = 0
        """Pauses since the last answer."""

    def left_s(self, now: float) -> float:
        """Seconds of the pause that are left."""
        return max(0.0, self._until - now)

    def hold(self, seconds: float, now: float) -> None:
        """Pause, or pause longer; a pause never gets shorter."""
        if not self.left_s(now):
            self.streak += 1
        self._until = max(self._until, now + seconds)

    def answered(self) -> None:
        """The key works again."""
        self.streak = 0
