"""Jobs at batch APIs in a PostgreSQL store: their states, and the requests they have in flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, LiteralString, TypeVar

import msgspec

from callscore.core.batch import BatchItem, BatchJob
from callscore.core.errors import StoreError
from callscore.store.batch_jobs import item_of, job_of
from callscore.store.connection import UnreadableRow
from callscore.store.postgres.connection import Link, brief_transaction

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection

T = TypeVar("T")
_ALONE = "LOCK TABLE callscore.inflight IN SHARE MODE"
"""Waits for workers that are claiming requests, and lets none claim one: a worker that claims later
finds the requests of the job."""
_WRITE = """
INSERT INTO callscore.batch_jobs (token, run_id, model, state, job)
VALUES (%(token)s, %(run)s, %(model)s, %(state)s, %(job)s)
ON CONFLICT (token) DO UPDATE SET state = excluded.state, job = excluded.job
"""
_HOLD = """
INSERT INTO callscore.batch_items (key, token, position, case_id, run, task, most_usd)
SELECT key, %s, position, case_id, run, task, most_usd FROM unnest(
    %s::text[], %s::integer[], %s::text[], %s::bytea[], %s::float8[]
) WITH ORDINALITY AS given (case_id, run, task, key, most_usd, position)
WHERE NOT EXISTS (SELECT 1 FROM callscore.answers WHERE answers.key = given.key)
    AND NOT EXISTS (SELECT 1 FROM callscore.inflight WHERE inflight.key = given.key)
ORDER BY position ON CONFLICT DO NOTHING
"""
_FINISH = """
WITH finished AS (
    UPDATE callscore.batch_jobs SET state = %(state)s, job = %(job)s
    WHERE token = %(token)s AND job <> %(job)s RETURNING run_id
), released AS (
    DELETE FROM callscore.batch_items WHERE token = %(token)s
)
UPDATE callscore.runs SET uncertain_usd = uncertain_usd + %(usd)s::numeric
FROM finished WHERE runs.id = finished.run_id
"""
_ITEMS = """
SELECT case_id, run, task, key, most_usd FROM callscore.batch_items WHERE token = %s
ORDER BY position
"""
_JOBS = """
SELECT job FROM callscore.batch_jobs WHERE state <> 'deleted'
    AND (%(run)s::bigint IS NULL OR run_id = %(run)s)
    AND (%(model)s::text IS NULL OR model = %(model)s) ORDER BY id
"""
HOLDERS: LiteralString = """
SELECT key, job FROM callscore.batch_jobs JOIN callscore.batch_items USING (token)
WHERE key = ANY(%s)
"""


class PostgresBatchJobs:
    """The jobs in one database; every change is durable when it returns. Implements `JobStore`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def plan(self, job: BatchJob, items: Sequence[BatchItem]) -> Sequence[BatchItem]:
        """Store a job and hold its keys; returns the items whose key was free.

        A key is not free if it is answered, in another job, or claimed by a worker.
        """
        columns = [
            list(column) for column in zip(*map(msgspec.structs.astuple, items), strict=True)
        ]

        def hold(connection: Connection) -> None:
            with brief_transaction(connection, self._link.url.lease_s):
                connection.execute(_ALONE)
                connection.execute(_WRITE, _values(job))
                connection.execute(_HOLD, [job.token, *columns])

        if items:
            self._do(hold)
        else:
            self.write(job)
        return self.items(job)

    def write(self, job: BatchJob) -> None:
        """Store the new state of a job."""
        self._do(lambda connection: connection.execute(_WRITE, _values(job)))

    def finish(self, job: BatchJob, uncertain_usd: float = 0.0) -> None:
        """Store its last state, release its keys, and add what may still be billed to its run."""
        values = {**_values(job), "usd": repr(uncertain_usd)}
        self._do(lambda connection: connection.execute(_FINISH, values))

    def jobs(self, run_id: int | None = None, model: str | None = None) -> Sequence[BatchJob]:
        """The jobs that are not deleted, oldest first: all, of a run, or of a model in it."""
        values = {"run": run_id, "model": model}
        return self._do(lambda c: [job_of(raw) for (raw,) in c.execute(_JOBS, values)])

    def items(self, job: BatchJob) -> Sequence[BatchItem]:
        """The requests of a job; none after it was finished."""
        return self._do(lambda c: [item_of(row) for row in c.execute(_ITEMS, [job.token])])

    def holder(self, key: bytes) -> BatchJob | None:
        """The job that has this request in flight."""
        found = self._do(lambda c: c.execute(HOLDERS, [[key]]).fetchone())
        return None if found is None else job_of(found[1])

    def _do(self, work: Callable[[Connection], T]) -> T:
        try:
            return self._link.do(work)
        except UnreadableRow as error:
            raise StoreError(f"{self._link.url}: is damaged: {error}") from None


def _values(job: BatchJob) -> dict[str, object]:
    raw = msgspec.json.encode(job)
    values = {"token": job.token, "run": job.run_id, "model": job.model, "state": job.state}
    return {**values, "job": raw}
