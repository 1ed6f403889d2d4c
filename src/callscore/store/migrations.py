"""The schema of a journal as a list of migrations. They are appended, never edited."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from callscore.core.errors import StoreError

APPLICATION_ID = 0x43534A31
"""Marks an SQLite file as a Callscore journal ("CSJ1")."""

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE answers (
        id INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        reply BLOB NOT NULL,
        cost_usd REAL,
        attempts INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    );
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        config_hash TEXT NOT NULL,
        dataset_hash TEXT NOT NULL,
        total INTEGER NOT NULL,
        status TEXT NOT NULL,
        started_at TEXT NOT NULL,
        finished_at TEXT,
        holder BLOB
    );
    CREATE TABLE items (
        seq INTEGER PRIMARY KEY,
        run_id INTEGER NOT NULL REFERENCES runs (id),
        case_id TEXT NOT NULL,
        model TEXT NOT NULL,
        run INTEGER NOT NULL,
        task TEXT NOT NULL,
        key BLOB NOT NULL,
        error TEXT,
        paid INTEGER NOT NULL,
        UNIQUE (run_id, case_id, model, run)
    );
    """,
    """
    ALTER TABLE runs ADD COLUMN preflight_usd REAL NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE judge_answers (
        key BLOB PRIMARY KEY,
        run_id INTEGER NOT NULL REFERENCES runs (id)
    ) WITHOUT ROWID;
    CREATE INDEX judge_answers_of_run ON judge_answers (run_id);
    """,
    """
    ALTER TABLE runs ADD COLUMN uncertain_usd REAL NOT NULL DEFAULT 0;
    """,
    """
    ALTER TABLE runs ADD COLUMN eval_file TEXT NOT NULL DEFAULT '';
    """,
)


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[str] = MIGRATIONS
) -> None:
    """Migrate a journal to the newest schema in one transaction; an older one is backed up
    first.
    """
    version = _version(connection, path)
    if version > len(migrations):
        raise StoreError(
            f"{path}: was written by a newer version (schema {version}; this one knows "
            f"{len(migrations)}); expected the same version or an older journal"
        )
    if version == len(migrations):
        return
    if version:
        _back_up(connection, path.with_name(f"{path.name}.v{version}.bak"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it while this one waited for the lock.
        for step in migrations[_version(connection, path) :]:
            for statement in step.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: Path) -> int:
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreError(f"{path}: is another program's database; expected a Callscore journal")
    return version


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)
