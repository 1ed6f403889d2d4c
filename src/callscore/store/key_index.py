"""An in-memory index of the requests without a stored reply.

A lookup in the file is expensive: after each commit of the writer the reader must read its pages
again, and nearly all lookups find nothing.
"""

from __future__ import annotations

import sqlite3

MAX_KEYS = 200_000
"""With more replies than this there is no index; every lookup goes to the file."""
SHORT_BYTES = 8


class KeyIndex:
    """Shortened keys of all replies. Several keys may share one, so a hit is only a maybe."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read within a write transaction, so that no key is added meanwhile."""
        self._last_id = last_id(connection)
        self._short: set[bytes] | None = None
        if self._last_id <= MAX_KEYS:
            rows = connection.execute(f"SELECT substr(key, 1, {SHORT_BYTES}) FROM answers")
            self._short = {short for (short,) in rows}

    def lacks(self, key: bytes) -> bool:
        """Whether there is certainly no reply; False if a lookup is needed."""
        return self._short is not None and key[:SHORT_BYTES] not in self._short

    def add(self, key: bytes) -> None:
        """Add the key of a reply that is being written."""
        if self._short is not None:
            self._short.add(key[:SHORT_BYTES])
            if len(self._short) > MAX_KEYS:
                self._short = None

    def update(self, before: int, after: int) -> None:
        """Compare the last ids around a commit: other processes may have written since."""
        if before != self._last_id:
            self._short = None
        self._last_id = after


def last_id(connection: sqlite3.Connection) -> int:
    """The id of the newest reply."""
    return int(connection.execute("SELECT ifnull(max(id), 0) FROM answers").fetchone()[0])
