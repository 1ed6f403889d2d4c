"""What one process writes to a PostgreSQL store: claims, paid replies, items; many in one commit.

Keys are sorted, because overlapping inserts in different orders deadlock. Everything can be written
twice: a connection may break between the commit and its acknowledgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import msgspec

from callscore.core.case import Failed
from callscore.core.errors import StoreError
from callscore.core.run import CachedReply
from callscore.store.batch_jobs import describe_job, job_of
from callscore.store.postgres.batch_jobs import HOLDERS
from callscore.store.postgres.connection import RUN_PATIENCE_S, Link, brief_transaction
from callscore.store.postgres.spill import Spill
from callscore.store.postgres.url import DatabaseUrl
from callscore.store.reply_rows import AnswerRow, ItemRow, checksum, from_bytes

if TYPE_CHECKING:
    import psycopg

    from callscore.store.postgres.connection import Connection

_CLAIM = """
INSERT INTO callscore.inflight AS held (key, worker, run_id, most_usd)
SELECT * FROM unnest(%s::bytea[], %s::bigint[], %s::bigint[], %s::numeric[]) AS given (key, w, r, u)
WHERE w = ANY(%s) ORDER BY key
ON CONFLICT (key) DO UPDATE SET worker = excluded.worker WHERE held.worker = excluded.worker
RETURNING key
"""
_LIVING = "SELECT id FROM callscore.workers WHERE id = ANY(%s) AND NOT dead FOR KEY SHARE"
"""The lock lets heartbeats pass, and no takeover."""
_DELETE_DAMAGED = """
DELETE FROM callscore.answers USING unnest(%s::bytea[], %s::bigint[]) AS given (key, checksum)
WHERE answers.key = given.key AND answers.checksum = given.checksum
"""
STORED = "SELECT key, reply, attempts, checksum FROM callscore.answers WHERE key = ANY(%s)"
_RELEASE = """
DELETE FROM callscore.inflight USING unnest(%s::bytea[], %s::bigint[]) AS given (key, worker)
WHERE inflight.key = given.key AND inflight.worker = given.worker
"""
_KEEP = """
WITH paid AS (
    SELECT * FROM unnest(
        %(key)s::bytea[], %(reply)s::bytea[], %(usd)s::numeric[], %(charge)s::numeric[],
        %(attempts)s::integer[], %(checksum)s::bigint[], %(run)s::bigint[], %(judge)s::boolean[],
        %(worker)s::bigint[]
    ) AS given (key, reply, usd, charge, attempts, checksum, run_id, judge, worker)
), fresh AS (
    INSERT INTO callscore.answers (key, reply, cost_usd, attempts, checksum)
    SELECT key, reply, usd, attempts, checksum FROM paid ORDER BY key
    ON CONFLICT (key) DO NOTHING RETURNING key
), counted AS (
    INSERT INTO callscore.payments (key, worker, attempt, run_id, usd, judge, again)
    SELECT key, worker, attempts, run_id, usd, judge, key NOT IN (SELECT key FROM fresh)
        OR EXISTS (SELECT 1 FROM callscore.payments AS earlier WHERE earlier.key = paid.key)
    FROM paid ORDER BY key
    ON CONFLICT DO NOTHING RETURNING key, worker
), charged AS (
    SELECT paid.run_id, paid.worker, sum(charge) AS usd FROM counted JOIN paid USING (key, worker)
    GROUP BY paid.run_id, paid.worker
), arrived AS (
    DELETE FROM callscore.lost USING paid
    WHERE lost.key = paid.key AND lost.worker = paid.worker RETURNING lost.run_id, lost.most_usd
), living AS (
    UPDATE callscore.workers SET allowance_usd = allowance_usd - charged.usd
    FROM charged JOIN callscore.budgets USING (run_id)
    WHERE workers.id = charged.worker AND NOT dead RETURNING charged.run_id, charged.usd
), booked AS (
    SELECT run_id, sum(spent) AS spent, sum(reserved) AS reserved FROM (
        SELECT run_id, usd, 0 FROM charged UNION ALL SELECT run_id, -most_usd, 0 FROM arrived
        UNION ALL SELECT run_id, 0, usd FROM living
    ) AS each (run_id, spent, reserved) GROUP BY run_id
), budgeted AS (
    UPDATE callscore.budgets
    SET spent_usd = spent_usd + booked.spent, reserved_usd = reserved_usd - booked.reserved
    FROM booked WHERE budgets.run_id = booked.run_id
), released AS (
    DELETE FROM callscore.inflight USING paid
    WHERE inflight.key = paid.key AND inflight.worker = paid.worker
)
SELECT count(*) FROM fresh
"""
_ITEMS = """
INSERT INTO callscore.items AS old (run_id, case_id, model, run, task, key, error, paid)
SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::text[], %s::integer[], %s::text[], %s::bytea[], %s::text[],
    %s::boolean[]
) AS given (run_id, case_id, model, run, task, key, error, paid)
ORDER BY run_id, case_id, model, run
ON CONFLICT (run_id, case_id, model, run) DO UPDATE
SET key = excluded.key, error = excluded.error, paid = old.paid OR excluded.paid
WHERE old.error IS NOT NULL
"""
_JUDGED = """
INSERT INTO callscore.judge_answers (key, run_id)
SELECT * FROM unnest(%s::bytea[], %s::bigint[]) AS given (key, run_id) ORDER BY key
ON CONFLICT (key) DO UPDATE SET run_id = excluded.run_id
"""
_UNCERTAIN = """
WITH new AS (
    INSERT INTO callscore.uncertain (id, run_id) VALUES (%(id)s, %(run)s)
    ON CONFLICT DO NOTHING RETURNING run_id
), noted AS (
    UPDATE callscore.runs SET uncertain_usd = uncertain_usd + %(usd)s FROM new WHERE id = new.run_id
), living AS (
    UPDATE callscore.workers SET allowance_usd = allowance_usd - %(usd)s FROM new
    WHERE id = %(worker)s AND NOT dead AND new.run_id IN (SELECT run_id FROM callscore.budgets)
    RETURNING new.run_id
), booked AS (
    SELECT new.run_id, count(living.run_id) AS reserved FROM new LEFT JOIN living USING (run_id)
    GROUP BY new.run_id
)
UPDATE callscore.budgets
SET spent_usd = spent_usd + %(usd)s, reserved_usd = reserved_usd - booked.reserved * %(usd)s
FROM booked WHERE budgets.run_id = booked.run_id
"""
_DONE = """
UPDATE callscore.chunks SET done = true, worker = NULL
WHERE run_id = %s AND model = %s AND number = %s AND worker = %s AND epoch = %s
"""


def money(usd: float | None) -> Decimal | None:
    """An amount with the digits that Python shows; PostgreSQL would round a float."""
    return None if usd is None else Decimal(repr(usd))


class LockRequest(msgspec.Struct):
    """A request to lock, and what came of it."""

    key: bytes
    worker: int
    run_id: int | None
    most_usd: float
    is_held: bool = False
    found: CachedReply | Failed | None = None


class Paid(msgspec.Struct, frozen=True, array_like=True):
    """A paid reply, with its item if it is one of a model under test."""

    answer: AnswerRow
    worker: int
    run_id: int | None
    most_usd: float
    item: ItemRow | None = None

    @property
    def key(self) -> bytes:
        """Of the request."""
        return self.answer[0]


class Release(NamedTuple):
    """A request that is no longer in flight."""

    key: bytes
    worker: int


class UncertainCost(NamedTuple):
    """The possible cost of a lost attempt; the id says that it was written already."""

    id: UUID
    usd: float
    worker: int
    run_id: int


class Done(NamedTuple):
    """A chunk whose work has ended; only its holder can say so."""

    run_id: int
    model: str
    number: int
    worker: int
    epoch: int


Row = LockRequest | Paid | ItemRow | Release | UncertainCost | Done


class PostgresWriter:
    """Writes rows, one transaction per call; waits while the server cannot be reached."""

    def __init__(self, url: DatabaseUrl, spill: Spill) -> None:
        self._link = Link(url, RUN_PATIENCE_S)
        self._lease_s = url.lease_s
        self._spill = spill
        self.superseded = False
        """Whether a row was not written because an earlier one exists."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write the rows; raises StoreError."""
        if not rows:
            return
        paid = [row for row in rows if isinstance(row, Paid)]

        self._link.do(
            lambda connection: self._write_all(connection, rows, paid),
            lambda: self._spill.add(paid),
        )
        self._spill.discard(paid)

    @property
    def outage(self) -> StoreError | None:
        """Why the server cannot be used now."""
        return self._link.outage

    def give_up(self) -> None:
        """Wait no longer for a server that cannot be used."""
        self._link.give_up()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def _write_all(self, connection: Connection, rows: Sequence[Row], paid: Sequence[Paid]) -> None:
        with brief_transaction(connection, self._lease_s):
            self._release(connection, [row for row in rows if isinstance(row, Release)])
            kept = _keep(connection, paid) if paid else None
            items = _merge_items([*_items(rows)])
            noted = connection.execute(_ITEMS, _columns(items)) if items else None
            judged = {p.key: p.run_id for p in paid if p.item is None and p.run_id is not None}
            if judged:
                connection.execute(_JUDGED, _columns(sorted(judged.items())))
            for row in rows:
                if isinstance(row, UncertainCost):
                    values = row._asdict() | {"usd": money(row.usd), "run": row.run_id}
                    connection.execute(_UNCERTAIN, values)
                elif isinstance(row, Done):
                    done = (row.run_id, row.model, row.number, row.worker, row.epoch)
                    connection.execute(_DONE, done)
            fresh = kept.fetchone() if kept is not None else None
            late = fresh is not None and fresh[0] != len({row.key for row in paid})
            older = noted is not None and noted.rowcount != len(items)
            self.superseded = self.superseded or late or older
            claims = [row for row in rows if isinstance(row, LockRequest)]
            if claims:
                self._claim(connection, claims)

    def _release(self, connection: Connection, released: Sequence[Release]) -> None:
        if released:
            connection.execute(_RELEASE, _columns(sorted(set(released))))

    def _claim(self, connection: Connection, claims: Sequence[LockRequest]) -> None:
        """Lock requests for living workers; what is stored by now is visible after the lock was
        taken: a reply, or a batch job that has the request in flight.

        A damaged reply is deleted by the worker that is going to replace it.
        """
        by_key = {claim.key: claim for claim in claims}
        workers = sorted({claim.worker for claim in claims})
        living = [row[0] for row in connection.execute(_LIVING, [workers])]
        rows = sorted((c.key, c.worker, c.run_id, money(c.most_usd)) for c in by_key.values())
        held = {row[0] for row in connection.execute(_CLAIM, [*_columns(rows), living])}
        stored = connection.execute(STORED, [list(by_key)])
        jobs = connection.execute(HOLDERS, [list(by_key)])
        found, damaged = _read_replies(stored)
        in_jobs = {
            key: Failed("model", f"in flight in {describe_job(job_of(raw))}") for key, raw in jobs
        }
        self._release(connection, [Release(key, by_key[key].worker) for key in held & {*in_jobs}])
        replaced = [row for row in damaged if row[0] in held and row[0] not in in_jobs]
        if replaced:
            connection.execute(_DELETE_DAMAGED, _columns(replaced))
        for claim in claims:
            claim.is_held = claim.key in held and claim.key not in in_jobs
            claim.found = found.get(claim.key) or in_jobs.get(claim.key)


