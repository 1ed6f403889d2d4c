"""The events of a journal: appended in one transaction each, never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Self

import msgspec

from callscore.core.errors import StoreError
from callscore.core.events import (
    Entry,
    EventHead,
    Fault,
    Kind,
    LoggedEvent,
    check_prior,
    find_faults,
    next_event,
)
from callscore.store.connection import UnreadableRow, map_sqlite_errors, transaction
from callscore.store.run_records import now

COLUMNS = "seq, at, author, kind, subject, prior, body, digest, chain"
_ADD = f"INSERT INTO events ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_HEAD = "SELECT seq, chain FROM events ORDER BY seq DESC LIMIT 1"
_NEWEST = f"SELECT {COLUMNS} FROM events WHERE subject = ? AND kind = ?"
_LAST = "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'"


class JournalEvents:
    """The events of one journal, with a connection of their own; implements `Events`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, only_reading: bool) -> None:
        self._path, self._connection, self._only_reading = path, connection, only_reading
        self._lock = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def append(
        self,
        kind: Kind,
        subject: bytes,
        body: object,
        author: str,
        prior: int | None = None,
        *,
        blind: bool = False,
    ) -> LoggedEvent:
        """Write an event; it is durable when this returns. Raises EventConflict, StoreError."""
        self._refuse_if_read_only()
        with self._lock, map_sqlite_errors(self._path), transaction(self._connection):
            check_prior(self._newest(subject, kind, author if blind else None), prior, body)
            event = next_event(self._head(), Entry(now(), author, kind, subject, prior, body))
            self._connection.execute(_ADD, msgspec.structs.astuple(event))
            return event

    def head(self) -> EventHead:
        """The end of the log."""
        with self._lock, map_sqlite_errors(self._path):
            return self._head()

    def since(
        self, seq: int = 0, kind: Kind | None = None, limit: int = -1
    ) -> Sequence[LoggedEvent]:
        """The events after a number, in their order; of one kind if it is given."""
        if kind is None:
            return self._events("WHERE seq > ? ORDER BY seq LIMIT ?", seq, limit)
        return self._events("WHERE seq > ? AND kind = ? ORDER BY seq LIMIT ?", seq, kind, limit)

    def blank(self, numbers: Sequence[int]) -> None:
        """Delete the texts of events; the chain holds without them."""
        self._refuse_if_read_only()
        with self._lock, map_sqlite_errors(self._path), transaction(self._connection):
            blank_events(self._connection, numbers)

    def faults(self) -> Sequence[Fault]:
        """What is missing or altered; none if the log is as it was written."""
        with self._lock:
            events = self.since()
            with map_sqlite_errors(self._path):
                last = int(self._connection.execute(_LAST).fetchone()[0])
        return list(find_faults(events, last))

    def _refuse_if_read_only(self) -> None:
        if self._only_reading:
            raise StoreError(f"{self._path}: is read-only; expected a store that can be written")

    def _newest(self, subject: bytes, kind: Kind, author: str | None) -> LoggedEvent | None:
        by = "" if author is None else " AND author = ?"
        values = (subject, kind) if author is None else (subject, kind, author)
        row = self._connection.execute(f"{_NEWEST}{by} ORDER BY seq DESC LIMIT 1", values)
        found = row.fetchone()
        return None if found is None else event_of(found)

    def _head(self) -> EventHead:
        row = self._connection.execute(_HEAD).fetchone()
        return EventHead() if row is None else EventHead(int(row[0]), bytes(row[1]))

    def _events(self, condition: str, *values: object) -> Sequence[LoggedEvent]:
        with self._lock, map_sqlite_errors(self._path):
            rows = self._connection.execute(f"SELECT {COLUMNS} FROM events {condition}", values)
            return [event_of(row) for row in rows]


def event_of(row: Sequence[Any]) -> LoggedEvent:
    """The event of a row; raises UnreadableRow."""
    fields = dict(zip(LoggedEvent.__struct_fields__, row, strict=True))
    try:
        return msgspec.convert(fields, LoggedEvent)
    except msgspec.ValidationError as error:
        raise UnreadableRow(f"an event cannot be read: {error}") from None


def blank_events(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Delete the texts of events, in a transaction of the caller."""
    connection.executemany("UPDATE events SET body = NULL WHERE seq = ?", [(n,) for n in numbers])


class _AboutReply(msgspec.Struct, frozen=True):
    """What the bodies of events on replies have in common: the key of the reply, as hex digits."""

    reply: str


def replies_named(rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Number and key of the reply, of every event whose text names a reply."""
    for seq, body in rows:
        try:
            yield seq, bytes.fromhex(msgspec.json.decode(body, type=_AboutReply).reply)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
            continue  # it is about something else
