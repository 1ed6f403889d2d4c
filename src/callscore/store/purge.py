"""Deletes runs and their replies from a journal, so that no text of them is left in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from callscore.core.batch import JobStore
from callscore.core.errors import UsageError
from callscore.store.address import require_store
from callscore.store.connection import connect, log_of, map_sqlite_errors, transaction
from callscore.store.events import blank_events, replies_named
from callscore.store.journal import Journal
from callscore.store.results_index import remove_index
from callscore.store.run_records import has_ended

_KEYS_OF = (
    "SELECT key FROM items WHERE run_id IN ({runs})"
    " UNION SELECT key FROM judge_answers WHERE run_id IN ({runs})"
)
_KEPT = (
    "SELECT key FROM items WHERE run_id NOT IN ({runs})"
    " UNION SELECT key FROM judge_answers WHERE run_id NOT IN ({runs})"
)
_UNUSED = (
    "DELETE FROM answers WHERE key NOT IN (SELECT key FROM items)"
    " AND key NOT IN (SELECT key FROM judge_answers)"
)
_TEXTS = "SELECT seq, body FROM events WHERE body IS NOT NULL"


class PurgeResult(msgspec.Struct, frozen=True):
    """The number of deleted runs and replies, and the freed bytes."""

    runs: int
    replies: int
    bytes_freed: int


def purge_runs(path: Path, run_ids: Sequence[int]) -> PurgeResult:
    """Delete runs with every reply that no other run uses; the file shrinks, its log is emptied.

    Replies that belong to no run, such as those of `callscore score`, are deleted too, and the
    texts of reviews of deleted replies; the chain of events holds without them. Raises UsageError
    for an unknown run, or one that a living process holds.
    """
    require_store(path)
    with Journal(path) as journal:  # migrates an older file, and refuses a damaged one
        for run_id in run_ids:
            holder = journal.run(run_id).holder
            if holder is not None and not has_ended(holder):
                raise UsageError(f"run {run_id} is held by {holder}; expected a run that has ended")
            refuse_jobs(run_id, journal.batch_jobs())
    before = _size(path)
    with map_sqlite_errors(path), closing(connect(path, sqlite3.Connection)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        marks = ", ".join("?" * len(run_ids))
        replies = _count(connection)
        with transaction(connection):
            connection.execute(
                f"DELETE FROM answers WHERE key IN ({_KEYS_OF.format(runs=marks)})"
                f" AND key NOT IN ({_KEPT.format(runs=marks)})",
                [*run_ids] * 4,
            )
            for table in ("items", "judge_answers", "batch_jobs"):
                connection.execute(f"DELETE FROM {table} WHERE run_id IN ({marks})", run_ids)
            connection.execute(f"DELETE FROM runs WHERE id IN ({marks})", run_ids)
            connection.execute(_UNUSED)
            rows = connection.execute(_TEXTS).fetchall()
            gone = [seq for seq, key in replies_named(rows) if not _has(connection, key)]
            blank_events(connection, gone)
        left = _count(connection)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    remove_index(path)  # it has what was said in calls, and quotes of replies
    return PurgeResult(len(run_ids), replies - left, max(0, before - _size(path)))


def refuse_jobs(run_id: int, jobs: JobStore) -> None:
    """Raises UsageError if a run has jobs whose results are not collected."""
    if any(job.state != "collected" for job in jobs.jobs(run_id)):
        raise UsageError(
            f"run {run_id} has jobs at a batch API; end them with `callscore batch cancel {run_id}`"
        )


def _has(connection: sqlite3.Connection, key: bytes) -> bool:
    return connection.execute("SELECT 1 FROM answers WHERE key = ?", (key,)).fetchone() is not None


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])


def _size(path: Path) -> int:
    parts = (path, log_of(path))
    return sum(part.stat().st_size for part in parts if part.exists())
