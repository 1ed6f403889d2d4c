"""A store in a PostgreSQL database: runs and replies of processes on many machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, LiteralString, Self, TypeVar

import msgspec
from msgspec import UnsetType

from callscore.core.case import Failed, Reply
from callscore.core.errors import StoreError, UsageError
from callscore.core.race import RaceCard
from callscore.core.run import CachedReply, RunStatus, Work
from callscore.core.version import __version__
from callscore.store.connection import UnreadableRow
from callscore.store.events import replies_named
from callscore.store.postgres.batch_jobs import PostgresBatchJobs
from callscore.store.postgres.connection import Link, brief_transaction, connect
from callscore.store.postgres.events import PostgresEvents
from callscore.store.postgres.ledger import PostgresReplies, PostgresRun
from callscore.store.postgres.membership import take_over
from callscore.store.postgres.rows import PostgresWriter, money, stored_replies
from callscore.store.postgres.schema import MIGRATIONS, migrate, version_of
from callscore.store.postgres.spill import Spill, left_behind
from callscore.store.postgres.url import DatabaseUrl
from callscore.store.purge import PurgeResult, refuse_jobs
from callscore.store.reply_rows import checksum, from_bytes
from callscore.store.run_records import (
    Failure,
    RunHeader,
    RunRecord,
    decode_holder,
    encode_holder,
    has_ended,
    now,
    record_of,
    this_process,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from callscore.store.postgres.connection import Connection

T = TypeVar("T")
_OF_RUN: LiteralString = """
SELECT runs.id, name, config_hash, dataset_hash, total, status, started_at, finished_at, holder,
    (SELECT count(*) FROM callscore.items WHERE run_id = runs.id AND error IS NULL),
    (SELECT count(*) FROM callscore.items WHERE run_id = runs.id AND error IS NOT NULL),
    (preflight_usd + coalesce((SELECT sum(usd) FROM callscore.payments
        WHERE run_id = runs.id AND NOT judge), 0))::float8,
    (SELECT count(*) FROM callscore.payments
        WHERE run_id = runs.id AND NOT judge AND usd IS NULL),
    coalesce((SELECT sum(usd) FROM callscore.payments WHERE run_id = runs.id AND judge), 0)::float8,
    (uncertain_usd + coalesce((SELECT sum(most_usd) FROM callscore.lost
        WHERE run_id = runs.id), 0))::float8,
    eval_file, race, redact, unstored,
    EXISTS (SELECT 1 FROM callscore.workers WHERE id = runs.worker AND NOT dead),
    coalesce((SELECT sum(usd) FROM callscore.payments WHERE run_id = runs.id AND again), 0)::float8
FROM callscore.runs
"""
_ALONE = "LOCK TABLE callscore.runs IN SHARE ROW EXCLUSIVE MODE"
_HELD: LiteralString = """
SELECT runs.id, name, dataset_hash, holder, worker,
    EXISTS (SELECT 1 FROM callscore.workers WHERE workers.id = runs.worker AND NOT dead)
FROM callscore.runs
"""
_UNFINISHED: LiteralString = f"""
{_HELD} WHERE name = %s AND config_hash = %s AND status <> 'complete' ORDER BY id DESC FOR UPDATE
"""
_HOLDER: LiteralString = f"{_HELD} WHERE id = %s FOR UPDATE"
_TAKE = "UPDATE callscore.runs SET status = 'running', holder = %s WHERE id = %s"
_NEW_RUN = """
INSERT INTO callscore.runs (name, config_hash, dataset_hash, total, eval_file, redact, unstored,
    status, started_at, holder, version)
VALUES (%s, %s, %s, %s, %s, %s, %s, 'running', %s, %s, %s) RETURNING id
"""
_GO_ON = """
UPDATE callscore.runs SET status = 'running', finished_at = NULL, total = %s, holder = %s,
    version = %s
