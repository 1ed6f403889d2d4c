"""What a store offers, wherever it is: a file on this machine, or a database.

`open_store` in `address` opens one; `tests/store/test_contract.py` holds for every store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from msgspec import UnsetType

from callscore.core.batch import JobStore
from callscore.core.case import Failed, Reply
from callscore.core.errors import StoreError
from callscore.core.events import Events
from callscore.core.race import RaceCard
from callscore.core.run import (
    CachedReply,
    Chunk,
    Ledger,
    RunStatus,
    SharedRates,
    SpendingLimit,
    Work,
)
from callscore.store.run_records import Failure, RunHeader, RunRecord


class StoredReplies(Protocol):
    """Paid replies, shared by all processes: each is durable before it is used."""

    def __enter__(self) -> Self:
        """Return itself."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close it."""
        ...

    def close(self) -> None:
        """Write what is left, and release everything."""
        ...

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The stored reply to this request, if there is one."""
        ...

    async def claim(
        self, key: bytes, patience_s: float, most_usd: float
    ) -> CachedReply | Failed | None:
        """Lock a request until it is released; returns the reply if another process has stored
        one. It fails if a batch job has the request in flight.
        """
        ...

    def release(self, key: bytes) -> None:
        """Unlock the request."""
        ...

    def judge_keys(self, run_id: int) -> set[bytes]:
        """The keys of the requests to judges that a run has paid for."""
        ...

    async def keep_judge_reply(self, stored: CachedReply, run_id: int | None = None) -> CachedReply:
        """Store a judge's paid reply and the run that paid for it; returns the reply that counts.

        If a reply to the same request exists, that one counts.
        """
        ...


class SharedRun(Protocol):
    """A run that workers on several machines share."""

    @property
    def budget(self) -> SharedBudget:
        """The budget of the run."""
        ...

    @property
    def rates(self) -> SharedRates:
        """The rates of its models."""
        ...

    @property
    def worker(self) -> int:
        """This process as a worker; after a takeover, it is another one."""
        ...

    @property
    def outage(self) -> StoreError | None:
        """Why the store cannot be used now; it is waited for."""
        ...

    def has_lost(self, worker: int) -> bool:
        """Whether another worker has taken over what this one held."""
        ...

    async def divide(
        self, models: Sequence[str], ids: Sequence[str], budget_usd: float | None
    ) -> None:
        """Divide the cases into chunks for all workers, and set their common budget."""
        ...

    async def take_chunk(self, model: str, worker: int) -> Chunk | None:
        """A chunk for this worker; waits while others hold the last ones, None if all are done or
        another worker has taken over.
        """
        ...

    def finish_chunk(self, chunk: Chunk) -> None:
        """Record that the work of a chunk has ended."""
        ...

    async def look_up(self, keys: Sequence[bytes]) -> None:
        """Read the replies to many requests at once, before they are asked for one by one."""
        ...

    def forget(self, keys: Sequence[bytes]) -> None:
        """Drop what was read of requests that are answered now."""
        ...

    async def join_again(self) -> None:
        """Become a new worker, if another one has taken over."""
        ...

    async def count_items(self) -> Mapping[str, tuple[int, int]]:
        """By model, the answered and the failed items of all workers."""
        ...


class SharedBudget(SpendingLimit, Protocol):
    """A budget that workers share."""

    def begin(self, slots: int) -> None:
        """Start to send; `slots`: requests at once."""
        ...


class RunLedger(StoredReplies, Ledger, Protocol):
    """A run in progress, held by this process."""

    id: int

    @property
    def jobs(self) -> JobStore:
        """The jobs at batch APIs, of this run and of others."""
        ...

    @property
    def shared(self) -> SharedRun | None:
        """What other workers share; None if this process is alone."""
        ...

    @property
    def superseded(self) -> bool:
        """Whether the store may hold other replies than it was given: earlier ones are kept."""
        ...

    def add_uncertain_cost(self, usd: float) -> None:
        """Add the possible cost of a lost attempt; it is durable with the next commit."""
        ...

    def charge_preflight(self, usd: float) -> None:
        """Record what this run has paid for its preflight."""
        ...

    def drop(self) -> None:
        """Release the run, and delete it if it has no results."""
        ...

    def end(self, status: RunStatus) -> None:
        """Write what is left, record how the run ended, and release it."""
        ...


class Store(Protocol):
    """Replies and runs. Reads are immediate; replies are written by a `RunLedger`."""

    def __enter__(self) -> Self:
        """Return itself."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close it."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...

    def open_run(self, header: RunHeader, *, resume: bool = False) -> RunLedger:
        """Lock a run for this process: the unfinished one of this name and config, or a new one.

        Raises UsageError if a living process holds it, or if the data has changed.
        """
        ...

    def hold_run(self, run_id: int) -> RunLedger:
        """Lock a run, finished or not; raises UsageError if a living process holds it."""
        ...

    def batch_jobs(self) -> JobStore:
        """All jobs at batch APIs."""
        ...

    def events(self) -> Events:
        """What people decided about stored answers; to be closed by the caller."""
        ...

    def open_cache(self) -> StoredReplies:
        """The replies of judges without a run."""
        ...

    def runs(self) -> list[RunRecord]:
        """Every run, newest first, with status, coverage and cost."""
        ...

    def run(self, run_id: int) -> RunRecord:
        """One run; raises UsageError if it does not exist."""
        ...

    def progress(self) -> Mapping[int, str]:
        """By run, newest first, a text that changes with its progress; cheap."""
        ...

    def find_unfinished(self, header: RunHeader) -> RunRecord | None:
        """The unfinished run of this name that is most similar to this one."""
        ...

    def has_answered(self, run_id: int, work: Work) -> bool:
        """Whether a run has a reply of this model to this case, to any prompt."""
        ...

    def find_reply(self, key: bytes) -> CachedReply | None:
        """The reply to a request; None if there is none, or if it is damaged."""
        ...

    def replies_to(self, run_id: int, case_id: str) -> Mapping[str, Mapping[int, Reply | Failed]]:
        """The replies of a run to one case, by model and repeat."""
        ...

    def reply_keys(self, run_id: int, case_id: str) -> Mapping[tuple[str, int], bytes]:
        """The keys of the replies of a run to one case, by model and repeat."""
        ...

    def record_race(self, run_id: int, race: RaceCard | UnsetType | None) -> None:
        """Store the result of a race; None or UNSET if the run was not a race."""
        ...

    def failures(self, run_id: int) -> list[Failure]:
        """The most frequent cause of failure of every model of a run."""
        ...

    def add_work(self, run_id: int, pieces: int) -> None:
        """Add work that was not known when the run began."""
        ...
