"""One job at a batch API, from planned to deleted; every state is durable before the next step."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from callscore.core.batch import (
    BatchApi,
    BatchItem,
    BatchJob,
    BatchLine,
    JobState,
    JobStore,
    Unsure,
)
from callscore.core.case import Failed, Reply
from callscore.core.provider import NEVER_REPEATED, AttemptFailed
from callscore.core.run import JobNews, OnEvent
from callscore.engine.limits import Budget
from callscore.engine.loop import Shutdown

STORED_AT_ONCE = 256
"""Replies that share a commit."""
MOST_UPLOADS = 10
MOST_DOWNLOADS = 3
"""How often results are downloaded if some are missing."""
_REFUSED = NEVER_REPEATED - {"not_sent"}
"""Failures of a call after which the vendor has certainly done nothing, and never will."""
_NOT_DONE = _REFUSED | {"not_sent", "rate_limited"}
"""Failures of a call after which the vendor has certainly done nothing."""
_GONE = frozenset({"not_found", "bad_request"})
"""Failures of a download that no later one can mend."""


class Timing(msgspec.Struct, frozen=True):
    """When vendors are asked again, and when a job counts as lost; all times in seconds."""

    first_poll_s: float = 5.0
    poll_s: float = 60.0
    lost_s: float = 600.0
    """How long a job may be missing from the vendor's lists before it counts as never created."""
    late_s: float = 86_400.0
    """How long after the vendor's window the requests of a job stay in flight."""
    now: Callable[[], float] = time.time
    """The wall clock: a job outlives the process that created it."""
    elapsed: Callable[[], float] = time.monotonic
    """A clock that is never set: ten minutes stay ten minutes if the wall clock is."""


TIMING = Timing()


class Left(Exception):
    """A job stays as it is, for a later session."""


class JobOwner(Protocol):
    """The model that a job belongs to: what it knows of the requests, and what becomes of them."""

    ending: bool
    """Whether jobs are only ended and collected; nothing more is sent."""

    def lines_of(self, job: BatchJob, items: Mapping[str, BatchItem]) -> Path:
        """A file with the requests of a job."""
        ...

    def stop_asking(self, why: str) -> None:
        """No further job can work."""
        ...

    def count_uncertain(self, usd: float) -> None:
        """An amount may still be billed."""
        ...

    def show_progress(self) -> None:
        """Emit the progress of the model."""
        ...

    async def store(self, item: BatchItem, line: BatchLine, results: JobResults) -> None:
        """Store the reply in a result, or add it to the failed ones."""
        ...

    async def settle(
        self, item: BatchItem, answer: Reply | Failed, *, cached: bool = False
    ) -> None:
        """A request has its final answer."""
        ...

    async def ask_again(self, item: BatchItem) -> None:
        """A request was never sent: it goes into another job."""
        ...

    def shrink_jobs(self, requests: int) -> bool:
        """A job of this many requests was too large; False if no smaller one is possible."""
        ...

    async def leave_over(self, item: BatchItem, why: str) -> None:
        """A request was sent and has no final answer."""
        ...


class Desk(msgspec.Struct, frozen=True):
    """What the jobs of a model share."""

    api: BatchApi
    jobs: JobStore
    budget: Budget
    stop: Shutdown
    on_event: OnEvent
    folder: Path
    """For the files of requests and results."""


