"""Workers of a PostgreSQL store and their leases: who is alive, and what the dead leave behind.

The lease of a worker is one row with a time of expiry by the server's clock. The worker itself
measures from before each heartbeat by its own clock, and stops sending earlier: no two clocks are
compared. A lease is lost when another worker takes over, not when its time is over, and no worker
takes over soon after the server started, because then all of them are late.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from callscore.core.errors import StoreError
from callscore.store.postgres.connection import Link
from callscore.store.postgres.url import DatabaseUrl

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection

BEATS = 3
"""Heartbeats per lease."""
EARLIER = 1 / 15
"""The share of a lease before its end in which nothing is sent: 2 of 30 seconds."""
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine is suspended, as the server does."""

_JOIN = """
INSERT INTO callscore.workers (run_id, host, lease_s, expires_at)
VALUES (%(run)s, %(host)s, %(lease)s, clock_timestamp() + make_interval(secs => %(lease)s))
RETURNING id
"""
_BEAT = """
UPDATE callscore.workers
SET expires_at = clock_timestamp() + make_interval(secs => lease_s)
WHERE id = %s AND NOT dead
RETURNING
    (SELECT count(*) FROM callscore.workers AS w WHERE w.run_id = workers.run_id AND NOT w.dead),
    (SELECT count(*) FROM callscore.workers AS w
        WHERE w.run_id = workers.run_id AND NOT w.dead AND w.id < workers.id)
"""
_TAKE_OVER = """
WITH late AS (
    SELECT id, run_id, allowance_usd FROM callscore.workers
    WHERE id = ANY(%s::bigint[]) OR expires_at < clock_timestamp()
        AND clock_timestamp() > pg_postmaster_start_time() + make_interval(secs => 3 * lease_s)
        AND (NOT dead OR EXISTS (
            SELECT 1 FROM callscore.inflight WHERE inflight.worker = workers.id))
    FOR UPDATE SKIP LOCKED
), died AS (
    UPDATE callscore.workers SET dead = true, allowance_usd = 0 FROM late WHERE workers.id = late.id
), gone AS (
    DELETE FROM callscore.inflight USING late WHERE inflight.worker = late.id
    RETURNING inflight.key, inflight.worker, inflight.run_id, inflight.most_usd
), noted AS (
    INSERT INTO callscore.lost (key, worker, run_id, most_usd) SELECT * FROM gone
    ON CONFLICT DO NOTHING
), freed AS (
    UPDATE callscore.chunks SET worker = NULL, epoch = epoch + 1
    FROM late WHERE chunks.worker = late.id AND NOT done
), booked AS (
    SELECT run_id, sum(reserved) AS reserved, sum(spent) AS spent FROM (
        SELECT run_id, allowance_usd, 0 FROM late UNION ALL SELECT run_id, 0, most_usd FROM gone
    ) AS each (run_id, reserved, spent) GROUP BY run_id
), budgeted AS (
    UPDATE callscore.budgets
    SET reserved_usd = reserved_usd - booked.reserved, spent_usd = spent_usd + booked.spent
    FROM booked WHERE budgets.run_id = booked.run_id
)
SELECT id FROM late
"""
_LEAVE = """
WITH left_now AS (
    DELETE FROM callscore.workers WHERE id = %s AND NOT dead RETURNING id, run_id, allowance_usd
), freed AS (
    UPDATE callscore.chunks SET worker = NULL, epoch = epoch + 1
    FROM left_now WHERE chunks.worker = left_now.id AND NOT done
), released AS (
    DELETE FROM callscore.inflight USING left_now WHERE inflight.worker = left_now.id
)
UPDATE callscore.budgets SET reserved_usd = reserved_usd - left_now.allowance_usd
FROM left_now WHERE budgets.run_id = left_now.run_id
"""


def take_over(connection: Connection, forced: Sequence[int] = ()) -> list[int]:
    """Declare late workers dead, and free what they hold; `forced`: they are known to have ended.

    What their requests in flight may cost becomes uncertain cost. One statement: a process that is
    suspended in the middle keeps no lock.
    """
    return [row[0] for row in connection.execute(_TAKE_OVER, [list(forced)])]


class Membership:
    """This process as a worker: it joins, sends heartbeats from a thread of its own, and leaves."""

    def __init__(self, url: DatabaseUrl, run_id: int | None) -> None:
        self._url, self._run_id = url, run_id
        self._link = Link(url, url.lease_s / BEATS)
        self._left = Event()
        self._valid_until = 0.0
        self._is_dead = False
        self.live, self.rank = 1, 0
        """The living workers of this run, and how many of them joined earlier."""
        self.id = 0
        self.join()
        self._thread = Thread(target=self._beat_periodically, name="heartbeat", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Become a new worker: at the beginning, and after another worker has taken over."""
        values = {"run": self._run_id, "host": socket.gethostname(), "lease": self._url.lease_s}

        def insert(connection: Connection) -> int:
            take_over(connection)
            row = connection.execute(_JOIN, values).fetchone()
            assert row is not None
            return int(row[0])

        began = time.clock_gettime(_CLOCK)
        self.id, self._is_dead = self._link.do(insert), False
        self._renew(began)
        self._beat()

    @property
    def is_valid(self) -> bool:
        """Whether requests may be sent."""
        return not self._is_dead and time.clock_gettime(_CLOCK) < self._valid_until

    @property
    def is_dead(self) -> bool:
        """Whether another worker has taken over."""
        return self._is_dead

    def share(self, limit: int) -> int:
        """The part of a limit that is this worker's; 0 while its lease is not valid."""
        if not self.is_valid:
            return 0
        return limit // self.live + (self.rank < limit % self.live)

    def leave(self) -> None:
        """Release everything, if the server can be reached."""
        self._left.set()
        self._link.give_up()
        self._thread.join()
        last = Link(self._url, self._url.lease_s)
        with suppress(StoreError), closing(last):  # the lease ends by itself
            last.do(lambda connection: connection.execute(_LEAVE, [self.id]))
        self._link.close()

    def _beat_periodically(self) -> None:
        while not self._left.wait(self._url.lease_s / BEATS):
            self._beat()

    def _beat(self) -> None:
        """A single statement, so that a process suspended here blocks no takeover."""
        began, worker = time.clock_gettime(_CLOCK), self.id
        try:
            row = self._link.do(lambda c: c.execute(_BEAT, [worker]).fetchone())
        except StoreError:
            return  # the lease goes on until its end
        if worker != self.id:
            return  # it has joined again meanwhile
        if row is None:
            self._is_dead = True
        else:
            self.live, self.rank = max(1, int(row[0])), int(row[1])
            self._renew(began)

    def _renew(self, began: float) -> None:
        self._valid_until = began + self._url.lease_s * (1 - EARLIER)
