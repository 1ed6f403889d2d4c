"""Jobs at batch APIs in a journal: their states, and the requests that they have in flight."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from callscore.core.batch import BatchItem, BatchJob
from callscore.store.connection import UnreadableRow, map_sqlite_errors, transaction
from callscore.store.reply_rows import UNCERTAIN

_WRITE = (
    "INSERT INTO batch_jobs (token, run_id, model, state, job) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (token) DO UPDATE SET state = excluded.state, job = excluded.job"
)
_HOLD = (
    "INSERT OR IGNORE INTO batch_items (key, token, case_id, run, task, most_usd)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_ANSWERED = "DELETE FROM batch_items WHERE token = ? AND key IN (SELECT key FROM answers)"
_ITEMS = "SELECT case_id, run, task, key, most_usd FROM batch_items WHERE token = ? ORDER BY rowid"
_JOBS = (
    "SELECT job FROM batch_jobs WHERE state != 'deleted'"
    " AND (?1 IS NULL OR run_id = ?1) AND (?2 IS NULL OR model = ?2) ORDER BY id"
)
_HOLDER = "SELECT job FROM batch_jobs JOIN batch_items USING (token) WHERE key = ?"
RELEASE_FINISHED = (
    "DELETE FROM batch_items WHERE token NOT IN"
    " (SELECT token FROM batch_jobs WHERE state NOT IN ('collected', 'deleted'))"
)
"""Releases keys that no unfinished job holds: rows of a salvaged journal may be old."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(BatchJob).decode


class BatchJobs:
    """The jobs in one journal; every change is durable when it returns."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        is_in_flight: Callable[[bytes], bool] | None = None,
    ) -> None:
        """`is_in_flight`: whether another process is sending a request right now."""
        self._path = path
        self._connection = connection
        self._is_in_flight = is_in_flight

    def plan(self, job: BatchJob, items: Sequence[BatchItem]) -> Sequence[BatchItem]:
        """Store a job and hold its keys; returns the items whose key was free.

        A key is not free if another job has it in flight, if another process is sending it, or if
        it was answered meanwhile. A process that sends takes its lock, then looks here; a job is
        stored, then looks at the locks: at least one of the two sees the other.
        """
        rows = [(i.key, job.token, i.case_id, i.run, i.task, i.most_usd) for i in items]
        with map_sqlite_errors(self._path):
            with transaction(self._connection):
                self._connection.executemany(_HOLD, rows)
                self._connection.execute(_ANSWERED, (job.token,))
                _write(self._connection, job)
            kept = self.items(job)
            if self._is_in_flight is not None:
                sent = [(item.key,) for item in kept if self._is_in_flight(item.key)]
                self._connection.executemany("DELETE FROM batch_items WHERE key = ?", sent)
                kept = self.items(job) if sent else kept
        return kept

    def write(self, job: BatchJob) -> None:
        """Store the new state of a job."""
        with map_sqlite_errors(self._path):
            _write(self._connection, job)

    def finish(self, job: BatchJob, uncertain_usd: float = 0.0) -> None:
        """Store its last state, release its keys, and add what may still be billed to its run."""
        with map_sqlite_errors(self._path), transaction(self._connection):
            _write(self._connection, job)
            self._connection.execute("DELETE FROM batch_items WHERE token = ?", (job.token,))
            if uncertain_usd:
                self._connection.execute(UNCERTAIN, (uncertain_usd, job.run_id))

    def jobs(self, run_id: int | None = None, model: str | None = None) -> Sequence[BatchJob]:
        """The jobs that are not deleted, oldest first: all, of a run, or of a model in it."""
        with map_sqlite_errors(self._path):
            return [job_of(raw) for (raw,) in self._connection.execute(_JOBS, (run_id, model))]

    def items(self, job: BatchJob) -> Sequence[BatchItem]:
        """The requests of a job; none after it was finished."""
        with map_sqlite_errors(self._path):
            rows = self._connection.execute(_ITEMS, (job.token,)).fetchall()
            return [item_of(row) for row in rows]

    def holder(self, key: bytes) -> BatchJob | None:
        """The job that has this request in flight."""
        with map_sqlite_errors(self._path):
            row = self._connection.execute(_HOLDER, (key,)).fetchone()
            return None if row is None else job_of(row[0])


def describe_job(job: BatchJob) -> str:
    """Which job has a request in flight, and what ends that."""
    return (
        f"batch job {job.remote_id or job.token} of run {job.run_id}: resume that run with "
        f"mode: batch to collect it, or end it with `callscore batch cancel {job.run_id}`"
    )


def _write(connection: sqlite3.Connection, job: BatchJob) -> None:
    connection.execute(_WRITE, (job.token, job.run_id, job.model, job.state, _encode(job)))


def item_of(row: tuple[object, ...]) -> BatchItem:
    """The request in a row; raises UnreadableRow."""
    try:
        fields = dict(zip(BatchItem.__struct_fields__, row, strict=True))
        return msgspec.convert(fields, BatchItem)
    except msgspec.ValidationError as error:
        raise UnreadableRow(f"a request of a batch job cannot be read: {error}") from None


def job_of(raw: object) -> BatchJob:
    """The job in a row; raises UnreadableRow."""
    try:
        return _decode(raw)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise UnreadableRow(f"a batch job cannot be read: {error}") from None
