"""Which requests a journal certainly has no answer to: told from memory.

A look into the file for every request costs more than it seems: after each commit of the writer
the reader has to read its pages anew, and nearly all looks find nothing.
"""

from __future__ import annotations

import sqlite3

MOST_KNOWN = 200_000
"""Of more answers than this no list is held; then every look goes to the file."""
SHORT_BYTES = 8


class KnownKeys:
    """Short forms of the keys of all answers. Several keys may share one: a hit is a maybe."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read within a transaction that can write, so that nobody adds any meanwhile."""
        self._last_id = last_id(connection)
        self._short: set[bytes] | None = None
        if self._last_id <= MOST_KNOWN:
            rows = connection.execute(f"SELECT substr(key, 1, {SHORT_BYTES}) FROM answers")
            self._short = {short for (short,) in rows}

    def lacks(self, key: bytes) -> bool:
        """Whether there is certainly no answer; False where that takes a look."""
        return self._short is not None and key[:SHORT_BYTES] not in self._short

    def add(self, key: bytes) -> None:
        """An answer is on its way into the journal."""
        if self._short is not None:
            self._short.add(key[:SHORT_BYTES])
            if len(self._short) > MOST_KNOWN:
                self._short = None

    def heed(self, before: int, after: int) -> None:
        """Take note of the last ids around a commit of ours: others may have written since."""
        if before != self._last_id:
            self._short = None
        self._last_id = after


def last_id(connection: sqlite3.Connection) -> int:
    """The number of the newest answer."""
    return int(connection.execute("SELECT ifnull(max(id), 0) FROM answers").fetchone()[0])
