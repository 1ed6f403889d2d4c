"""Budget and rates that all workers of a PostgreSQL store share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from callscore.core.run import ModelSpec, OnPermits, RateKind
from callscore.store.postgres.connection import brief_transaction
from callscore.store.postgres.rows import money

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection
    from callscore.store.postgres.ledger import PostgresRun

AHEAD = 2
"""Requests per slot in an allowance."""
FIRST_POLL_S, MAX_POLL_S = 0.02, 0.25
HELD_S = 0.25
"""Permits for this time are taken at once, and not used later."""
BURST = 0.05
"""The share of a minute's amount that may be used at once, as in the engine."""
SECONDS = 60.0

_SET_BUDGET = """
INSERT INTO callscore.budgets (run_id, limit_usd, spent_usd)
SELECT id, %(limit)s, preflight_usd + uncertain_usd
    + coalesce((SELECT sum(usd) FROM callscore.payments WHERE run_id = runs.id), 0)
    + coalesce((SELECT sum(most_usd) FROM callscore.lost WHERE run_id = runs.id), 0)
FROM callscore.runs WHERE id = %(run)s
ON CONFLICT (run_id) DO UPDATE SET limit_usd = excluded.limit_usd, spent_usd = excluded.spent_usd
"""
_RESERVE = """
WITH asking AS (
    SELECT id, changes = %(change)s AS is_done FROM callscore.workers
    WHERE id = %(worker)s AND NOT dead AND changes <= %(change)s FOR NO KEY UPDATE
), room AS (
    UPDATE callscore.budgets SET reserved_usd = reserved_usd + %(usd)s FROM asking
    WHERE run_id = %(run)s AND spent_usd + reserved_usd + %(usd)s <= limit_usd AND NOT is_done
    RETURNING run_id
), given AS (
    UPDATE callscore.workers SET allowance_usd = allowance_usd + %(usd)s, changes = %(change)s
    FROM room WHERE id = %(worker)s RETURNING id
)
SELECT EXISTS (SELECT 1 FROM given) OR EXISTS (SELECT 1 FROM asking WHERE is_done),
    spent_usd + %(most)s > limit_usd
FROM callscore.budgets WHERE run_id = %(run)s
"""
"""The worker's row is locked before the budget's, as by a commit: no two of them deadlock. What an
update reads of the other one, it joins: a subquery is not read again after a wait for a lock.
"""
_RETURN = """
WITH given AS (
    UPDATE callscore.workers SET allowance_usd = allowance_usd - %(usd)s, changes = %(change)s
    WHERE id = %(worker)s AND NOT dead AND changes < %(change)s RETURNING 1
)
UPDATE callscore.budgets SET reserved_usd = reserved_usd - %(usd)s FROM given
WHERE run_id = %(run)s
"""
_TAKE = """
WITH before AS (
    SELECT least(%(capacity)s, level + %(per_s)s
        * greatest(0, extract(epoch FROM clock_timestamp() - at))) AS level
    FROM callscore.buckets WHERE account = %(account)s AND kind = %(kind)s FOR UPDATE
), granted AS (
    SELECT level, CASE WHEN level >= least(%(needed)s, %(capacity)s) - 1e-9
        THEN greatest(%(needed)s, least(level, %(wanted)s)) ELSE 0 END AS permits FROM before
)
UPDATE callscore.buckets SET level = granted.level - permits, at = clock_timestamp()
FROM granted WHERE account = %(account)s AND kind = %(kind)s
RETURNING permits,
    (least(%(needed)s, %(capacity)s) - granted.level) / %(per_s)s,
    extract(epoch FROM pause_until - clock_timestamp())
"""
_NEW_BUCKET = """
INSERT INTO callscore.buckets (account, kind, level, at, pause_until)
VALUES (%(account)s, %(kind)s, %(capacity)s, clock_timestamp(), 'epoch') ON CONFLICT DO NOTHING
"""
_PAUSE = """
UPDATE callscore.buckets
SET pause_until = greatest(pause_until, clock_timestamp() + make_interval(secs => %s))
WHERE account = %s
"""
_UNHURRIED = "SET LOCAL synchronous_commit = off"
"""Permits that a crash of the server forgets are few; to wait for the disk costs most of them."""


class AllowanceChange(NamedTuple):
    """More or less allowance for a worker; by its number, one whose answer was lost is not made
    again.
    """

    run: int
    worker: int
    usd: Decimal
    change: int


class Room(NamedTuple):
    """Whether an allowance was given; if not, whether there will never be room for a request."""

    is_given: bool
    is_spent: bool


def reserve_allowance(connection: Connection, change: AllowanceChange, most: Decimal) -> Room:
    """Ask for an allowance for requests of at most `most` each; a second time, the answer to the
    first.
    """
    row = connection.execute(_RESERVE, {**change._asdict(), "most": most}).fetchone()
    assert row is not None
    return Room(*row)