class OpenJob:
    """One job in this session."""

    def __init__(
        self, job: BatchJob, items: Sequence[BatchItem], desk: Desk, owner: JobOwner
    ) -> None:
        self.job = job
        self._items = {job.custom_id(item.key): item for item in items}
        self._desk = desk
        self._owner = owner
        self._api = desk.api
        self.in_flight = len(items)
        """The requests that the vendor has not finished with."""

    @property
    def items(self) -> Iterable[BatchItem]:
        """Its requests."""
        return self._items.values()

    @property
    def is_left(self) -> bool:
        """Whether its results are not collected yet."""
        return self.job.state not in ("collected", "deleted")

    async def drive(self) -> None:
        """Take the job from its state to the end; a shutdown leaves it as it is."""
        steps: Mapping[JobState, Callable[[], Awaitable[None]]] = {
            "planned": self._upload,
            "uploaded": self._create,
            "submitting": self._find,
            "submitted": self._poll,
            "ended": self._collect,
            "collected": self._delete,
        }
        try:
            while self.job.state != "deleted":
                await steps[self.job.state]()
        except Left:
            return
        finally:
            self.in_flight = 0
            self._owner.show_progress()

    def _write(self, state: JobState, **changes: object) -> None:
        job = msgspec.structs.replace(self.job, state=state, changed_at=TIMING.now(), **changes)
        self._desk.jobs.write(job)
        self.job = job
        self._tell(str(changes.get("why", "")))

    def _tell(self, text: str) -> None:
        job = self.job
        name = job.remote_id or job.token
        self._desk.on_event(JobNews(job.model, name, job.state, job.requests, text))

    def _finish(self, spent_usd: float = 0.0, uncertain_usd: float = 0.0) -> None:
        """Release the keys; the files at the vendor are deleted afterwards."""
        job = msgspec.structs.replace(self.job, state="collected", changed_at=TIMING.now())
        self._desk.jobs.finish(job, uncertain_usd)
        self.job = job
        self._desk.budget.settle(job.reserved_usd, spent_usd + uncertain_usd)
        if uncertain_usd:
            self._owner.count_uncertain(uncertain_usd)
        self._tell("")

    async def _pause(self, seconds: float) -> None:
        """Wait; a shutdown request leaves the job as it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._desk.stop.wait()
        self._leave_if_stopped()

    def _leave_if_stopped(self) -> None:
        if self._desk.stop.requested:
            raise Left

    async def _upload(self) -> None:
        self._leave_if_stopped()
        if not self._api.has_files:
            self._write("uploaded")
            return
        wait = TIMING.first_poll_s
        lines = self._owner.lines_of(self.job, self._items)
        uploads = 0
        while isinstance(found := await self._api.upload(self.job, lines), AttemptFailed):
            uploads += 1
            if found.kind in _REFUSED or uploads >= MOST_UPLOADS:
                await self._refuse(found)
                return
            self._tell(found.message)
            await self._pause(wait)
            wait = min(2 * wait, TIMING.poll_s)
            await self._api.remove_uploads(self.job)  # a lost answer: the file may have arrived
        self._write("uploaded", file_id=found)

    async def _create(self) -> None:
        """Create the job; it is never created again unless the vendor certainly has none."""
        self._leave_if_stopped()
        lines = None if self._api.has_files else self._owner.lines_of(self.job, self._items)
        wait = TIMING.first_poll_s
        while True:
            self._write("submitting")
            found = await self._api.create(self.job, lines)
            if isinstance(found, str):
                self._write("submitted", remote_id=found, submitted_at=self.job.changed_at)
                return
            if found.kind in _REFUSED:
                await self._refuse(found)
                return
            if found.kind not in _NOT_DONE:
                return  # no answer: it may exist
            self._write("uploaded", why=found.message)
            await self._pause(max(wait, found.retry_after_s or 0.0))
            wait = min(2 * wait, TIMING.poll_s)

    async def _find(self) -> None:
        """Look for a job whose creation got no answer; the lists of vendors may lag."""
        wait, began, searching = TIMING.first_poll_s, self.job.changed_at, TIMING.elapsed()
        while True:
            found = await self._api.find(self.job)
            if isinstance(found, str):
                self._write("submitted", remote_id=found, submitted_at=began)
                return
            waited = TIMING.now() - began
            if found is None and TIMING.elapsed() - searching >= TIMING.lost_s:
                await self._plan_again()
                return
            if isinstance(found, AttemptFailed):
                self._check_access(found)
            if isinstance(found, Unsure) and waited > self._api.limits.window_s + TIMING.late_s:
                await self._give_up("it was never found")
                return
            await self._pause(wait)
            wait = min(2 * wait, TIMING.poll_s)

    async def _poll(self) -> None:
        if self._owner.ending:
            await self._api.cancel(self.job)
        wait, missing_since = TIMING.first_poll_s, math.inf
        while True:
            found = await self._api.poll(self.job)
            now = TIMING.now()
            if not isinstance(found, AttemptFailed):
                missing_since = math.inf
                if found.ending is not None:
                    ended = {"ending": found.ending, "results": found.results, "why": found.why}
                    self._write("ended", **ended)
                    return
                self.in_flight = max(0, self.job.requests - found.done)
                self._owner.show_progress()
            elif found.kind == "not_found":
                missing_since = min(missing_since, TIMING.elapsed())
                if TIMING.elapsed() - missing_since >= TIMING.lost_s:
                    await self._give_up("the vendor no longer knows it")
                    return
            else:
                self._check_access(found)
            if now - self.job.submitted_at > self._api.limits.window_s + TIMING.late_s:
                await self._give_up("it is pending past its window")
                return
            await self._pause(wait)
            wait = min(1.5 * wait, TIMING.poll_s)

    def _check_access(self, failure: AttemptFailed) -> None:
        """Leave the job if the key does not work any more: a later session goes on with it."""
        if failure.kind == "unauthorised":
            name = self.job.remote_id or self.job.token
            self._owner.stop_asking(f"{failure.kind}: {failure.message}; batch job {name} goes on")
            raise Left

    async def _plan_again(self) -> None:
        """The vendor has no such job: its requests go into another one."""
        self._finish()
        for item in self._items.values():
            await self._owner.ask_again(item)

    async def _give_up(self, why: str) -> None:
        """The results of a job will not come; all of it may be billed."""
        self.job = msgspec.structs.replace(self.job, why=why)
        self._tell(why)
        self._finish(uncertain_usd=self.job.reserved_usd)
        for item in self._items.values():
            await self._owner.leave_over(item, f"batch: {why}")

    async def _refuse(self, failure: AttemptFailed) -> None:
        """The vendor accepts no such job: no other can work either."""
        why = f"{failure.kind}: {failure.message}"
        self._owner.stop_asking(why)
        self._finish()
        for item in self._items.values():
            await self._owner.settle(item, Failed("model", why))

    async def _delete(self) -> None:
        """Delete the files at the vendor; if that fails, a later session tries again."""
        failed = await self._api.delete(self.job)
        if failed is not None and failed.kind not in _GONE:
            raise Left
        self._write("deleted")

    async def _collect(self) -> None:
        """Store the replies of a job, then release its keys."""
        job, results = self.job, JobResults(self._items)
        for download in range(MOST_DOWNLOADS if job.results else 0):
            if download:
                await self._pause(TIMING.first_poll_s)
            failed = await self._download(results)
            if failed is not None:
                results.lost = f"the results are gone: {failed.message}"
            if failed is not None or not results.missing or job.ending != "completed":
                break
        missing = list(results.missing.values())
        if missing and (results.lost or job.ending == "completed"):
            results.lost = results.lost or "no result"
            results.uncertain_usd += math.fsum(item.most_usd for item in missing)
        for note in results.notes():
            self._tell(note)
        self._finish(results.spent_usd, results.uncertain_usd)
        await self._settle_rest(results, missing)

    async def _settle_rest(self, results: JobResults, missing: Sequence[BatchItem]) -> None:
        """Settle what has no reply, after the keys are released."""
        job = self.job
        for item, failure in results.failed:
            why = f"{failure.kind}: {failure.message}"
            if failure.kind in NEVER_REPEATED:
                await self._owner.settle(item, Failed("model", why))
            else:
                await self._owner.leave_over(item, f"batch: {why}")
        is_smaller = job.ending == "oversized" and self._owner.shrink_jobs(job.requests)
        for item in missing:
            if is_smaller:
                await self._owner.ask_again(item)
            elif job.ending in ("failed", "oversized") and not job.results:
                why = f"the batch was refused: {job.why}"
                await self._owner.settle(item, Failed("model", why))
            else:
                why = results.lost or job.why or "not run"
                await self._owner.leave_over(item, f"batch: {why}")

    async def _download(self, results: JobResults) -> AttemptFailed | None:
        """Download the results and store them; returns why they are gone for good."""
        path = self._desk.folder / f"{self.job.token}.results"
        wait = TIMING.first_poll_s
        while True:
            with path.open("wb") as file:
                failed = await self._api.download(self.job, file)
            if failed is None:
                break
            if failed.kind in _GONE:
                return failed
            self._check_access(failed)
            await self._pause(wait)
            wait = min(2 * wait, TIMING.poll_s)
        results.begin()
        group: list[tuple[BatchItem, BatchLine]] = []
        with path.open("rb") as file:
            for raw in file:
                found = results.take(self._api.read(raw)) if raw.strip() else None
                group += [found] if found is not None else []
                if len(group) >= STORED_AT_ONCE:
                    await self._store(group, results)
                    group = []
        await self._store(group, results)
        path.unlink()
        return None

    async def _store(
        self, group: Sequence[tuple[BatchItem, BatchLine]], results: JobResults
    ) -> None:
        await asyncio.gather(*(self._owner.store(item, line, results) for item, line in group))


class JobResults:
    """What the results of a job come to."""

    def __init__(self, items: Mapping[str, BatchItem]) -> None:
        self._items = items
        self.missing = dict(items)
        """The requests without a result, by custom id."""
        self.failed: list[tuple[BatchItem, AttemptFailed]] = []
        self.spent_usd = self.uncertain_usd = 0.0
        self.lost = ""
        self._unknown = self._repeated = self._unreadable = 0
        self._in_file: set[str] = set()

    def begin(self) -> None:
        """The results are read, or read again from the beginning."""
        self._in_file = set()
        self._unknown = self._repeated = self._unreadable = 0

    def take(self, line: BatchLine | None) -> tuple[BatchItem, BatchLine] | None:
        """The request of a line; None if it is no request of this job, or has a result already."""
        if line is None:
            self._unreadable += 1
            return None
        item = self._items.get(line.custom_id)
        if item is None:
            self._unknown += 1
            return None
        if line.custom_id in self._in_file:
            self._repeated += 1
            self.uncertain_usd += item.most_usd  # it may have been run twice
            return None
        self._in_file.add(line.custom_id)
        return None if self.missing.pop(line.custom_id, None) is None else (item, line)

    def notes(self) -> list[str]:
        """What is odd about the results."""
        odd = {
            "unreadable": self._unreadable,
            "of unknown requests": self._unknown,
            "repeated": self._repeated,
        }
        found = [f"{number} results {what}, ignored" for what, number in odd.items() if number]
        return [*found, *([f"{len(self.missing)} requests {self.lost}"] if self.lost else [])]
