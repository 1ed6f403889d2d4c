"""The journal: every paid reply, once, and the items of each run (SQLite, WAL, FULL)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from threading import RLock
from typing import Self

from msgspec import UnsetType

from callscore.core.case import Failed, Reply
from callscore.core.errors import StoreError, UsageError
from callscore.core.race import RaceCard
from callscore.core.run import CachedReply, RunItem, RunStatus, Work
from callscore.store.batch_jobs import BatchJobs, describe_job
from callscore.store.connection import (
    UnreadableRow,
    connect,
    connect_for_reading,
    create_private,
    is_empty,
    is_writable,
    map_sqlite_errors,
    migrate,
    open_read_only,
    transaction,
)
from callscore.store.events import JournalEvents
from callscore.store.group_commit import GroupCommit
from callscore.store.leases import Leases, take_abandoned
from callscore.store.reply_rows import (
    UNCERTAIN,
    KeyIndex,
    Rows,
    RowWriter,
    answer_row,
    checksum,
    from_bytes,
    item_row,
)
from callscore.store.run_records import (
    Failure,
    RunHeader,
    RunRecord,
    add_work,
    all_runs,
    charge_preflight,
    drop_run,
    end_run,
    failures_of,
    find_run,
    find_unfinished_run,
    hold_run,
    progress_of_runs,
    record_race,
    take_run,
)

FIRST_POLL_S = 0.02
MAX_POLL_S = 0.25
"""Longest interval between two checks whether another process has finished a request."""

_OF_JUDGES = "SELECT key FROM judge_answers WHERE run_id = ?"
_ONE = "SELECT reply, attempts, checksum FROM answers WHERE key = ?"
_ANSWERED = (
    "SELECT 1 FROM items"
    " WHERE run_id = ? AND case_id = ? AND model = ? AND run = ? AND error IS NULL"
)
_KEYS_OF_CASE = "SELECT model, run, key FROM items WHERE run_id = ? AND case_id = ?"
_TO_A_CASE = (
    "SELECT model, run, key, error, reply, checksum FROM items LEFT JOIN answers USING (key)"
    " WHERE run_id = ? AND case_id = ? ORDER BY model, run"
)

_OPENING = RLock()
_OPEN: Counter[Path] = Counter()
"""How many journals of this process have a file open."""


class Journal:
    """One file of replies and runs. Reads are immediate; replies are written by `ReplyCache`."""

    def __init__(
        self,
        path: Path,
        factory: type[sqlite3.Connection] = sqlite3.Connection,
        *,
        only_reading: bool = False,
    ) -> None:
        """Open or create a journal; raises StoreError if it cannot be read and written.

        With `only_reading`, the file may be read-only.
        """
        self.path = path
        self._factory = factory
        self._only_reading = only_reading
        self._is_closed = False
        self._copy = open_read_only(path) if only_reading and not is_writable(path) else None
        with _OPENING:
            # Closing any other handle of a file would end the locks that SQLite holds on it for
            # this process: another process could then remove the log of a journal in use.
            if not _OPEN[self._file.absolute()]:
                self._check_file()
            self._connection = self.connect()
            _OPEN[self._file.absolute()] += 1
        try:
            with map_sqlite_errors(path):
                migrate(self._connection, self._file)
                if self._copy is None:
                    self._charge_killed_processes()
        except StoreError:
            self.close()
            raise

    def _check_file(self) -> None:
        """Create the file if there is none; raises StoreError if it is damaged."""
        if self._copy is None:
            create_private(self.path)
        if not is_empty(self._file):
            from callscore.store.recovery.salvage import check_intact

            check_intact(self._file)

    def _charge_killed_processes(self) -> None:
        """Record the possible cost of requests whose process was killed."""
        with take_abandoned(self.path) as found:
            if found:
                with transaction(self._connection):
                    self._connection.executemany(UNCERTAIN, found)

    @property
    def _file(self) -> Path:
        return self.path if self._copy is None else self._copy.path

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def batch_jobs(self, is_in_flight: Callable[[bytes], bool] | None = None) -> BatchJobs:
        """The jobs at batch APIs; `is_in_flight`: whether another process is sending a request."""
        return BatchJobs(self.path, self._connection, is_in_flight)

    def events(self) -> JournalEvents:
        """What people decided about stored answers; to be closed by the caller."""
        return JournalEvents(self.path, self.connect(), only_reading=self._only_reading)

    def close(self) -> None:
        """Close the file."""
        with _OPENING:
            self._connection.close()
            if not self._is_closed:
                _OPEN[self._file.absolute()] -= 1
                self._is_closed = True
        if self._copy is not None:
            self._copy.remove()

    def open_run(self, header: RunHeader, *, resume: bool = False) -> OpenRun:
        """Lock a run for this process: the unfinished one of this name and config, or a new one.

        Raises UsageError if a living process holds it, or if the data has changed.
        """
        with map_sqlite_errors(self.path), transaction(self._connection):
            run_id = take_run(self._connection, header, resume=resume)
        return OpenRun(self, run_id)

    def hold_run(self, run_id: int) -> OpenRun:
        """Lock a run, finished or not; raises UsageError if a living process holds it."""
        self.run(run_id)
        with map_sqlite_errors(self.path), transaction(self._connection):
            hold_run(self._connection, run_id)
        return OpenRun(self, run_id)

    def open_cache(self) -> ReplyCache:
        """A cache for the replies of judges without a run."""
        return ReplyCache(self)

    def connect(self) -> sqlite3.Connection:
        """Another connection to the file."""
        if self._copy is not None and self._copy.is_original:
            return connect_for_reading(self._file, self._factory)
        return connect(self._file, self._factory)

    def index_keys(self) -> KeyIndex:
        """An index of all replies, read while no other process writes."""
        writing = nullcontext() if self._copy is not None else transaction(self._connection)
        with map_sqlite_errors(self.path), writing:
            return KeyIndex(self._connection)

    def runs(self) -> list[RunRecord]:
        """Every run, newest first, with status, coverage and cost."""
        with map_sqlite_errors(self.path):
            return all_runs(self._connection)

    def run(self, run_id: int) -> RunRecord:
        """One run; raises UsageError if it does not exist."""
        with map_sqlite_errors(self.path):
            record = find_run(self._connection, run_id)
        if record is None:
            raise UsageError(f"{self.path}: has no run {run_id}")
        return record

    def find_unfinished(self, header: RunHeader) -> RunRecord | None:
        """The unfinished run of this name that is most similar to this one."""
        with map_sqlite_errors(self.path):
            return find_unfinished_run(self._connection, header)

    def has_answered(self, run_id: int, work: Work) -> bool:
        """Whether a run has a reply of this model to this case, to any prompt."""
        sought = (run_id, work.case_id, work.model, work.run)
        with map_sqlite_errors(self.path):
            return self._connection.execute(_ANSWERED, sought).fetchone() is not None

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The reply to a request; None if there is none, or if it is damaged."""
        with map_sqlite_errors(self.path):
            row = self._connection.execute(_ONE, (key,)).fetchone()
            if row is None or not isinstance(row[0], bytes) or checksum(key, row[0]) != row[2]:
                return None
            if not isinstance(row[1], int):
                raise UnreadableRow("the number of attempts of an answer is not a number")
            return CachedReply(key, from_bytes(row[0]), row[1])

    def judge_keys(self, run_id: int) -> set[bytes]:
        """The keys of the requests to judges that a run has paid for."""
        with map_sqlite_errors(self.path):
            return {key for (key,) in self._connection.execute(_OF_JUDGES, (run_id,))}

    def replies_to(self, run_id: int, case_id: str) -> Mapping[str, Mapping[int, Reply | Failed]]:
        """The replies of a run to one case, by model and repeat."""
        found: dict[str, dict[int, Reply | Failed]] = {}
        with map_sqlite_errors(self.path):
            rows = self._connection.execute(_TO_A_CASE, (run_id, case_id)).fetchall()
            for model, run, key, error, reply, expected in rows:
                if not isinstance(model, str) or not isinstance(run, int):
                    raise UnreadableRow("a result names no model, or no repeat")
                if error is not None:
                    found.setdefault(model, {})[run] = Failed("model", str(error))
                elif isinstance(reply, bytes) and checksum(key, reply) == expected:
                    found.setdefault(model, {})[run] = from_bytes(reply)
        return found

    def reply_keys(self, run_id: int, case_id: str) -> Mapping[tuple[str, int], bytes]:
        """The keys of the replies of a run to one case, by model and repeat."""
        with map_sqlite_errors(self.path):
            rows = self._connection.execute(_KEYS_OF_CASE, (run_id, case_id)).fetchall()
        return {(model, run): bytes(key) for model, run, key in rows}

    def progress(self) -> Mapping[int, str]:
        """By run, newest first, a text that changes with its progress; cheap."""
        with map_sqlite_errors(self.path):
            return progress_of_runs(self._connection)

    def charge_preflight(self, run_id: int, usd: float) -> None:
        """Record what a run has paid for its preflight."""
        with map_sqlite_errors(self.path), transaction(self._connection):
            charge_preflight(self._connection, run_id, usd)

    def record_race(self, run_id: int, race: RaceCard | UnsetType | None) -> None:
        """Store the result of a race; None or UNSET if the run was not a race."""
        with map_sqlite_errors(self.path), transaction(self._connection):
            record_race(self._connection, run_id, race)

    def failures(self, run_id: int) -> list[Failure]:
        """The most frequent cause of failure of every model of a run."""
        with map_sqlite_errors(self.path):
            return failures_of(self._connection, run_id)

    def drop_run(self, run_id: int) -> None:
        """Delete a run without results."""
        with map_sqlite_errors(self.path), transaction(self._connection):
            drop_run(self._connection, run_id)

    def add_work(self, run_id: int, pieces: int) -> None:
        """Add work that was not known when the run began."""
        with map_sqlite_errors(self.path), transaction(self._connection):
            add_work(self._connection, run_id, pieces)

    def end_run(self, run_id: int, status: RunStatus) -> None:
        """Record how a run ended, and release it."""
        with map_sqlite_errors(self.path), transaction(self._connection):
            end_run(self._connection, run_id, status)


