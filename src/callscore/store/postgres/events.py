"""The events of a PostgreSQL store: one writer at a time, so that their numbers have no gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, TypeVar

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
from callscore.store.connection import UnreadableRow
from callscore.store.events import COLUMNS, event_of
from callscore.store.postgres.connection import Link, brief_transaction
from callscore.store.postgres.url import DatabaseUrl
from callscore.store.run_records import now

if TYPE_CHECKING:
    from collections.abc import Callable

    from callscore.store.postgres.connection import Connection

T = TypeVar("T")
_SELECT = f"SELECT {COLUMNS} FROM callscore.events"
_ADD = f"INSERT INTO callscore.events ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
_LOCK = "SELECT last FROM callscore.event_count FOR UPDATE"
_COUNT = "UPDATE callscore.event_count SET last = %s"
_LAST = "SELECT last FROM callscore.event_count"


class PostgresEvents:
    """The events of one database, with a connection of their own; implements `Events`."""

    def __init__(self, url: DatabaseUrl, *, only_reading: bool) -> None:
        self._url, self._only_reading = url, only_reading
        self._link = Link(url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

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
        at = now()

        def write(connection: Connection) -> LoggedEvent:
            with brief_transaction(connection, self._url.lease_s):
                connection.execute(_LOCK)
                newest = _newest(connection, subject, kind, author if blind else None)
                if newest is not None and _is_same(newest, at, author, prior, body):
                    return newest  # written before the connection broke
                check_prior(newest, prior, body)
                event = next_event(_head(connection), Entry(at, author, kind, subject, prior, body))
                connection.execute(_ADD.encode(), msgspec.structs.astuple(event))
                connection.execute(_COUNT, [event.seq])
                return event

        return self._do(write)

    def head(self) -> EventHead:
        """The end of the log."""
        return self._do(_head)

    def since(
        self, seq: int = 0, kind: Kind | None = None, limit: int = -1
    ) -> Sequence[LoggedEvent]:
        """The events after a number, in their order; of one kind if it is given."""
        most = None if limit < 0 else limit
        if kind is None:
            return self._events("WHERE seq > %s ORDER BY seq LIMIT %s", seq, most)
        return self._events("WHERE seq > %s AND kind = %s ORDER BY seq LIMIT %s", seq, kind, most)

    def blank(self, numbers: Sequence[int]) -> None:
        """Delete the texts of events; the chain holds without them."""
        self._refuse_if_read_only()
        statement = "UPDATE callscore.events SET body = NULL WHERE seq = ANY(%s)"
        self._do(lambda connection: connection.execute(statement, [list(numbers)]))

    def faults(self) -> Sequence[Fault]:
        """What is missing or altered; none if the log is as it was written."""
        last = self._do(lambda connection: connection.execute(_LAST).fetchall())
        return list(find_faults(self.since(), max((row[0] for row in last), default=0)))

    def _refuse_if_read_only(self) -> None:
        if self._only_reading:
            raise StoreError(f"{self._url}: is read-only; expected a store that can be written")

    def _events(self, condition: str, *values: object) -> Sequence[LoggedEvent]:
        statement = f"{_SELECT} {condition}".encode()
        return self._do(lambda c: [event_of(row) for row in c.execute(statement, values)])

    def _do(self, work: Callable[[Connection], T]) -> T:
        try:
            return self._link.do(work)
        except UnreadableRow as error:
            raise StoreError(f"{self._url}: is damaged: {error}") from None


def _newest(
    connection: Connection, subject: bytes, kind: Kind, author: str | None
) -> LoggedEvent | None:
    statement = f"{_SELECT} WHERE subject = %s AND kind = %s"
    values: list[object] = [subject, kind]
    if author is not None:
        statement += " AND author = %s"
        values.append(author)
    row = connection.execute((statement + " ORDER BY seq DESC LIMIT 1").encode(), values).fetchone()
    return None if row is None else event_of(row)


def _is_same(event: LoggedEvent, at: str, author: str, prior: int | None, body: object) -> bool:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return prior is not None and (event.at, event.author, event.prior, event.body) == (
        at,
        author,
        prior,
        raw,
    )


def _head(connection: Connection) -> EventHead:
    statement = "SELECT seq, chain FROM callscore.events ORDER BY seq DESC LIMIT 1"
    row = connection.execute(statement).fetchone()
    return EventHead() if row is None else EventHead(int(row[0]), bytes(row[1]))
