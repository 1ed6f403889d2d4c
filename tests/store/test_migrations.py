from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from callscore.core.errors import StoreError
from callscore.store.connection import MIGRATIONS, migrate

NEXT = (*MIGRATIONS, "ALTER TABLE runs ADD COLUMN note TEXT; CREATE INDEX by_name ON runs (name)")

NOW = len(MIGRATIONS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def database(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def test_a_second_time_changes_nothing(path: Path, database: sqlite3.Connection) -> None:
    migrate(database, path)
    before = database.execute("SELECT sql FROM sqlite_master").fetchall()
    migrate(database, path)
    assert database.execute("SELECT sql FROM sqlite_master").fetchall() == before
    assert list(path.parent.glob("*.bak")) == []


def test_a_newer_journal_is_refused(path: Path, database: sqlite3.Connection) -> None:
    migrate(database, path, NEXT)
    with pytest.raises(StoreError, match=f"newer version .schema {NOW + 1}; this one knows {NOW}"):
        migrate(database, path)


def test_an_older_journal_is_backed_up_and_brought_up(
    path: Path, database: sqlite3.Connection
) -> None:
    migrate(database, path)
    migrate(database, path, NEXT)
    assert database.execute("PRAGMA user_version").fetchone() == (NOW + 1,)
    backup = path.with_name(f"journal.db.v{NOW}.bak")
    assert backup.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(backup)) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (NOW,)


def test_a_step_that_fails_leaves_the_old_schema_whole(
    path: Path, database: sqlite3.Connection
) -> None:
    migrate(database, path)
    broken = (*MIGRATIONS, "CREATE TABLE half (x); CREATE TABLE half (x)")
    with pytest.raises(sqlite3.OperationalError):
        migrate(database, path, broken)
    assert database.execute("PRAGMA user_version").fetchone() == (NOW,)
    tables = database.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall()
    assert tables == []


def test_another_programs_database_is_refused(path: Path, database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE recipes (name)")
    with pytest.raises(StoreError, match="another program's database"):
        migrate(database, path)


def test_a_journal_that_another_process_creates_between_two_reads_is_accepted(path: Path) -> None:
    class Interleaved(sqlite3.Connection):
        """Another process creates the journal after the first read."""

        def execute(self, sql: str, *args: object) -> sqlite3.Cursor:
            found = super().execute(sql, *args)  # type: ignore[arg-type]
            if sql == "PRAGMA application_id" and not other.in_transaction:
                rows = found.fetchall()
                migrate(other, path)
                found = super().execute(f"SELECT {rows[0][0]}")
            return found

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        with closing(sqlite3.connect(path, isolation_level=None, factory=Interleaved)) as ours:
            migrate(ours, path)
            assert ours.execute("PRAGMA user_version").fetchone() == (NOW,)
