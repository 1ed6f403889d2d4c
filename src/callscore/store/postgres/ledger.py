"""Paid replies and a run in a PostgreSQL store, as the engine and the judges use them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar
from uuid import uuid4

from callscore.core.case import Failed
from callscore.core.errors import StoreError
from callscore.core.run import CachedReply, Chunk, RunItem, RunStatus
from callscore.store.group_commit import GroupCommit
from callscore.store.postgres.chunks import (
    create_chunks,
    free_unknown_chunks,
    has_open_chunks,
    take_chunk,
)
from callscore.store.postgres.connection import RUN_PATIENCE_S, Link
from callscore.store.postgres.limits import PostgresBudget, PostgresRates, set_budget
from callscore.store.postgres.membership import BEATS, Membership, take_over
from callscore.store.postgres.rows import (
    Done,
    LockRequest,
    Paid,
    PostgresWriter,
    Release,
    Row,
    UncertainCost,
    stored_replies,
)
from callscore.store.postgres.spill import Spill
from callscore.store.reply_rows import ItemRow, answer_row, item_row

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection
    from callscore.store.postgres.store import PostgresStore

T = TypeVar("T")
FIRST_POLL_S, MAX_POLL_S = 0.02, 0.25
"""Between two looks whether another worker has finished. NOTIFY would slow every commit down."""
_HOLD = """
UPDATE callscore.runs SET worker = %(worker)s
WHERE id = %(run)s AND worker IN (%(before)s, %(worker)s)
"""
_COUNTS = """
SELECT model, count(*) FILTER (WHERE error IS NULL), count(*) FILTER (WHERE error IS NOT NULL)
FROM callscore.items WHERE run_id = %s GROUP BY model
"""


class PostgresReplies:
    """Stored replies, shared by all workers; many are written in one commit."""

    def __init__(self, store: PostgresStore, run_id: int | None = None) -> None:
        self._store = store
        self._run_id = run_id
        self._spill = Spill(store.url)
        self._writer = PostgresWriter(store.url, self._spill)
        self._commits: GroupCommit[Row] = GroupCommit(self._writer.write)
        self._known: dict[bytes, CachedReply] = {}
        self._unanswered: set[bytes] = set()
        """Requests of the current chunks: with a stored reply, and without one."""
        self._held: dict[bytes, tuple[int, float]] = {}
        """The requests in flight: the worker that claimed them, and what they may cost."""
        self._asking = ThreadPoolExecutor(1, "asking")
        self._link = Link(store.url, RUN_PATIENCE_S)
        self._took_over_at = time.monotonic()
        self._joining = asyncio.Lock()
        self.jobs = store.batch_jobs()
        self.member = Membership(store.url, run_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left, and leave the store."""
        try:
            if self.outage is not None:
                self._writer.give_up()
            self._commits.close()
        except StoreError as error:
            if not self._spill.unwritten:
                raise
            raise StoreError(
                f"{error}; {self._spill.unwritten} paid replies are in {self._spill.path}: the "
                "next `callscore run` or `work` in this folder stores them"
            ) from None
        finally:
            self._link.give_up()
            self._asking.shutdown(wait=True)
            self._writer.close()
            self._link.close()
            self._spill.close()
            self.member.leave()

    @property
    def lease_s(self) -> float:
        """After how long this process counts as dead without a sign of life."""
        return self._store.url.lease_s

    @property
    def outage(self) -> StoreError | None:
        """Why the store cannot be used now."""
        return self._writer.outage or self._link.outage

    def ask_soon(self, work: Callable[[Connection], object]) -> None:
        """Do work with the database later; an error does not matter."""
        self._asking.submit(self._link.do, work)

    async def ask(self, work: Callable[[Connection], T]) -> T:
        """The result of work with the database, without blocking the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._asking, partial(self._link.do, work))

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The stored reply to this request, if there is one."""
        if key in self._unanswered:
            return None
        return self._known.get(key) or self._store.find_reply(key)

    async def look_up(self, keys: Sequence[bytes]) -> None:
        """Read the replies to many requests at once, before they are asked for one by one."""
        found = await self.ask(lambda connection: stored_replies(connection, keys))
        self._known.update(found)
        self._unanswered.update(key for key in keys if key not in found)

    def forget(self, keys: Sequence[bytes]) -> None:
        """Drop what was read of requests that are answered now."""
        self._unanswered.difference_update(keys)
        for key in keys:
            self._known.pop(key, None)

    async def claim(
        self, key: bytes, patience_s: float = 0.0, most_usd: float = 0.0
    ) -> CachedReply | Failed | None:
        """Lock a request until it is released; returns the reply if another worker has stored one.

        While a living worker has the request in flight, wait for it, however long it takes. It
        fails if a batch job has it in flight. A worker that was declared dead gets no lock; it
        becomes a new one.
        """
        wait = FIRST_POLL_S
        while True:
            claim = LockRequest(key, self.member.id, self._run_id, most_usd)
            await self._commits.write_durably(claim)
            if claim.is_held:
                self._held[key] = claim.worker, most_usd
            if claim.is_held or claim.found is not None:
                return claim.found
            if self.member.is_dead:
                await self.join_again()
                continue
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_POLL_S)
            await self.take_over()

    def release(self, key: bytes) -> None:
        """Unlock the request; its reply, if any, is durable and has unlocked it."""
        held = self._held.pop(key, None)
        if held is not None:
            self._commits.add(Release(key, held[0]))

    async def take_over(self) -> None:
        """Free what dead workers hold; at most once per heartbeat."""
        if self._is_due():
            await self.ask(take_over)

    def take_over_soon(self) -> None:
        """Free what dead workers hold, without waiting for it."""
        if self._is_due():
            self.ask_soon(take_over)

    def _is_due(self) -> bool:
        now = time.monotonic()
        is_due = now >= self._took_over_at + self.lease_s / BEATS
        if is_due:
            self._took_over_at = now
        return is_due

    async def join_again(self) -> None:
        """Become a new worker, after another one has taken over; requests in flight stay those of
        the old one.
        """
        async with self._joining:
            if self.member.is_dead:
                await self._join_again()

    async def _join_again(self) -> None:
        await asyncio.to_thread(self.member.join)

    def judge_keys(self, run_id: int) -> set[bytes]:
        """The keys of the requests to judges that a run has paid for."""
        return self._store.judge_keys(run_id)

    async def keep_judge_reply(self, stored: CachedReply, run_id: int | None = None) -> CachedReply:
        """Store a judge's paid reply, and the run that paid for it; returns the one that counts."""
        await self._keep(self._paid(stored, run_id))
        found = self._store.find_reply(stored.key) if self._writer.superseded else None
        return found or stored

    async def _keep(self, paid: Paid) -> None:
        if self._writer.outage is not None:
            self._spill.add([paid])
        await self._commits.write_durably(paid)
        self._held.pop(paid.key, None)

    def _paid(self, stored: CachedReply, run_id: int | None, item: ItemRow | None = None) -> Paid:
        worker, most_usd = self._held.get(stored.key, (self.member.id, 0.0))
        return Paid(answer_row(stored), worker, run_id, most_usd, item)