class ReplyCache:
    """Stored replies: each is durable before it is used; many share one commit."""

    def __init__(self, journal: Journal, run_id: int = 0) -> None:
        self._journal = journal
        # before the keys are read, so that later writers are noticed
        self._leases = Leases(journal.path, run_id)
        try:
            self._keys = journal.index_keys()
            self._connection = journal.connect()
        except StoreError:
            self._leases.close()
            raise
        self._writer = RowWriter(self._connection, journal.path, self._keys)
        self._commits = GroupCommit(self._writer.write)
        self.jobs = journal.batch_jobs(self._is_sent_elsewhere)
        self._has_jobs = bool(self.jobs.jobs())
        """Whether a batch job of an earlier process may have a request in flight."""

    def _is_sent_elsewhere(self, key: bytes) -> bool:
        return not self._leases.is_alone and self._leases.is_held_by_another(key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left and close the file."""
        try:
            self._commits.close()
        finally:
            self._connection.close()
            self._leases.close()

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The stored reply to this request, if there is one.

        Replies of other processes become visible after the next commit.
        """
        return None if self._keys.lacks(key) else self._journal.find_reply(key)

    async def claim(
        self, key: bytes, patience_s: float, most_usd: float = 0.0
    ) -> CachedReply | Failed | None:
        """Lock a request until it is released; returns the reply if another process has stored one.

        If another process has the request in flight, wait for it. After the patience ends, the
        request is sent anyway: the other process may be suspended. It fails if a batch job has the
        request in flight.
        """
        wait, end = FIRST_POLL_S, time.monotonic() + patience_s
        while not self._leases.take(key, most_usd) and time.monotonic() < end:
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_POLL_S)
        alone = self._leases.is_alone
        if self._has_jobs or not alone:
            job = self.jobs.holder(key)
            if job is not None:
                return Failed("model", f"in flight in {describe_job(job)}")
        return None if alone else self._journal.find_reply(key)

    def release(self, key: bytes) -> None:
        """Unlock the request; its reply, if any, is durable."""
        self._leases.release(key)

    def judge_keys(self, run_id: int) -> set[bytes]:
        """The keys of the requests to judges that a run has paid for."""
        return self._journal.judge_keys(run_id)

    async def keep_judge_reply(self, stored: CachedReply, run_id: int | None = None) -> CachedReply:
        """Store a judge's paid reply and the run that paid for it; returns when both are durable.

        If a reply to the same request exists, that one counts.
        """
        self._keys.add(stored.key)
        judged = None if run_id is None else (stored.key, run_id)
        await self._commits.write_durably(Rows(answer_row(stored), judged=judged))
        return (self._journal.find_reply(stored.key) if self._writer.superseded else None) or stored


