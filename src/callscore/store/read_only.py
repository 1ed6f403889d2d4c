"""Read-only journals: opened in place, or from a copy if SQLite has to write."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from callscore.core.errors import StoreError
from callscore.store.connection import (
    MIGRATIONS,
    connect_for_reading,
    log_of,
    map_sqlite_errors,
)

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


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
