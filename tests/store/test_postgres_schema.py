from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from callscore.core.errors import StoreError, UsageError
from callscore.store.address import open_store, purge_store, read_address
from callscore.store.postgres import schema
from callscore.store.postgres.schema import MIGRATIONS, version_of
from callscore.store.postgres.url import DatabaseUrl
from postgres_server import PostgresServer
from run_cases import HEADER, cached_reply_for, item_for

TEXT = "a sentence of a customer that must not be found"


def test_several_processes_that_open_a_new_store_create_it_once(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = read_address(postgres.new_store(), tmp_path)
    with ThreadPoolExecutor(6) as threads:
        for opened in threads.map(lambda _: open_store(address), range(6)):
            opened.close()
    versions = postgres.execute("SELECT version FROM callscore.schema_version")
    assert versions == [(number,) for number in range(1, len(MIGRATIONS) + 1)]


def test_a_store_of_a_newer_version_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    address = read_address(postgres.new_store(), tmp_path)
    open_store(address).close()
    postgres.execute("INSERT INTO callscore.schema_version VALUES (99)")
    for only_reading in (False, True):
        with pytest.raises(StoreError, match=r"was written by a newer version \(schema 99"):
            open_store(address, only_reading=only_reading)


def test_reading_creates_no_tables(postgres: PostgresServer, tmp_path: Path) -> None:
    address = read_address(postgres.new_store(), tmp_path)
    with pytest.raises(UsageError, match="no such store"):
        open_store(address, only_reading=True)
    assert postgres.execute("SELECT to_regclass('callscore.runs')") == [(None,)]


def test_a_connection_that_breaks_while_a_store_is_looked_for_is_opened_again(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = read_address(postgres.new_store(), tmp_path)
    open_store(address).close()
    breaks = ["SELECT pg_terminate_backend(pg_backend_pid())"]

    def read_version(connection: Any, url: DatabaseUrl) -> int:
        if breaks:
            connection.execute(breaks.pop().encode())
        return version_of(connection, url)

    monkeypatch.setattr(schema, "version_of", read_version)
    assert address.exists()
    assert not breaks


def test_after_a_purge_no_text_is_left_in_the_tables(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = read_address(postgres.new_store(), tmp_path)
    with open_store(address) as store:
        run = store.open_run(HEADER)

        async def keep_all() -> None:
            await asyncio.gather(
                *(
                    run.keep(item_for(n, paid=True), cached_reply_for(n, text=f"{TEXT} {n}"))
                    for n in range(50)
                )
            )

        asyncio.run(keep_all())
        assert TEXT.encode() in _table_file(postgres, "answers")
        with pytest.raises(UsageError, match="is running; expected a run that has ended"):
            purge_store(address, [run.id])
        run.end("complete")
    done = purge_store(address, [run.id])
    assert (done.runs, done.replies) == (1, 50)
    assert TEXT.encode() not in _table_file(postgres, "answers")
    assert postgres.execute("SELECT count(*) FROM callscore.runs") == [(0,)]


def _table_file(postgres: PostgresServer, table: str) -> bytes:
    postgres.execute("CHECKPOINT")
    ((path,),) = postgres.execute(f"SELECT pg_relation_filepath('callscore.{table}')")
    return postgres.read_data_file(path)


def test_a_reply_that_was_damaged_counts_as_none(postgres: PostgresServer, tmp_path: Path) -> None:
    address = read_address(postgres.new_store(), tmp_path)
    with open_store(address) as store:
        run = store.open_run(HEADER)
        asyncio.run(run.keep(item_for(1, paid=True), cached_reply_for(1)))
        postgres.execute("UPDATE callscore.answers SET checksum = checksum + 1")
        assert store.find_reply(cached_reply_for(1).key) is None
        assert store.replies_to(run.id, "case-1") == {}
        run.end("complete")
