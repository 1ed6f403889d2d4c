"""Connections to a PostgreSQL store: opened again when they break, with messages of our own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, TypeVar

from callscore.core.errors import ConfigError, StoreError
from callscore.store.postgres.url import DatabaseUrl

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")
FIRST_WAIT_S, MOST_WAIT_S = 0.05, 1.0
"""Between two attempts to reach the server."""
READ_PATIENCE_S = 60.0
RUN_PATIENCE_S = 3_600.0
"""How long a run waits for a server that cannot be used; meanwhile nothing is sent."""
_AWAY = ("08", "57P", "53")
"""SQLSTATE of a connection that broke, and of a server that stops, starts or has no room: its disk
is full, or it has too many connections."""
_NOT_GRANTED = "42501"
_REPEATED = ("40001", "40P01", "25P03")
"""SQLSTATE of a transaction to repeat: conflict, deadlock, stopped for too long inside it."""


def connect(url: DatabaseUrl) -> Connection:
    """A connection in autocommit mode; raises StoreError.

    It uses no prepared statements and no state of a session, so that a pooler may lie between.
    """
    try:
        import psycopg
    except ImportError:
        raise ConfigError(
            f"{url}: needs psycopg; expected: pip install 'callscore[postgres]'"
        ) from None
    milliseconds = int(url.lease_s * 500)
    try:
        return psycopg.connect(
            "",
            autocommit=True,
            prepare_threshold=None,
            application_name="callscore",
            connect_timeout=max(2, int(url.lease_s / 3)),
            tcp_user_timeout=milliseconds,  # a cut link is noticed before the lease ends
            keepalives_idle=max(1, int(url.lease_s / 3)),
            keepalives_interval=max(1, int(url.lease_s / 6)),
            keepalives_count=2,
            **url.parameters(),  # type: ignore[arg-type]
        )
    except (psycopg.Error, UnicodeError) as error:
        raise store_error(url, error, "cannot be reached", url.demands) from None


@contextmanager
def brief_transaction(connection: Connection, lease_s: float, more: str = "") -> Iterator[None]:
    """A transaction of which the server drops a process that is suspended in the middle, within a
    third of its lease: it must not keep its locks. `more`: further statements at its beginning.

    Statements are sent one by one. psycopg's pipelines end with a message after which the server
    measures no idle time any more, and one that was sent in part counts as active.
    """
    milliseconds = int(lease_s * 1000 / 3)
    begin = f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = {milliseconds}; {more}"
    connection.execute(begin.encode())
    try:
        yield
        connection.commit()
    except BaseException:
        if not connection.closed:
            connection.rollback()
        raise


def store_error(url: DatabaseUrl, error: BaseException, what: str, hint: str = "") -> StoreError:
    """An error without libpq's text, which may contain parameters: class, host and SQLSTATE."""
    if isinstance(error, UnicodeError):
        return StoreError(f"{url}: {what}: {error}")
    state = getattr(error, "sqlstate", None)
    if state == _NOT_GRANTED:
        return StoreError(
            f"{url}: this user may not do that (SQLSTATE {state}); the owner of the tables gives "
            "roles with `callscore grant`"
        )
    shown = type(error).__name__ + (f", SQLSTATE {state}" if state else "")
    return StoreError(f"{url}: {what}: {shown}{hint}")


class Link:
    """One connection, for one purpose. It is opened with its first use, and again if it broke."""

    def __init__(self, url: DatabaseUrl, patience_s: float = READ_PATIENCE_S) -> None:
        self.url = url
        self._patience_s = patience_s
        self.outage: StoreError | None = None
        """Why the server cannot be used now."""
        self._connection: Connection | None = None
        self._lock = Lock()
        self._given_up = Event()

    def do(self, work: Callable[[Connection], T], on_outage: Callable[[], None] | None = None) -> T:
        """The result of the work, repeated while the server cannot be used; it may have been
        carried out before the connection broke.

        Raises StoreError for other errors, or when the patience ends.
        """
        import psycopg

        until, wait = time.monotonic() + self._patience_s, FIRST_WAIT_S
        with self._lock:
            while True:
                failure: StoreError
                try:
                    connection = self._connected()
                except StoreError as error:
                    failure, connection = error, None
                try:
                    if connection is not None:
                        result = work(connection)
                        self.outage = None
                        return result
                except (psycopg.Error, UnicodeError) as error:
                    failure = store_error(self.url, error, "cannot keep results")
                    if not self._may_repeat(error):
                        raise failure from None
                    self._disconnect()
                self.outage = failure
                if on_outage is not None:
                    on_outage()
                if self._given_up.is_set() or time.monotonic() + wait > until:
                    raise failure from None
                self._given_up.wait(wait)
                wait = min(2 * wait, MOST_WAIT_S)

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.url)
        return self._connection

    def _disconnect(self) -> None:
        """Drop a connection of unknown state: one that broke in a pipeline may still look open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _may_repeat(self, error: BaseException) -> bool:
        import psycopg

        state = getattr(error, "sqlstate", None)
        if state is None:  # not of the server: libpq could not send or receive
            broken = self._connection is None or self._connection.closed
            return broken or isinstance(error, psycopg.OperationalError)
        return state in _REPEATED or state.startswith(_AWAY)

    def give_up(self) -> None:
        """Make the next failure final."""
        self._given_up.set()

    def close(self) -> None:
        """Close the connection."""
        self._given_up.set()
        if self._connection is not None:
            self._connection.close()
