"""The journal: every paid answer, once, and what each run made of it (SQLite, WAL, FULL)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from callscore.core.case import Failed, Reply
from callscore.core.errors import StoreError, UsageError
from callscore.core.run_words import Item, RunStatus, Stored
from callscore.store.connecting import connect, create_private, told_plainly, transaction
from callscore.store.damage import check_whole
from callscore.store.group_commit import AnswerRow, GroupCommit, ItemRow, Rows
from callscore.store.kept_reply import checksum, from_bytes, to_bytes
from callscore.store.known_keys import KnownKeys
from callscore.store.migrations import migrate
from callscore.store.run_records import (
    RunHeader,
    RunRecord,
    add_work,
    all_runs,
    charge_preflight,
    end_run,
    one_run,
    take_run,
)

_ONE = "SELECT reply, attempts, checksum FROM answers WHERE key = ?"
_TO_A_CASE = (
    "SELECT model, run, key, error, reply, checksum FROM items LEFT JOIN answers USING (key)"
    " WHERE run_id = ? AND case_id = ? ORDER BY model, run"
)


class Journal:
    """One file of answers and runs. Reading is immediate; answers are written by `OpenAnswers`."""

    def __init__(self, path: Path, factory: type[sqlite3.Connection] = sqlite3.Connection) -> None:
        """Open a journal, or begin one; StoreError where it cannot be read and written."""
        self.path = path
        self._factory = factory
        create_private(path)
        check_whole(path)
        self._connection = connect(path, factory)
        try:
            with told_plainly(path):
                migrate(self._connection, path)
        except StoreError:
            self._connection.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

    def open_run(self, header: RunHeader, *, resume: bool = False) -> OpenRun:
        """A run held by this process: the unfinished one of this name and config, or a new one.

        UsageError where another living process holds it, or where the data has changed.
        """
        with told_plainly(self.path), transaction(self._connection):
            run_id = take_run(self._connection, header, resume=resume)
            keys = KnownKeys(self._connection)
        return OpenRun(run_id, self, self._writer(keys))

    def open_answers(self) -> OpenAnswers:
        """A place for the answers of judges that work for no run."""
        with told_plainly(self.path), transaction(self._connection):
            keys = KnownKeys(self._connection)
        return self._writer(keys)

    def _writer(self, keys: KnownKeys) -> OpenAnswers:
        return OpenAnswers(self, connect(self.path, self._factory), keys)

    def runs(self) -> list[RunRecord]:
        """Every run, newest first, with status, coverage and cost."""
        with told_plainly(self.path):
            return all_runs(self._connection)

    def run(self, run_id: int) -> RunRecord:
        """One run; UsageError where there is none of this number."""
        with told_plainly(self.path):
            record = one_run(self._connection, run_id)
        if record is None:
            raise UsageError(f"{self.path}: has no run {run_id}")
        return record

    def stored(self, key: bytes) -> Stored | None:
        """The answer to a request; None where there is none, or where it is damaged."""
        with told_plainly(self.path):
            row = self._connection.execute(_ONE, (key,)).fetchone()
        if row is None or checksum(key, row[0]) != row[2]:
            return None
        return Stored(key, from_bytes(row[0]), row[1])

    def answers_to(self, run_id: int, case_id: str) -> Mapping[str, Mapping[int, Reply | Failed]]:
        """What a run has for one case, by model and repeat; needs no network."""
        found: dict[str, dict[int, Reply | Failed]] = {}
        with told_plainly(self.path):
            rows = self._connection.execute(_TO_A_CASE, (run_id, case_id)).fetchall()
        for model, run, key, error, reply, expected in rows:
            if error is not None:
                found.setdefault(model, {})[run] = Failed("model", error)
            elif reply is not None and checksum(key, reply) == expected:
                found.setdefault(model, {})[run] = from_bytes(reply)
        return found

    def charge_preflight(self, run_id: int, usd: float) -> None:
        """Write down what a run has paid to see whether the models answer."""
        with told_plainly(self.path), transaction(self._connection):
            charge_preflight(self._connection, run_id, usd)

    def add_work(self, run_id: int, pieces: int) -> None:
        """Count work that was not known when the run began."""
        with told_plainly(self.path), transaction(self._connection):
            add_work(self._connection, run_id, pieces)

    def end_run(self, run_id: int, status: RunStatus) -> None:
        """Write down how a run ended, and let it go."""
        with told_plainly(self.path), transaction(self._connection):
            end_run(self._connection, run_id, status)


class OpenAnswers:
    """Answers under way: each is on the disk before it is used; many share one commit."""

    def __init__(self, journal: Journal, connection: sqlite3.Connection, keys: KnownKeys) -> None:
        self._journal = journal
        self._connection = connection
        self._keys = keys
        self.commits = GroupCommit(connection, journal.path, keys)

    def __enter__(self) -> OpenAnswers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left, and give the file back."""
        try:
            self.commits.close()
        finally:
            self._connection.close()

    def stored(self, key: bytes) -> Stored | None:
        """The answer to this request, if it was ever paid for.

        What others keep while these are under way is seen after the next commit.
        """
        return None if self._keys.lacks(key) else self._journal.stored(key)

    async def keep(self, stored: Stored, item: ItemRow) -> None:
        """Returns when a model's paid answer and what a run made of it are durable."""
        self._keys.add(stored.key)
        await self.commits.durable(Rows(_answer_row(stored), item))

    async def keep_judged(self, stored: Stored, run_id: int | None = None) -> Stored:
        """Returns when a judge's paid answer is durable, and the run that paid for it, if any.

        Where somebody else has kept an answer to the same request before, that one counts.
        """
        self._keys.add(stored.key)
        judged = None if run_id is None else (stored.key, run_id)
        await self.commits.durable(Rows(_answer_row(stored), judged=judged))
        return (self._journal.stored(stored.key) if self.commits.overtaken else None) or stored


class OpenRun:
    """A run under way: a `Ledger` whose paid answers are on the disk before they are used."""

    def __init__(self, run_id: int, journal: Journal, answers: OpenAnswers) -> None:
        self.id = run_id
        self.answers = answers
        self._journal = journal

    def stored(self, key: bytes) -> Stored | None:
        """The answer to this request, if it was ever paid for."""
        return self.answers.stored(key)

    @property
    def overtaken(self) -> bool:
        """Whether the journal may hold other answers than it was given: earlier ones stay."""
        return self.answers.commits.overtaken

    async def keep(self, item: Item, stored: Stored) -> None:
        """Returns when the paid answer and the item are durable."""
        await self.answers.keep(stored, self._item_row(item))

    async def note(self, item: Item) -> None:
        """Writes an item that cost nothing; it is durable after the next `keep` or `settle`."""
        await self.answers.commits.soon(Rows(item=self._item_row(item)))

    async def settle(self) -> None:
        """Returns when everything is durable."""
        await self.answers.commits.settle()

    def charge_preflight(self, usd: float) -> None:
        """Write down what this run has paid to see whether the models answer."""
        self._journal.charge_preflight(self.id, usd)

    def end(self, status: RunStatus) -> None:
        """Write what is left, note how the run ended, and let it go for others."""
        self.answers.close()
        self._journal.end_run(self.id, status)

    def _item_row(self, item: Item) -> ItemRow:
        return (
            self.id,
            item.case_id,
            item.model,
            item.run,
            item.task,
            item.key,
            item.error,
            int(item.paid),
        )


def _answer_row(stored: Stored) -> AnswerRow:
    reply = to_bytes(stored.reply)
    return (stored.key, reply, stored.cost_usd, stored.attempts, checksum(stored.key, reply))
