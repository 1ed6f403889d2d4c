from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Reply, ToolCall
from callscore.core.errors import StoreError
from callscore.store.journal import Journal, OpenRun, ReplyCache
from callscore.store.reply_rows import KeyIndex, from_bytes, to_bytes
from run_cases import HEADER, cached_reply_for, item_for, work_for


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.db") as opened:
        yield opened


def keep(run: OpenRun, *numbers: int) -> None:
    async def all_at_once() -> None:
        jobs = (run.keep(item_for(n, paid=True), cached_reply_for(n)) for n in numbers)
        await asyncio.gather(*jobs)

    asyncio.run(all_at_once())


def test_an_answer_is_on_the_disk_when_keep_returns(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, *range(50))
    with closing(sqlite3.connect(journal.path)) as other:
        assert other.execute("SELECT count(*) FROM answers").fetchone() == (50,)
    run.end("complete")


replies = st.builds(
    Reply,
    text=st.text() | st.binary(),
    finish_reason=st.none() | st.text(max_size=9),
    input_tokens=st.none() | st.integers(0, 10**9),
    output_tokens=st.none() | st.integers(0, 10**9),
    cost_usd=st.none() | st.floats(0, 1e6),
    tool_calls=st.lists(st.builds(ToolCall, st.text(), st.text()), max_size=3).map(tuple),
    model=st.none() | st.text(),
)


@given(reply=replies)
def test_every_reply_comes_back_as_it_was(reply: Reply) -> None:
    assert from_bytes(to_bytes(reply)) == reply


class CountingConnection(sqlite3.Connection):
    commits = 0

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        CountingConnection.commits += sql == "COMMIT"
        return super().execute(sql, *parameters)


def test_many_answers_of_judges_share_a_commit(tmp_path: Path) -> None:
    async def all_at_once(answers: ReplyCache) -> None:
        await asyncio.gather(*(answers.keep_judge_reply(cached_reply_for(n)) for n in range(50)))

    with (
        Journal(tmp_path / "journal.db", CountingConnection) as journal,
        journal.open_cache() as answers,
    ):
        before = CountingConnection.commits
        asyncio.run(all_at_once(answers))
        assert CountingConnection.commits - before <= 3


def test_a_damaged_answer_counts_as_none_and_is_replaced(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1, 2)
    with closing(sqlite3.connect(journal.path)) as vandal:
        vandal.execute(
            "UPDATE answers SET reply = x'81a474657874a468656c6f' WHERE key = ?",
            (work_for(1).request.key,),
        )
        vandal.commit()
    assert journal.find_reply(work_for(1).request.key) is None
    assert journal.replies_to(run.id, "case-1") == {}
    keep(run, 1)
    run.end("complete")
    assert journal.find_reply(work_for(1).request.key) == cached_reply_for(1)


def test_only_the_owner_may_read_the_files(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    modes = {path.name: path.stat().st_mode & 0o777 for path in journal.path.parent.iterdir()}
    assert set(modes) >= {"journal.db", "journal.db-wal"}
    assert set(modes.values()) == {0o600}
    run.end("complete")


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        b"not a database, but long enough to be looked at\n" * 999,
        b"\n" * 9999,
        b"PK\x03\x04" + bytes(range(256)) * 99,
    ],
)
def test_a_file_that_is_no_store_is_called_so_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        StoreError, match="cases.jsonl: is not a Callscore store; expected a new"
    ) as e:
        Journal(path)
    assert "damaged" not in str(e.value) and "salvage" not in str(e.value)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_lost_page_is_reported(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, *range(500))
    run.end("complete")
    journal.close()
    size = journal.path.stat().st_size
    with journal.path.open("r+b") as file:
        file.truncate(size // 2)
    with (
        pytest.raises(StoreError, match="malformed|disk image|damaged"),
        Journal(journal.path) as torn,
    ):
        torn.runs()


def test_what_one_loop_leaves_behind_the_next_one_takes_over(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    for number in range(20):
        asyncio.run(run.note(item_for(number, error="HTTP 500")))
    keep(run, 20)
    with closing(sqlite3.connect(journal.path)) as other:
        assert other.execute("SELECT count(*) FROM items").fetchone() == (21,)
    run.end("complete")


def test_keys_are_known_until_there_are_too_many_or_others_write(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    with closing(sqlite3.connect(journal.path)) as connection:
        keys = KeyIndex(connection)
    run.end("complete")
    known, unknown = work_for(1).request.key, work_for(2).request.key
    assert (keys.lacks(known), keys.lacks(unknown)) == (False, True)
    keys.update(1, 2)
    assert keys.lacks(unknown)
    keys.add(unknown)
    assert not keys.lacks(unknown)
    assert keys.lacks(work_for(3).request.key)
    keys.update(3, 4)
    assert not keys.lacks(work_for(3).request.key), "somebody else has written"