def stored_replies(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, CachedReply]:
    """The intact replies to these requests."""
    return _read_replies(connection.execute(STORED, [list(keys)]))[0]


def _read_replies(
    rows: Iterable[tuple[Any, ...]],
) -> tuple[dict[bytes, CachedReply], list[tuple[bytes, int]]]:
    """The intact replies of `STORED`; key and checksum of the damaged ones."""
    intact, damaged = {}, []
    for key, reply, attempts, expected in rows:
        if checksum(key, reply) == expected:
            intact[key] = CachedReply(key, from_bytes(reply), attempts)
        else:
            damaged.append((key, expected))
    return intact, damaged


def _keep(connection: Connection, paid: Sequence[Paid]) -> psycopg.Cursor[tuple[object, ...]]:
    unique = {(row.key, row.worker): row for row in paid}.values()
    return connection.execute(
        _KEEP,
        {
            "key": [row.key for row in unique],
            "reply": [row.answer[1] for row in unique],
            "usd": [money(row.answer[2]) for row in unique],
            # a reply of unknown cost counts against a budget with the most it may have cost
            "charge": [
                money(row.most_usd if row.answer[2] is None else row.answer[2]) for row in unique
            ],
            "attempts": [row.answer[3] for row in unique],
            "checksum": [row.answer[4] for row in unique],
            "run": [row.run_id for row in unique],
            "judge": [row.item is None for row in unique],
            "worker": [row.worker for row in unique],
        },
    )


def _items(rows: Iterable[Row]) -> Iterable[ItemRow]:
    for row in rows:
        if isinstance(row, Paid):
            if row.item is not None:
                yield row.item
        elif not isinstance(row, LockRequest | Release | UncertainCost | Done):
            yield row


def _merge_items(items: Sequence[ItemRow]) -> list[ItemRow]:
    """One row per item: an answer is kept, a failure gives way to what came later."""
    merged: dict[tuple[int, str, str, int], ItemRow] = {}
    for item in items:
        place = item[:4]
        older = merged.get(place)
        if older is None:
            merged[place] = (*item[:7], bool(item[7]))
        elif older[6] is not None:
            merged[place] = (*item[:7], bool(older[7] or item[7]))
    return [
        item if item[6] is None else (*item[:6], item[6].replace("\0", "\ufffd"), item[7])
        for item in merged.values()
    ]


def _columns(rows: Sequence[Sequence[object]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
