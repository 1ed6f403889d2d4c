"""The tables of a PostgreSQL store, their migrations, and what its users may do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from callscore.core.errors import StoreError, UsageError
from callscore.store.postgres.connection import Link, brief_transaction
from callscore.store.postgres.url import DatabaseUrl

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection

_LOCK = 0x43534A31
"""Of the transaction that migrates ("CSJ1"); other processes wait for it."""

_VERSIONED = """
SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'callscore' AND tablename = 'schema_version'
"""

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE callscore.answers (
        key bytea PRIMARY KEY,
        reply bytea NOT NULL,
        cost_usd numeric,
        attempts integer NOT NULL,
        checksum bigint NOT NULL
    );
    CREATE TABLE callscore.runs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL,
        config_hash text NOT NULL,
        dataset_hash text NOT NULL,
        total bigint NOT NULL,
        status text NOT NULL,
        started_at text NOT NULL,
        finished_at text,
        holder bytea,
        worker bigint,
        preflight_usd numeric NOT NULL DEFAULT 0,
        uncertain_usd numeric NOT NULL DEFAULT 0,
        eval_file text NOT NULL,
        race bytea,
        redact text NOT NULL,
        unstored boolean NOT NULL
    );
    CREATE TABLE callscore.items (
        run_id bigint NOT NULL REFERENCES callscore.runs (id),
        case_id text NOT NULL,
        model text NOT NULL,
        run integer NOT NULL,
        task text NOT NULL,
        key bytea NOT NULL,
        error text,
        paid boolean NOT NULL,
        PRIMARY KEY (run_id, case_id, model, run)
    );
    CREATE INDEX items_of_key ON callscore.items (key);
    CREATE TABLE callscore.judge_answers (
        key bytea PRIMARY KEY,
        run_id bigint NOT NULL REFERENCES callscore.runs (id)
    );
    CREATE INDEX judge_answers_of_run ON callscore.judge_answers (run_id);
    CREATE TABLE callscore.workers (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id bigint,
        host text NOT NULL,
        lease_s double precision NOT NULL,
        expires_at timestamptz NOT NULL,
        dead boolean NOT NULL DEFAULT false,
        allowance_usd numeric NOT NULL DEFAULT 0
    );
    CREATE TABLE callscore.chunks (
        run_id bigint NOT NULL REFERENCES callscore.runs (id),
        model text NOT NULL,
        number integer NOT NULL,
        digest bytea NOT NULL,
        worker bigint,
        epoch integer NOT NULL DEFAULT 0,
        done boolean NOT NULL DEFAULT false,
        PRIMARY KEY (run_id, model, number)
    );
    CREATE TABLE callscore.inflight (
        key bytea PRIMARY KEY,
        worker bigint NOT NULL,
        run_id bigint,
        most_usd numeric NOT NULL
    );
    CREATE INDEX inflight_of_worker ON callscore.inflight (worker);
    CREATE TABLE callscore.lost (
        key bytea NOT NULL,
        worker bigint NOT NULL,
        run_id bigint,
        most_usd numeric NOT NULL,
        PRIMARY KEY (key, worker)
    );
    CREATE TABLE callscore.payments (
        key bytea NOT NULL,
        worker bigint NOT NULL,
        attempt integer NOT NULL,
        run_id bigint,
        usd numeric,
        judge boolean NOT NULL,
        again boolean NOT NULL,
        PRIMARY KEY (key, worker, attempt)
    );
    CREATE INDEX payments_of_run ON callscore.payments (run_id);
    CREATE TABLE callscore.budgets (
        run_id bigint PRIMARY KEY REFERENCES callscore.runs (id),
        limit_usd numeric NOT NULL,
        spent_usd numeric NOT NULL,
        reserved_usd numeric NOT NULL DEFAULT 0
    );
    CREATE TABLE callscore.buckets (
        account text NOT NULL,
        kind text NOT NULL,
        level double precision NOT NULL,
        at timestamptz NOT NULL,
        pause_until timestamptz NOT NULL,
        PRIMARY KEY (account, kind)
    );
    """,
    """
    ALTER TABLE callscore.runs ADD COLUMN version text NOT NULL DEFAULT '';
    """,
    """
    ALTER TABLE callscore.workers ADD COLUMN changes bigint NOT NULL DEFAULT 0;
    CREATE TABLE callscore.uncertain (
        id uuid PRIMARY KEY,
        run_id bigint NOT NULL REFERENCES callscore.runs (id)
    );
    """,
    """
    CREATE TABLE callscore.events (
        seq bigint PRIMARY KEY,
        at text NOT NULL,
        author text NOT NULL,
        kind text NOT NULL,
        subject bytea NOT NULL,
        prior bigint,
        body bytea,
        digest bytea NOT NULL,
        chain bytea NOT NULL
    );
    CREATE INDEX events_of_subject ON callscore.events (subject, seq);
    CREATE TABLE callscore.event_count (last bigint NOT NULL);
    INSERT INTO callscore.event_count VALUES (0);
    """,
    """
    CREATE TABLE callscore.batch_jobs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        token text NOT NULL UNIQUE,
        run_id bigint NOT NULL REFERENCES callscore.runs (id),
        model text NOT NULL,
        state text NOT NULL,
        job bytea NOT NULL
    );
    CREATE TABLE callscore.batch_items (
        key bytea PRIMARY KEY,
        token text NOT NULL REFERENCES callscore.batch_jobs (token) ON DELETE CASCADE,
        position bigint NOT NULL,
        case_id text NOT NULL,
        run integer NOT NULL,
        task text NOT NULL,
        most_usd float8 NOT NULL
    );
    CREATE INDEX batch_items_of_job ON callscore.batch_items (token, position);
    CREATE VIEW callscore.run_replies AS
        SELECT run_id, case_id, model, run, task, key, error, paid, cost_usd, attempts
        FROM callscore.items LEFT JOIN callscore.answers USING (key);
    """,
)
"""The schema, as a list of changes. They are appended, never edited."""


def version_of(connection: Connection, url: DatabaseUrl) -> int:
    """The version of the tables; 0 if there are none. Raises StoreError if they are newer."""
    # to_regclass could answer from a cache, without the tables of a process that just migrated
    if connection.execute(_VERSIONED).fetchone() is None:
        return 0
    row = connection.execute("SELECT max(version) FROM callscore.schema_version").fetchone()
    version = 0 if row is None or row[0] is None else int(row[0])
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{url}: was written by a newer version (schema {version}; this one knows "
            f"{len(MIGRATIONS)}); expected the same version or an older store"
        )
    return version


def migrate(connection: Connection, url: DatabaseUrl) -> None:
    """Migrate to the newest schema in one transaction, while other processes wait."""
    if version_of(connection, url) == len(MIGRATIONS):
        return
    with brief_transaction(connection, url.lease_s):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        # another process may have migrated while this one waited
        version = version_of(connection, url)
        if not version:
            connection.execute("CREATE SCHEMA IF NOT EXISTS callscore")
            connection.execute(
                "CREATE TABLE callscore.schema_version ("
                " version integer PRIMARY KEY, migrated_at timestamptz NOT NULL DEFAULT now())"
            )
        for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
            connection.execute(step.encode())
            connection.execute("INSERT INTO callscore.schema_version VALUES (%s)", [number])


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