class OpenRun(ReplyCache):
    """A run in progress: a `Ledger` whose paid replies are durable before they are used."""

    shared = None
    """One process holds a run in a file."""

    def __init__(self, journal: Journal, run_id: int) -> None:
        super().__init__(journal, run_id)
        self.id = run_id

    @property
    def superseded(self) -> bool:
        """Whether the journal may hold other replies than it was given: earlier ones are kept."""
        return self._writer.superseded

    async def keep(self, item: RunItem, stored: CachedReply) -> None:
        """Store a paid reply and its item; returns when both are durable."""
        self._keys.add(stored.key)
        await self._commits.write_durably(Rows(answer_row(stored), item_row(self.id, item)))

    async def note(self, item: RunItem) -> None:
        """Store an item that cost nothing; it is durable after the next `keep` or `settle`."""
        await self._commits.write_soon(Rows(item=item_row(self.id, item)))

    async def settle(self) -> None:
        """Returns when everything is durable."""
        await self._commits.settle()

    def add_uncertain_cost(self, usd: float) -> None:
        """Add the possible cost of a lost attempt; it is durable with the next commit."""
        self._commits.add(Rows(uncertain=(usd, self.id)))

    def charge_preflight(self, usd: float) -> None:
        """Record what this run has paid for its preflight."""
        self._journal.charge_preflight(self.id, usd)

    def drop(self) -> None:
        """Release the run, and delete it if it has no results."""
        self._journal.drop_run(self.id)

    def end(self, status: RunStatus) -> None:
        """Write what is left, record how the run ended, and release it."""
        self.close()
        self._journal.end_run(self.id, status)
