"""Connections to a journal file: private, durable, patient, and plain about what goes wrong."""

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
"""How long a connection waits while another process writes."""


def create_private(path: Path) -> None:
    """An empty file that only its owner may read, in a folder that exists; or a StoreError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if not os.access(path.parent, os.W_OK | os.X_OK):
            # SQLite writes two more files beside the journal.
            raise PermissionError(13, "the folder is read-only")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from None


def connect(path: Path, factory: type[sqlite3.Connection]) -> sqlite3.Connection:
    """A connection in autocommit mode; a commit is on the disk when it returns (WAL, FULL)."""
    with told_plainly(path):
        connection = sqlite3.connect(
            path, timeout=BUSY_S, isolation_level=None, check_same_thread=False, factory=factory
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """Turns what SQLite says, and what it cannot hold, into a StoreError that names the file."""
    try:
        yield
    except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _DAMAGED:
            raise damaged(path, str(error)) from None
        raise StoreError(f"{path}: cannot keep results: {error}") from None


def damaged(path: Path, what: str) -> StoreError:
    """The error that says so, and how to get at what is left. Nothing is begun anew by itself."""
    shown = shlex.quote(str(path))
    return StoreError(
        f"{path}: is damaged: {what}; keep it, and write what can be read of it to a new file: "
        f"callscore runs --store {shown} --salvage NEW.db"
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything or nothing; holds the write lock from the beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