WHERE id = %s
"""
_REOPEN = """
UPDATE callscore.chunks SET done = false, worker = NULL, epoch = epoch + 1
WHERE run_id = %s AND done
"""
_DROP = """
DELETE FROM callscore.runs WHERE id = %(run)s AND preflight_usd = 0 AND uncertain_usd = 0
    AND NOT EXISTS (SELECT 1 FROM callscore.items WHERE run_id = %(run)s)
    AND NOT EXISTS (SELECT 1 FROM callscore.payments WHERE run_id = %(run)s)
    AND NOT EXISTS (SELECT 1 FROM callscore.lost WHERE run_id = %(run)s)
    AND NOT EXISTS (SELECT 1 FROM callscore.batch_jobs WHERE run_id = %(run)s)
"""
_KEYS_OF_CASE = "SELECT model, run, key FROM callscore.items WHERE run_id = %s AND case_id = %s"
_TO_A_CASE = """
SELECT model, run, key, error, reply, checksum
FROM callscore.items LEFT JOIN callscore.answers USING (key)
WHERE run_id = %s AND case_id = %s ORDER BY model, run
"""
_FAILURES = """
SELECT model, error, count(*) FROM callscore.items WHERE run_id = %s AND error IS NOT NULL
GROUP BY model, error ORDER BY count(*) DESC, error
"""
_OF_A_RUN = (
    *("chunks", "budgets", "items", "judge_answers", "payments", "lost", "uncertain"),
    *("batch_jobs", "runs"),
)
_UNUSED = """
DELETE FROM callscore.answers WHERE
    NOT EXISTS (SELECT 1 FROM callscore.items WHERE items.key = answers.key)
    AND NOT EXISTS (SELECT 1 FROM callscore.judge_answers WHERE judge_answers.key = answers.key)