class PostgresBudget:
    """The budget of a run: this worker holds an allowance, of which it spends."""

    def __init__(self, run: PostgresRun) -> None:
        self._run = run
        self._free = Decimal(0)
        self._in_flight: Counter[Decimal] = Counter()
        """The number of reservations, by amount."""
        self._of_the_dead: Counter[Decimal] = Counter()
        """Those of them that were made before another worker took over."""
        self._one_at_a_time = asyncio.Lock()
        self._slots = 1
        self._changes = 0

    def begin(self, slots: int) -> None:
        """Start to send; `slots`: requests at once."""
        self._slots = max(1, slots)

    def begin_again(self) -> None:
        """Start without an allowance: what is free or in flight was that of the worker before."""
        self._free, self._of_the_dead = Decimal(0), self._in_flight.copy()

    async def reserve(self, most_usd: float) -> bool:
        """Reserve the amount; wait while requests in flight anywhere may turn out cheaper.

        Returns False if what is spent leaves no room for the amount.
        """
        most, wait = money(most_usd) or Decimal(0), FIRST_POLL_S
        while True:
            async with self._one_at_a_time:
                is_spent = self._free < most and await self._ask_for(most)
                if self._free >= most:
                    self._free -= most
                    self._in_flight[most] += 1
                    return True
                await self._give_back()
                if is_spent:
                    return False
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_POLL_S)
            await self._run.take_over()
            await self._run.join_again()  # if it is this worker that was declared dead

    def settle(self, most_usd: float, spent_usd: float) -> None:
        """End a reservation; the commit that stores the reply books what was spent."""
        most = money(most_usd) or Decimal(0)
        self._in_flight -= Counter([most])
        if self._of_the_dead[most]:
            self._of_the_dead -= Counter([most])  # the takeover has returned it
        else:
            self._free += most - (money(spent_usd) or Decimal(0))
        if not self._in_flight and self._free > 0 and not self._one_at_a_time.locked():
            # another worker may wait for it
            self._run.ask_soon(self._return_free())

    async def _ask_for(self, most: Decimal) -> bool:
        """Ask for the allowance of several requests, then of one; whether there will be none."""
        room = Room(is_given=False, is_spent=False)
        for wanted in (most * self._slots * AHEAD, most - self._free):
            change = self._next_change(wanted)
            room = await self._run.ask(partial(reserve_allowance, change=change, most=most))
            if room.is_given and change.worker == self._run.member.id:
                self._free += wanted
                break
        return room.is_spent

    async def _give_back(self) -> None:
        if self._free > 0:
            await self._run.ask(self._return_free())

    def _return_free(self) -> Callable[[Connection], object]:
        change = self._next_change(self._free)
        self._free = Decimal(0)
        return lambda connection: connection.execute(_RETURN, change._asdict())

    def _next_change(self, usd: Decimal) -> AllowanceChange:
        self._changes += 1
        return AllowanceChange(self._run.id, self._run.member.id, usd, self._changes)


def set_budget(connection: Connection, run_id: int, limit_usd: float | None) -> None:
    """Set the budget of a run, or remove it."""
    if limit_usd is None:
        connection.execute("DELETE FROM callscore.budgets WHERE run_id = %s", [run_id])
    else:
        connection.execute(_SET_BUDGET, {"limit": money(limit_usd), "run": run_id})


class PostgresRates:
    """The rates of all models, shared by the workers of all runs."""

    def __init__(self, run: PostgresRun) -> None:
        self._run = run

    def share(self, limit: int) -> int:
        """The part of a limit on concurrent requests that is this worker's; 0 without a lease."""
        share = self._run.member.share(limit)
        if share < limit:
            self._run.take_over_soon()  # the dead have no share
        return share

    def bucket(
        self, spec: ModelSpec, kind: RateKind, per_minute: int, on_permits: OnPermits
    ) -> PostgresBucket:
        """The bucket of a model; `on_permits` receives the seconds that another worker pauses."""
        return PostgresBucket(self._run, account_of(spec), kind, per_minute, on_permits)

    def pause(self, spec: ModelSpec, seconds: float) -> None:
        """Make all workers that use this model pause."""

        def extend(connection: Connection) -> None:
            connection.execute(_PAUSE, [seconds, account_of(spec)])

        self._run.ask_soon(extend)


def account_of(spec: ModelSpec) -> str:
    """The name of the bucket of a model: its account and its own name; no secret."""
    return " ".join((*spec.account, spec.model))


class PostgresBucket:
    """At most `per_minute` in any minute by all workers; permits are taken ahead, in the
    background.
    """

    def __init__(
        self,
        run: PostgresRun,
        account: str,
        kind: RateKind,
        per_minute: int,
        on_permits: OnPermits,
    ) -> None:
        capacity = max(1.0, per_minute * BURST)
        # permits that were taken just before a minute may be used in it
        per_s = (per_minute + 1 - capacity) / (SECONDS + 2 * HELD_S)
        self._values = {"account": account, "kind": kind, "capacity": capacity, "per_s": per_s}
        self._run, self._on_permits = run, on_permits
        self._level = 0.0
        self._until = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._look_again_s = FIRST_POLL_S
        self._is_new = True

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until it is worth looking again; 0 if the amount is available."""
        if now > self._until:
            self._level = min(self._level, 0.0)
        if self._level >= amount - 1e-9:
            return 0.0
        if self._asking is None or self._asking.done():
            if self._asking is not None:
                self._asking.result()  # raises what went wrong
            self._asking = asyncio.get_running_loop().create_task(self._take(amount - self._level))
        return self._look_again_s

    def take(self, amount: float) -> None:
        """Use permits."""
        self._level -= amount

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used (negative: used beyond what was taken)."""
        self._level += amount

    async def _take(self, needed: float) -> None:
        per_s = float(self._values["per_s"])  # type: ignore[arg-type]
        values = {**self._values, "needed": needed, "wanted": max(needed, per_s * HELD_S)}

        def take(connection: Connection) -> tuple[float, float, float]:
            with brief_transaction(connection, self._run.lease_s, _UNHURRIED):
                if self._is_new:
                    connection.execute(_NEW_BUCKET, values)
                found = connection.execute(_TAKE, values).fetchone()
            assert found is not None
            return float(found[0]), float(found[1]), float(found[2])

        permits, wait_s, pause_s = await self._run.ask(take)
        self._is_new = False
        self._level += permits
        self._until = asyncio.get_running_loop().time() + HELD_S
        self._look_again_s = min(max(wait_s, FIRST_POLL_S), MAX_POLL_S)
        self._on_permits(max(0.0, pause_s))
