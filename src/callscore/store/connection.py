"""The SQLite file of a journal: permissions, connections, migrations of the schema, errors."""

from __future__ import annotations

import os
import shlex
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from callscore.core.errors import StoreError
from callscore.store.files import make_private_folder

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


_PRIMARY = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY_S = 60.0
"""How long a connection waits for another process that writes."""
RETRY_S = 0.01

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
    """
    ALTER TABLE runs ADD COLUMN race BLOB;
    """,
    """
    ALTER TABLE runs ADD COLUMN redact TEXT NOT NULL DEFAULT '';
    ALTER TABLE runs ADD COLUMN unstored INTEGER NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE batch_jobs (
        id INTEGER PRIMARY KEY,
        token TEXT NOT NULL UNIQUE,
        run_id INTEGER NOT NULL REFERENCES runs (id),
        model TEXT NOT NULL,
        state TEXT NOT NULL,
        job BLOB NOT NULL
    );
    CREATE TABLE batch_items (
        key BLOB PRIMARY KEY,
        token TEXT NOT NULL,
        case_id TEXT NOT NULL,
        run INTEGER NOT NULL,
        task TEXT NOT NULL,
        most_usd REAL NOT NULL
    );
    CREATE INDEX batch_items_of_job ON batch_items (token);
    """,
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        author TEXT NOT NULL,
        kind TEXT NOT NULL,
        subject BLOB NOT NULL,
        prior INTEGER,
        body BLOB,
        digest BLOB NOT NULL,
        chain BLOB NOT NULL
    );
    CREATE INDEX events_of_subject ON events (subject, seq);
    """,
)
"""The schema, as a list of changes. They are appended, never edited."""


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; raises StoreError."""
    try:
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if not os.access(path.parent, os.W_OK | os.X_OK):
            # SQLite writes two more files next to the journal.
            raise PermissionError(13, "the folder is read-only")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


def log_of(path: Path) -> Path:
    """The write-ahead log of a journal."""
    return path.with_name(f"{path.name}-wal")


def is_empty(path: Path) -> bool:
    """Whether nothing was written to a journal yet."""
    return not path.stat().st_size and not log_of(path).exists()


def is_writable(path: Path) -> bool:
    """Whether a journal and the two files that SQLite writes next to it are writable."""
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.R_OK | os.W_OK, effective_ids=effective) and os.access(
        path.parent, os.W_OK | os.X_OK, effective_ids=effective
    )


def connect_for_reading(path: Path, factory: type[sqlite3.Connection]) -> sqlite3.Connection:
    """A connection to a read-only file: SQLite creates no files next to it."""
    with map_sqlite_errors(path):
        return _connection(f"{path.absolute().as_uri()}?mode=ro&immutable=1", factory)


def _connection(where: str, factory: type[sqlite3.Connection]) -> sqlite3.Connection:
    return sqlite3.connect(
        where,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
        factory=factory,
        uri=True,
    )


def connect(path: Path, factory: type[sqlite3.Connection]) -> sqlite3.Connection:
    """A connection in autocommit mode; a commit is durable when it returns (WAL, FULL)."""
    with map_sqlite_errors(path):
        connection = _connection(path.absolute().as_uri(), factory)
        try:
            # the file may belong to another program
            connection.execute("PRAGMA trusted_schema = OFF")
            _enter_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log, whatever other processes do to the file.

    SQLite does not wait for its timeout here: while another connection switches or recovers the
    same file, the pragma fails at once.
    """
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & _PRIMARY == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= until:
                raise
            time.sleep(RETRY_S)


class UnreadableRow(Exception):
    """A row of a journal that no version of Callscore has written."""


@contextmanager
def map_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a StoreError that names the file."""
    try:
        yield
    except UnreadableRow as error:
        raise damage_error(path, str(error)) from None
    except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
        if is_damage(error):
            raise damage_error(path, str(error)) from None
        raise StoreError(f"{path}: cannot keep results: {error}") from None


def is_damage(error: Exception) -> bool:
    """Whether SQLite could read a file, and it is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _DAMAGED


def damage_error(path: Path, what: str) -> StoreError:
    """The error for a damaged journal, with the command that salvages it.

    A damaged journal is never replaced silently.
    """
    shown = shlex.quote(str(path))
    return StoreError(
        f"{path}: is damaged: {what}; keep it, and write what can be read of it to a new file: "
        f"callscore runs --store {shown} --salvage NEW.db"
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from the beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


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
    alone = not connection.in_transaction
    if alone:
        connection.execute("BEGIN")  # another process may create the journal between the reads
    try:
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    finally:
        if alone:
            connection.execute("ROLLBACK")  # nothing was written
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreError(f"{path}: is another program's database; expected a Callscore journal")
    return version


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)


class ReadableJournal(NamedTuple):
    """A journal that is only read: the file itself, or a temporary copy."""

    path: Path
    folder: TemporaryDirectory[str] | None = None

    @property
    def is_original(self) -> bool:
        """Whether it is the file itself."""
        return self.folder is None

    def remove(self) -> None:
        """Delete the copy."""
        if self.folder is not None:
            self.folder.cleanup()


def open_read_only(path: Path) -> ReadableJournal:
    """The journal itself; a copy if it has a write-ahead log, or an older schema."""
    if not _has_log(path) and _is_of_this_version(path):
        return ReadableJournal(path)
    import shutil
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix="callscore-")
    copy = Path(folder.name) / path.name
    try:
        shutil.copyfile(path, copy)
        if _has_log(path):
            shutil.copyfile(log_of(path), log_of(copy))
    except OSError as error:
        folder.cleanup()
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    return ReadableJournal(copy, folder)


def _has_log(path: Path) -> bool:
    try:
        return log_of(path).stat().st_size > 0
    except OSError:
        return False


def _is_of_this_version(path: Path) -> bool:
    with (
        map_sqlite_errors(path),
        closing(connect_for_reading(path, sqlite3.Connection)) as connection,
    ):
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    return version >= len(MIGRATIONS)
