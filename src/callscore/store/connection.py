"""SQLite connections to a journal: private file, durable commits, clear errors."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from callscore.core.errors import StoreError

_PRIMARY = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY_S = 60.0
"""How long a connection waits for another process that writes."""


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; raises StoreError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if not os.access(path.parent, os.W_OK | os.X_OK):
            # SQLite writes two more files next to the journal.
            raise PermissionError(13, "the folder is read-only")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


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
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


class Unreadable(Exception):
    """A row that no version of this package has written."""


@contextmanager
def map_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a StoreError that names the file."""
    try:
        yield
    except Unreadable as error:
        raise damaged(path, str(error)) from None
    except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _DAMAGED:
            raise damaged(path, str(error)) from None
        raise StoreError(f"{path}: cannot keep results: {error}") from None


def damaged(path: Path, what: str) -> StoreError:
    """The error for a damaged journal, with instructions. It is never replaced silently."""
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
