"""What the users of a PostgreSQL store may do: the owner of the tables grants it, by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from callscore.core.errors import UsageError
from callscore.store.postgres.connection import Link, brief_transaction
from callscore.store.postgres.schema import migrate
from callscore.store.postgres.url import DatabaseUrl

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection

_RUNS = ("runs", "items", "payments", "lost", "uncertain", "judge_answers", "batch_jobs")
_SENDING = ("answers", "workers", "chunks", "inflight", "budgets", "buckets", "batch_items")
_EVENTS = ("events", "event_count")
_VERSION = "schema_version"
_OVERVIEW = "run_replies"
"""A view of the items of runs, with the cost of their replies and without their text."""
ROLES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "writer": {
        "SELECT": (_VERSION, _OVERVIEW, *_EVENTS, *_RUNS, *_SENDING),
        "INSERT": (*_RUNS, *_SENDING),
        "UPDATE": (*_RUNS, *_SENDING),
        "DELETE": (*_RUNS, *_SENDING),
    },
    "reviewer": {
        "SELECT": (_VERSION, _OVERVIEW, *_EVENTS, *_RUNS, *_SENDING),
        "INSERT": ("events",),
        "UPDATE": ("event_count",),
    },
    "reader": {
        "SELECT": (_VERSION, _OVERVIEW, *_RUNS, "workers"),
    },
}
"""By role, the tables of each privilege. Only the owner migrates, purges and blanks reviews."""
_OWNER = """
SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'callscore'
"""


def grant_role(url: DatabaseUrl, role: str, user: str) -> None:
    """Give a user of the database exactly the privileges of a role; raises UsageError, StoreError.

    The tables are created or migrated first.
    """
    link = Link(url)
    try:
        link.do(lambda connection: migrate(connection, url))
        link.do(lambda connection: _grant(connection, url, role, user))
    finally:
        link.close()


def _grant(connection: Connection, url: DatabaseUrl, role: str, user: str) -> None:
    from psycopg.sql import SQL, Identifier

    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [user]).fetchone() is None:
        raise UsageError(f"{url}: has no user {user!r}; expected one that CREATE ROLE made")
    if connection.execute(_OWNER).fetchone() == (user,):
        raise UsageError(f"{url}: {user!r} owns the tables; expected another user")
    name = Identifier(user)
    with brief_transaction(connection, url.lease_s):
        connection.execute(SQL("REVOKE ALL ON ALL TABLES IN SCHEMA callscore FROM {}").format(name))
        connection.execute(SQL("GRANT USAGE ON SCHEMA callscore TO {}").format(name))
        for privilege, tables in ROLES[role].items():
            named = SQL(", ").join(Identifier("callscore", table) for table in tables)
            statement = SQL("GRANT {} ON {} TO {}").format(SQL(privilege), named, name)
            connection.execute(statement)
