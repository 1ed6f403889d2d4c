"""Where a store is, and how it is opened."""

from __future__ import annotations

from pathlib import Path

from callscore.core.errors import UsageError
from callscore.store.journal import Journal
from callscore.store.protocol import Store


def open_store(address: Path, *, only_reading: bool = False) -> Store:
    """Open a store, or create it; with `only_reading`, it must exist and may be read-only.

    Raises UsageError if there is no such store, StoreError if it cannot be used.
    """
    if only_reading and not address.exists():
        raise UsageError(f"{address}: no such store; expected one that `callscore run` has written")
    return Journal(address, only_reading=only_reading)
