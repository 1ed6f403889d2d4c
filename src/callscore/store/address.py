"""Where a store is, and how it is opened and purged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from callscore.core.errors import UsageError
from callscore.store.postgres.url import DatabaseUrl, is_database, read_url

if TYPE_CHECKING:  # a command that opens no store does not load SQLite
    from callscore.store.protocol import Store
    from callscore.store.purge import PurgeResult

StoreAddress = Path | DatabaseUrl
"""A file, or a PostgreSQL database."""
LOCAL_FILES = ".callscore"
"""The folder of the files that a machine keeps for a database, next to the eval file."""


def read_address(given: str | os.PathLike[str], folder: Path = Path()) -> StoreAddress:
    """A store by its path in a folder, or by its URL; raises ConfigError."""
    if isinstance(given, str) and is_database(given):
        return read_url(given, folder / LOCAL_FILES)
    return folder / given


def as_option(address: StoreAddress) -> str:
    """The store as an option of a command."""
    return str(address) if isinstance(address, Path) else address.text


def is_written(address: StoreAddress) -> bool:
    """Whether there is such a store; an empty file is none: SQLite would make one of it."""
    if not isinstance(address, Path) or not address.exists():
        return address.exists()
    from callscore.store.connection import is_empty

    return not is_empty(address)


def require_store(address: StoreAddress, hint: str = "") -> None:
    """Raise UsageError unless there is such a store."""
    if not is_written(address):
        raise UsageError(
            f"{address}: no such store; expected one that `callscore run` has written{hint}"
        )


def open_store(address: StoreAddress, *, only_reading: bool = False) -> Store:
    """Open a store, or create it; with `only_reading`, it must exist and may be read-only.

    Raises UsageError if there is no such store, StoreError if it cannot be used.
    """
    if only_reading:
        require_store(address)
    if isinstance(address, Path):
        from callscore.store.journal import Journal

        return Journal(address, only_reading=only_reading)
    from callscore.store.postgres.store import PostgresStore

    return PostgresStore(address, only_reading=only_reading)


def is_read_only(address: StoreAddress) -> bool:
    """Whether this process may not write to a store; a database is asked when it is written to."""
    if not isinstance(address, Path):
        return False
    return not (os.access(address, os.W_OK) and os.access(address.parent, os.W_OK))


def purge_store(address: StoreAddress, run_ids: Sequence[int]) -> PurgeResult:
    """Delete runs with every reply that no other run uses; raises UsageError for a living one."""
    if isinstance(address, Path):
        from callscore.store.purge import purge_runs

        return purge_runs(address, run_ids)
    from callscore.store.postgres.store import purge_database
    from callscore.store.results_index import remove_index

    remove_index(address)  # it has what was said in calls, and quotes of replies
    return purge_database(address, run_ids)
