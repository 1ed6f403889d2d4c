"""Jobs at batch APIs in every store: a request is in one of them at most."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from callscore.core.batch import BatchItem, BatchJob, JobState
from callscore.core.case import Failed, Reply
from callscore.core.errors import UsageError
from callscore.core.run import CachedReply, RunItem
from callscore.store.address import StoreAddress, open_store, purge_store
from callscore.store.journal import Journal
from callscore.store.protocol import RunLedger
from callscore.store.recovery.salvage import salvage
from callscore.store.run_records import RunHeader

HEADER = RunHeader("x", "config", "data", 3)
ITEMS = [BatchItem(f"c{n}", 1, "qa", bytes([n]) * 32, 0.5) for n in range(3)]


def job_of(run: RunLedger, token: str = "11" * 8, state: JobState = "planned") -> BatchJob:
    return BatchJob(token, run.id, "m", state, 1, 0.5, 1.0, 1.0)


def test_a_key_is_in_one_job_until_that_is_finished(address: StoreAddress) -> None:
    with open_store(address) as journal:
        run = journal.open_run(HEADER)
        first, second = job_of(run), job_of(run, "22" * 8)
        assert run.jobs.plan(first, ITEMS[:2]) == ITEMS[:2]
        assert run.jobs.plan(second, ITEMS[1:]) == ITEMS[2:]
        assert run.jobs.holder(ITEMS[1].key) == first
        run.jobs.finish(msgspec.structs.replace(first, state="collected"), uncertain_usd=0.75)
        assert run.jobs.items(first) == []
        assert run.jobs.holder(ITEMS[1].key) is None
        assert journal.run(run.id).uncertain_usd == 0.75
        third = job_of(run, "33" * 8)
        assert run.jobs.plan(third, ITEMS) == ITEMS[:2]
        run.end("interrupted")


def test_the_state_of_a_job_outlives_the_process(address: StoreAddress) -> None:
    with open_store(address) as journal:
        run = journal.open_run(HEADER)
        job = job_of(run)
        run.jobs.plan(job, ITEMS)
        job = msgspec.structs.replace(job, state="ended", results=("file-1", "file-2"), why="late")
        run.jobs.write(job)
        run.end("interrupted")
    with open_store(address) as journal:
        jobs = journal.batch_jobs()
        assert list(jobs.jobs()) == list(jobs.jobs(run.id, "m")) == [job]
        assert list(jobs.jobs(run.id, "other")) == list(jobs.jobs(run.id + 1)) == []
        assert list(jobs.items(job)) == ITEMS
        jobs.write(msgspec.structs.replace(job, state="deleted"))
        assert list(jobs.jobs()) == []


def test_what_is_answered_or_being_sent_by_another_process_goes_into_no_job(
    address: StoreAddress,
) -> None:
    async def claim_and_plan(one: RunLedger, other: RunLedger) -> None:
        item = RunItem("c0", "m", 1, "qa", ITEMS[0].key, paid=True)
        await one.keep(item, CachedReply(ITEMS[0].key, Reply("yes")))
        assert await one.claim(ITEMS[1].key, 0.0, 0.0) is None
        job = job_of(other)
        assert other.jobs.plan(job, ITEMS) == ITEMS[2:]
        failed = await one.claim(ITEMS[2].key, 0.0, 0.0)
        assert isinstance(failed, Failed)
        assert f"of run {other.id}" in failed.why
        one.release(ITEMS[2].key)
        other.jobs.finish(msgspec.structs.replace(job, state="collected"))
        assert await one.claim(ITEMS[2].key, 0.0, 0.0) is None

    with (
        open_store(address) as journal,
        open_store(address) as second,
        journal.open_run(HEADER) as one,
        second.open_run(msgspec.structs.replace(HEADER, name="y")) as other,
    ):
        asyncio.run(claim_and_plan(one, other))


def test_a_run_with_jobs_is_held_again_and_not_deleted(address: StoreAddress) -> None:
    with open_store(address) as store:
        run = store.open_run(HEADER)
        job = job_of(run)
        run.jobs.plan(job, ITEMS)
        with pytest.raises(UsageError, match=f"run {run.id} of 'x' is held by process"):
            store.hold_run(run.id)
        run.end("complete")
        with pytest.raises(UsageError, match=f"end them with `callscore batch cancel {run.id}`"):
            purge_store(address, [run.id])
        held = store.hold_run(run.id)
        assert store.run(run.id).status == "running"
        held.jobs.finish(msgspec.structs.replace(job, state="collected"))
        held.end("complete")
    assert purge_store(address, [run.id]).runs == 1
    with open_store(address) as store:
        assert list(store.batch_jobs().jobs()) == []


def test_salvage_keeps_the_jobs_that_are_not_finished(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        run = journal.open_run(HEADER)
        job, item = job_of(run), ITEMS[0]
        assert run.jobs.plan(job, [item]) == [item]
        other = job_of(run, "22" * 8, "collected")
        assert run.jobs.plan(other, [item]) == []
        run.end("interrupted")
    salvage(tmp_path / "runs.db", tmp_path / "new.db")
    with Journal(tmp_path / "new.db") as journal:
        jobs = journal.batch_jobs()
        assert [found.token for found in jobs.jobs()] == [job.token, other.token]
        assert jobs.items(job) == [item]
        assert jobs.holder(item.key) == job