class PostgresRun(PostgresReplies):
    """A run in progress: a `RunLedger` that other workers may share."""

    def __init__(self, store: PostgresStore, run_id: int, *, is_holder: bool) -> None:
        """`is_holder`: this process opened the run, and scores it."""
        super().__init__(store, run_id)
        self._is_holder = is_holder
        self.id = run_id
        self._taken: dict[str, list[Chunk]] = {}
        self.shared: PostgresRun | None = self
        self.budget = PostgresBudget(self)
        self.rates = PostgresRates(self)

    async def divide(
        self, models: Sequence[str], ids: Sequence[str], budget_usd: float | None
    ) -> None:
        """Divide the cases into chunks for all workers, and set their common budget."""

        def prepare(connection: Connection) -> None:
            set_budget(connection, self.id, budget_usd)
            create_chunks(connection, self.id, models, ids)

        await self.ask(prepare)

    async def take_chunk(self, model: str, worker: int) -> Chunk | None:
        """A chunk for this worker; waits while others hold the last ones, None if all are done or
        another worker has taken over.
        """
        wait = FIRST_POLL_S
        while not self.has_lost(worker):
            chunk = await self.ask(partial(self._take_chunk, model, worker))
            if chunk is not None:
                return chunk
            if not await self.ask(lambda c: has_open_chunks(c, self.id, model)):
                return None
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_POLL_S)
            await self.ask(partial(self._free_unknown, model, worker))
            await self.take_over()
        return None

    def _take_chunk(self, model: str, worker: int, connection: Connection) -> Chunk | None:
        """Runs in the thread that asks, so that no chunk is taken and not yet known."""
        chunk = take_chunk(connection, self.id, model, worker)
        if chunk is not None:
            self._taken.setdefault(model, []).append(chunk)
        return chunk

    def _free_unknown(self, model: str, worker: int, connection: Connection) -> None:
        free_unknown_chunks(connection, self.id, model, worker, self._taken.get(model, ()))

    def finish_chunk(self, chunk: Chunk) -> None:
        """Record that the work of a chunk has ended, after everything that was noted before."""
        self._commits.add(Done(self.id, chunk.model, chunk.number, chunk.worker, chunk.epoch))

    @property
    def worker(self) -> int:
        """This process as a worker; after a takeover, it is another one."""
        return self.member.id

    def has_lost(self, worker: int) -> bool:
        """Whether another worker has taken over what this one held."""
        return self.member.is_dead or worker != self.member.id

    async def _join_again(self) -> None:
        """Raises StoreError if another process has taken the run itself."""
        before = self.member.id
        await super()._join_again()
        self.budget.begin_again()
        values = {"worker": self.member.id, "run": self.id, "before": before}
        if self._is_holder and not await self.ask(lambda c: c.execute(_HOLD, values).rowcount):
            raise StoreError(f"run {self.id} was taken over by another process")

    async def count_items(self) -> Mapping[str, tuple[int, int]]:
        """By model, the answered and the failed items of all workers."""
        rows = await self.ask(lambda c: c.execute(_COUNTS, [self.id]).fetchall())
        return {model: (answered, failed) for model, answered, failed in rows}

    @property
    def superseded(self) -> bool:
        """Whether the store may hold other replies than it was given: earlier ones are kept."""
        return self._writer.superseded

    async def keep(self, item: RunItem, stored: CachedReply) -> None:
        """Store a paid reply and its item; returns when both are durable."""
        await self._keep(self._paid(stored, self.id, item_row(self.id, item)))

    async def note(self, item: RunItem) -> None:
        """Store an item that cost nothing; it is durable after the next `keep` or `settle`."""
        await self._commits.write_soon(item_row(self.id, item))

    async def settle(self) -> None:
        """Returns when everything is durable."""
        await self._commits.settle()

    def add_uncertain_cost(self, usd: float) -> None:
        """Add the possible cost of a lost attempt; it is durable with the next commit."""
        self._commits.add(UncertainCost(uuid4(), usd, self.member.id, self.id))

    def charge_preflight(self, usd: float) -> None:
        """Record what this run has paid for its preflight."""
        self._store.charge_preflight(self.id, usd)

    def drop(self) -> None:
        """Release the run, and delete it if it has no results."""
        self._store.drop_run(self.id)

    def end(self, status: RunStatus) -> None:
        """Write what is left, record how the run ended, and release it."""
        if self.outage is not None:
            self._store.give_up()  # it was waited for
        self.close()
        self._store.end_run(self.id, status)
