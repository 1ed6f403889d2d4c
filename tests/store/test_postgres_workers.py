"""A worker of a PostgreSQL store: what it was given and never heard of, and what it lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
import pytest

from callscore.core.batch import BatchItem, BatchJob
from callscore.store.address import read_address
from callscore.store.postgres.chunks import CASES, take_chunk
from callscore.store.postgres.connection import connect
from callscore.store.postgres.ledger import PostgresReplies, PostgresRun
from callscore.store.postgres.limits import AllowanceChange, reserve_allowance
from callscore.store.postgres.membership import take_over
from callscore.store.postgres.rows import PostgresWriter, UncertainCost
from callscore.store.postgres.spill import Spill
from callscore.store.postgres.store import PostgresStore
from callscore.store.postgres.url import DatabaseUrl
from command_server import NEVER_S
from postgres_server import PostgresServer
from run_cases import HEADER, cached_reply_for, item_for, work_for

if TYPE_CHECKING:
    from callscore.store.postgres.connection import Connection

KEY = work_for(1).request.key


@pytest.fixture
def store(postgres: PostgresServer, tmp_path: Path) -> Iterator[PostgresStore]:
    address = read_address(postgres.new_store("?lease_s=2"), tmp_path)
    assert isinstance(address, DatabaseUrl)
    with PostgresStore(address) as opened:
        yield opened


@pytest.fixture
def connection(store: PostgresStore) -> Iterator[Connection]:
    with connect(store.url) as opened:
        yield opened


def test_a_chunk_whose_worker_never_heard_of_it_is_worked_on(
    store: PostgresStore, connection: Connection
) -> None:
    run = store.open_run(HEADER)

    async def take_all() -> list[int]:
        await run.divide(["m"], [str(number) for number in range(3 * CASES)], None)
        first = await run.take_chunk("m", run.worker)
        assert first is not None
        assert take_chunk(connection, run.id, "m", run.worker) is not None  # the answer is lost
        taken = [first]
        async with asyncio.timeout(NEVER_S):
            for _ in range(2):
                chunk = await run.take_chunk("m", run.worker)
                assert chunk is not None
                taken.append(chunk)
            for chunk in taken:
                run.finish_chunk(chunk)
            assert await run.take_chunk("m", run.worker) is None
        return sorted(chunk.number for chunk in taken)

    assert asyncio.run(take_all()) == [0, 1, 2]
    run.end("complete")


@pytest.mark.parametrize("is_run", [True, False], ids=["run", "judge"])
def test_a_worker_that_was_declared_dead_locks_no_request(
    store: PostgresStore, connection: Connection, *, is_run: bool
) -> None:
    replies: PostgresReplies = store.open_run(HEADER) if is_run else store.open_cache()
    dead = replies.member.id
    connection.execute("UPDATE callscore.workers SET dead = true")

    async def claim() -> None:
        async with asyncio.timeout(NEVER_S):
            assert await replies.claim(KEY) is None

    asyncio.run(claim())
    holders = connection.execute("SELECT worker FROM callscore.inflight").fetchall()
    assert holders == [(replies.member.id,)]
    assert replies.member.id != dead
    replies.close()


def test_a_damaged_reply_is_asked_for_again_replaced_and_counts_as_paid_again(
    store: PostgresStore, connection: Connection
) -> None:
    async def ask(run: PostgresRun) -> None:
        assert await run.claim(KEY) is None
        await run.keep(item_for(1, paid=True), cached_reply_for(1))

    for _ in range(2):
        connection.execute("UPDATE callscore.answers SET reply = reply || 'x'")
        assert store.find_reply(KEY) is None
        run = store.open_run(HEADER)
        asyncio.run(ask(run))
        assert store.find_reply(KEY) == cached_reply_for(1)
        assert not run.superseded
        run.end("complete")
    paid = connection.execute("SELECT again FROM callscore.payments ORDER BY run_id").fetchall()
    assert paid == [(False,), (True,)]


def test_what_is_sent_to_the_database_again_counts_once(
    store: PostgresStore, connection: Connection
) -> None:
    run = store.open_run(HEADER)
    asyncio.run(run.divide(["m"], ["case"], 1.0))
    reserved = AllowanceChange(run.id, run.worker, Decimal("0.25"), 1)
    lost = UncertainCost(uuid4(), 0.125, run.worker, run.id)
    writer = PostgresWriter(store.url, Spill(store.url))
    for _ in range(2):
        assert reserve_allowance(connection, reserved, reserved.usd).is_given
        writer.write([lost])
    writer.close()
    budget = connection.execute("SELECT spent_usd, reserved_usd FROM callscore.budgets").fetchone()
    assert budget == (Decimal("0.125"), Decimal("0.125"))
    run.end("interrupted")
    assert store.run(run.id).uncertain_usd == 0.125


def test_a_job_that_is_planned_and_finished_twice_counts_once(store: PostgresStore) -> None:
    run = store.open_run(HEADER)
    job = BatchJob("11" * 8, run.id, "m", "planned", 1, 0.5, 1.0, 1.0)
    items = [BatchItem("case-1", 1, "qa", KEY, 0.5)]
    for _ in range(2):
        assert run.jobs.plan(job, items) == items
    job = msgspec.structs.replace(job, state="collected")
    for _ in range(2):
        run.jobs.finish(job, uncertain_usd=0.25)
    run.end("interrupted")
    assert store.run(run.id).uncertain_usd == 0.25


def test_a_reservation_of_a_worker_that_was_declared_dead_is_not_free_for_the_next(
    store: PostgresStore, connection: Connection
) -> None:
    run = store.open_run(HEADER)

    async def spend() -> None:
        await run.divide(["m"], ["case"], 1.0)
        run.budget.begin(1)
        assert await run.budget.reserve(0.25)
        take_over(connection, [run.worker])
        async with asyncio.timeout(NEVER_S):
            while not run.member.is_dead:
                await asyncio.sleep(0.02)
            await run.join_again()
        run.budget.settle(0.25, 0.05)
        assert await run.budget.reserve(1.0), "nothing else is reserved"
        run.budget.settle(1.0, 0.0)
        await run.ask(lambda c: c.execute("SELECT 1"))  # after what was given back

    asyncio.run(spend())
    (left,) = connection.execute("SELECT reserved_usd FROM callscore.budgets").fetchone() or ()
    assert left == 0
    run.end("interrupted")