"""
_TEXTS = "SELECT seq, body FROM callscore.events WHERE body IS NOT NULL"
_ONE = "SELECT 1 FROM callscore.answers WHERE key = %s"
_BLANK = "UPDATE callscore.events SET body = NULL WHERE seq = ANY(%s)"


class PostgresStore:
    """Replies and runs in a database; implements `Store`."""

    def __init__(self, url: DatabaseUrl, *, only_reading: bool = False) -> None:
        """Connect; creates or migrates the tables, unless it is opened for reading."""
        self.url = url
        self._only_reading = only_reading
        connect(url).close()  # a wrong address is an error at once, an outage later is not
        self._link = Link(url)
        try:
            if only_reading:
                self._link.do(self._check_version)
            else:
                self._link.do(lambda connection: migrate(connection, url))
                self._write_left_behind()
        except StoreError:
            self.close()
            raise

    def _check_version(self, connection: Connection) -> None:
        version = version_of(connection, self.url)
        if version < len(MIGRATIONS):
            raise UsageError(
                f"{self.url}: has schema {version}; expected {len(MIGRATIONS)}: `callscore run` "
                "as the owner of the tables migrates them"
            )

    def _write_left_behind(self) -> None:
        """Store paid replies that an ended process of this machine could not write."""
        for path, paid in left_behind(self.url):
            known = self._ids([row.run_id for row in paid if row.run_id is not None])
            writer = PostgresWriter(self.url, Spill(self.url))
            try:
                writer.write([row for row in paid if row.run_id is None or row.run_id in known])
            finally:
                writer.close()
            path.unlink()

    def _ids(self, wanted: Sequence[int]) -> set[int]:
        rows = self._rows("SELECT id FROM callscore.runs WHERE id = ANY(%s)", list(wanted))
        return {row[0] for row in rows}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def open_run(self, header: RunHeader, *, resume: bool = False) -> PostgresRun:
        """Lock a run for this process: the unfinished one of this name and config, or a new one."""
        return self._hold(self._in_transaction(lambda c: self._take_run(c, header, resume=resume)))

    def hold_run(self, run_id: int) -> PostgresRun:
        """Lock a run, finished or not; raises UsageError if a living process holds it."""

        def take(connection: Connection) -> None:
            connection.execute(_ALONE)
            _end_dead_holders(connection, connection.execute(_HOLDER, [run_id]).fetchall())
            held = [encode_holder(this_process()), run_id]
            connection.execute(_TAKE, held)

        self.run(run_id)
        self._in_transaction(take)
        return self._hold(run_id)

    def _hold(self, run_id: int) -> PostgresRun:
        run = PostgresRun(self, run_id, is_holder=True)
        self._execute("UPDATE callscore.runs SET worker = %s WHERE id = %s", run.member.id, run_id)
        return run

    def _take_run(self, connection: Connection, header: RunHeader, *, resume: bool) -> int:
        # two processes with the same eval file must not both find no run
        connection.execute(_ALONE)
        found = connection.execute(_UNFINISHED, (header.name, header.config_hash)).fetchall()
        _end_dead_holders(connection, found)
        holder_now = encode_holder(this_process())
        if not (resume and found):
            values = msgspec.structs.astuple(header)
            row = connection.execute(_NEW_RUN, (*values, now(), holder_now, __version__)).fetchone()
            assert row is not None
            return int(row[0])
        run_id, _, dataset_hash, *_ = found[0]
        if dataset_hash != header.dataset_hash:
            raise UsageError(
                f"run {run_id} of {header.name!r}: the data has changed since it began; start a "
                "new run instead (replies to unchanged requests are stored and cost nothing)"
            )
        connection.execute(_GO_ON, (header.total, holder_now, __version__, run_id))
        connection.execute(_REOPEN, [run_id])
        return int(run_id)

    def check_joinable(self, run_id: int, header: RunHeader) -> None:
        """Raises UsageError unless a run can be worked on with this eval file and data."""
        record = self.run(run_id)
        if record.status not in ("running", "broken off"):
            raise UsageError(f"run {run_id}: has ended ({record.status}); expected a running one")
        theirs = record.header
        version = self._rows("SELECT version FROM callscore.runs WHERE id = %s", run_id)[0][0]
        for what, ours, expected in (
            ("Callscore", __version__, version),
            ("eval file", header.config_hash, theirs.config_hash),
            ("data", header.dataset_hash, theirs.dataset_hash),
        ):
            if ours != expected:
                raise UsageError(
                    f"run {run_id}: was started with another {what} ({expected}) than is here "
                    f"({ours}); expected the same on every machine"
                )
        if not self._rows("SELECT 1 FROM callscore.chunks WHERE run_id = %s LIMIT 1", run_id):
            raise UsageError(f"run {run_id}: has no requests to share: it is a race, or just began")

    def budget_of(self, run_id: int) -> float | None:
        """The budget of a run; None if it has none."""
        rows = self._rows(
            "SELECT limit_usd::float8 FROM callscore.budgets WHERE run_id = %s", run_id
        )
        return rows[0][0] if rows else None

    def newest_running(self, name: str) -> int:
        """The newest run of this name that is in progress; raises UsageError if there is none."""
        found = self._rows(
            "SELECT max(id) FROM callscore.runs WHERE name = %s AND status = 'running'", name
        )[0][0]
        if found is None:
            raise UsageError(f"{self.url}: no run of {name!r} is in progress")
        return int(found)

    def join_run(self, run_id: int) -> PostgresRun:
        """Work on a run that another process holds."""
        return PostgresRun(self, run_id, is_holder=False)

    def events(self) -> PostgresEvents:
        """What people decided about stored answers; to be closed by the caller."""
        return PostgresEvents(self.url, only_reading=self._only_reading)

    def batch_jobs(self) -> PostgresBatchJobs:
        """All jobs at batch APIs."""
        return PostgresBatchJobs(self._link)

    def give_up(self) -> None:
        """Wait no longer for a server that cannot be used."""
        self._link.give_up()

    def open_cache(self) -> PostgresReplies:
        """The replies of judges without a run."""
        return PostgresReplies(self)

    def runs(self) -> list[RunRecord]:
        """Every run, newest first, with status, coverage and cost."""
        return [self._record(row) for row in self._rows(_OF_RUN + " ORDER BY runs.id DESC")]

    def run(self, run_id: int) -> RunRecord:
        """One run; raises UsageError if it does not exist."""
        rows = self._rows(_OF_RUN + " WHERE runs.id = %s", run_id)
        if not rows:
            raise UsageError(f"{self.url}: has no run {run_id}")
        return self._record(rows[0])

    def progress(self) -> Mapping[int, str]:
        """By run, newest first, a text that changes with its progress; cheap."""
        rows = self._rows(
            "SELECT id, status, started_at, finished_at, total, CASE status WHEN 'running' THEN"
            " (SELECT count(*) FROM callscore.items WHERE run_id = runs.id) END"
            " FROM callscore.runs ORDER BY id DESC"
        )
        return {int(row[0]): "/".join(map(str, row[1:])) for row in rows}

    def find_unfinished(self, header: RunHeader) -> RunRecord | None:
        """The unfinished run of this name that is most similar to this one."""
        rows = self._rows(
            _OF_RUN + " WHERE name = %s AND status <> 'complete' ORDER BY config_hash = %s DESC,"
            " dataset_hash = %s DESC, runs.id DESC LIMIT 1",
            header.name,
            header.config_hash,
            header.dataset_hash,
        )
        return self._record(rows[0]) if rows else None

    def has_answered(self, run_id: int, work: Work) -> bool:
        """Whether a run has a reply of this model to this case, to any prompt."""
        return bool(
            self._rows(
                "SELECT 1 FROM callscore.items WHERE run_id = %s AND case_id = %s AND model = %s"
                " AND run = %s AND error IS NULL",
                run_id,
                work.case_id,
                work.model,
                work.run,
            )
        )

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The reply to a request; None if there is none, or if it is damaged."""
        return self._do(lambda connection: stored_replies(connection, [key])).get(key)

    def judge_keys(self, run_id: int) -> set[bytes]:
        """The keys of the requests to judges that a run has paid for."""
        rows = self._rows("SELECT key FROM callscore.judge_answers WHERE run_id = %s", run_id)
        return {row[0] for row in rows}

    def replies_to(self, run_id: int, case_id: str) -> Mapping[str, Mapping[int, Reply | Failed]]:
        """The replies of a run to one case, by model and repeat."""
        found: dict[str, dict[int, Reply | Failed]] = {}
        for model, run, key, error, reply, expected in self._rows(_TO_A_CASE, run_id, case_id):
            if error is not None:
                found.setdefault(model, {})[run] = Failed("model", error)
            elif reply is not None and checksum(key, reply) == expected:
                found.setdefault(model, {})[run] = from_bytes(reply)
        return found

    def reply_keys(self, run_id: int, case_id: str) -> Mapping[tuple[str, int], bytes]:
        """The keys of the replies of a run to one case, by model and repeat."""
        rows = self._rows(_KEYS_OF_CASE, run_id, case_id)
        return {(model, run): bytes(key) for model, run, key in rows}

    def charge_preflight(self, run_id: int, usd: float) -> None:
        """Record what a run has paid for its preflight."""
        self._execute(
            "WITH charged AS (UPDATE callscore.runs SET preflight_usd = preflight_usd + %(usd)s"
            " WHERE id = %(run)s) UPDATE callscore.budgets SET spent_usd = spent_usd + %(usd)s"
            " WHERE run_id = %(run)s",
            named={"usd": money(usd), "run": run_id},
        )

    def record_race(self, run_id: int, race: RaceCard | UnsetType | None) -> None:
        """Store the result of a race; None or UNSET if the run was not a race."""
        raw = msgspec.json.encode(race) if isinstance(race, RaceCard) else None
        self._execute("UPDATE callscore.runs SET race = %s WHERE id = %s", raw, run_id)

    def failures(self, run_id: int) -> list[Failure]:
        """The most frequent cause of failure of every model of a run."""
        found: dict[str, Failure] = {}
        for model, error, number in self._rows(_FAILURES, run_id):
            found.setdefault(model, Failure(model, error, number))
        return [found[model] for model in sorted(found)]

    def drop_run(self, run_id: int) -> None:
        """Delete a run without results."""

        def drop(connection: Connection) -> None:
            for table in ("chunks", "budgets"):
                statement = f"DELETE FROM callscore.{table} WHERE run_id = %s AND NOT EXISTS"
                used = " (SELECT 1 FROM callscore.payments WHERE run_id = %s)"
                connection.execute((statement + used).encode(), [run_id, run_id])
            connection.execute(_DROP, {"run": run_id})

        self._in_transaction(drop)

    def add_work(self, run_id: int, pieces: int) -> None:
        """Add work that was not known when the run began."""
        self._execute("UPDATE callscore.runs SET total = total + %s WHERE id = %s", pieces, run_id)

    def end_run(self, run_id: int, status: RunStatus) -> None:
        """Record how a run ended, and release it."""
        self._execute(
            "UPDATE callscore.runs SET status = %s, finished_at = %s, holder = NULL, worker = NULL"
            " WHERE id = %s",
            status,
            now(),
            run_id,
        )

    def purge(self, run_ids: Sequence[int]) -> PurgeResult:
        """Delete runs with every reply that no other run uses, and rewrite the tables.

        `VACUUM FULL` locks each table for as long as it takes; after a DELETE alone, most texts are
        still in the files.
        """
        for run_id in run_ids:
            if self.run(run_id).status == "running":
                raise UsageError(f"run {run_id} is running; expected a run that has ended")
            refuse_jobs(run_id, self.batch_jobs())
        before, replies = self._size(), self._count()

        def delete(connection: Connection) -> None:
            take_over(connection)
            for table in _OF_A_RUN:
                column = "id" if table == "runs" else "run_id"
                statement = f"DELETE FROM callscore.{table} WHERE {column} = ANY(%s)"
                connection.execute(statement.encode(), [list(run_ids)])
            connection.execute(_UNUSED)
            rows = connection.execute(_TEXTS).fetchall()
            gone = [
                seq
                for seq, key in replies_named(rows)
                if connection.execute(_ONE, [key]).fetchone() is None
            ]
            connection.execute(_BLANK, [gone])

        self._in_transaction(delete)
        left = self._count()
        for table in ("answers", "items", "events"):
            self._execute(f"VACUUM FULL callscore.{table}")
        return PurgeResult(len(run_ids), replies - left, max(0, before - self._size()))

    def _count(self) -> int:
        return int(self._rows("SELECT count(*) FROM callscore.answers")[0][0])

    def _size(self) -> int:
        rows = self._rows("SELECT pg_total_relation_size(%s)", "callscore.answers")
        return int(rows[0][0])

    def _record(self, row: tuple[Any, ...]) -> RunRecord:
        try:
            return record_of(row, is_held=bool(row[19]), paid_again_usd=row[20])
        except UnreadableRow as error:
            raise StoreError(f"{self.url}: is damaged: {error}") from None

    def _do(self, work: Callable[[Connection], T]) -> T:
        try:
            return self._link.do(work)
        except UnreadableRow as error:
            raise StoreError(f"{self.url}: is damaged: {error}") from None

    def _in_transaction(self, work: Callable[[Connection], T]) -> T:
        def carry_out(connection: Connection) -> T:
            with brief_transaction(connection, self.url.lease_s):
                return work(connection)

        return self._link.do(carry_out)

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._do(lambda c: c.execute(statement.encode(), values or None).fetchall())

    def _execute(
        self, statement: str, *values: object, named: Mapping[str, object] | None = None
    ) -> None:
        self._do(lambda c: c.execute(statement.encode(), named or values or None))


def _end_dead_holders(connection: Connection, found: Sequence[tuple[Any, ...]]) -> None:
    """Free what ended processes of this machine hold; raises UsageError if a holder is alive."""
    ended = []
    for run_id, name, _, raw, worker, is_alive in found:
        holder = None if raw is None else decode_holder(raw)
        if holder is None or not is_alive:
            continue
        if not has_ended(holder):
            raise UsageError(
                f"run {run_id} of {name!r} is held by {holder}; wait for it, or stop that process"
            )
        ended.append(worker)
    take_over(connection, ended)


def purge_database(url: DatabaseUrl, run_ids: Sequence[int]) -> PurgeResult:
    """Delete runs from a database."""
    with PostgresStore(url) as store:
        return store.purge(run_ids)
