from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Failed, Reply, ToolCall
from callscore.core.errors import StoreError, UsageError
from callscore.store.journal import Journal, OpenRun, ReplyCache
from callscore.store.reply_rows import KeyIndex, from_bytes, to_bytes
from command_server import NEVER_S
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


def test_a_kept_answer_is_found_by_its_key_in_every_later_run(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    run.end("complete")
    with Journal(journal.path) as later:
        assert later.find_reply(work_for(1).request.key) == cached_reply_for(1)
        assert later.find_reply(work_for(2).request.key) is None


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


def test_the_first_answer_stays_when_another_run_pays_once_more(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    assert not run.superseded
    other = journal.open_run(msgspec.structs.replace(HEADER, name="another"))
    asyncio.run(other.keep(item_for(1), cached_reply_for(1, text="a second answer")))
    assert other.superseded
    other.end("complete")
    run.end("complete")
    assert journal.find_reply(work_for(1).request.key) == cached_reply_for(1)


def test_answers_of_judges_are_durable_and_paid_by_their_run(journal: Journal) -> None:
    run = journal.open_run(HEADER)

    async def all_at_once() -> None:
        kept = await asyncio.gather(
            *(run.keep_judge_reply(cached_reply_for(n), run.id) for n in (1, 2))
        )
        assert kept == [cached_reply_for(1), cached_reply_for(2)]

    asyncio.run(all_at_once())
    with Journal(journal.path) as other:
        assert other.find_reply(work_for(2).request.key) == cached_reply_for(2)
        assert (other.run(run.id).judge_usd, other.run(run.id).cost_usd) == (1.0, 0.0)
    run.end("complete")


def test_judges_that_work_for_no_run_keep_their_answers_too(journal: Journal) -> None:
    with journal.open_cache() as answers:
        assert asyncio.run(answers.keep_judge_reply(cached_reply_for(1))) == cached_reply_for(1)
        assert answers.find_reply(work_for(1).request.key) == cached_reply_for(1)
    assert journal.runs() == []


def test_a_judge_goes_by_the_answer_that_was_there_first(journal: Journal) -> None:
    with journal.open_cache() as slow, journal.open_cache() as fast:
        asyncio.run(fast.keep_judge_reply(cached_reply_for(1)))
        later = cached_reply_for(1, text="a second answer")
        assert asyncio.run(slow.keep_judge_reply(later)) == cached_reply_for(1)


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


def test_a_run_gives_back_answers_and_failures_by_case(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    asyncio.run(run.note(item_for(2, error="HTTP 500")))
    run.end("complete")
    assert journal.replies_to(run.id, "case-1") == {"m": {1: cached_reply_for(1).reply}}
    assert journal.replies_to(run.id, "case-2") == {"m": {1: Failed("model", "HTTP 500")}}
    assert journal.replies_to(run.id, "case-3") == {}


def test_a_failure_gives_way_to_an_answer_but_never_the_reverse(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    asyncio.run(run.note(item_for(1, error="HTTP 500")))
    keep(run, 1)
    assert not run.superseded
    asyncio.run(run.note(item_for(1, error="HTTP 500")))
    run.end("interrupted")
    assert run.superseded
    assert journal.replies_to(run.id, "case-1") == {"m": {1: cached_reply_for(1).reply}}


def test_a_run_is_listed_with_status_coverage_and_cost(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1, 2, 3)
    free = cached_reply_for(4, cost_usd=None)
    asyncio.run(run.keep(item_for(4, paid=True), free))
    asyncio.run(run.note(item_for(5, error="timeout")))
    assert journal.run(run.id).status == "running"
    run.end("budget")
    (record,) = journal.runs()
    assert (record.status, record.answered, record.failed) == ("budget", 4, 1)
    assert (record.coverage, record.cost_usd, record.unpriced) == (0.4, 1.5, 1)


def test_answers_that_were_there_cost_a_second_run_nothing(journal: Journal) -> None:
    first = journal.open_run(HEADER)
    keep(first, 1)
    first.end("complete")
    second = journal.open_run(HEADER)
    asyncio.run(second.note(item_for(1)))
    second.end("complete")
    assert [record.cost_usd for record in journal.runs()] == [0.0, 0.5]


def test_a_resumed_run_still_knows_what_it_paid(journal: Journal) -> None:
    first = journal.open_run(HEADER)
    keep(first, 1)
    first.end("interrupted")
    again = journal.open_run(HEADER, resume=True)
    asyncio.run(again.note(item_for(1)))
    again.end("complete")
    assert again.id == first.id
    assert journal.run(again.id).cost_usd == 0.5


def test_resuming_starts_a_run_where_none_is_unfinished(journal: Journal) -> None:
    first = journal.open_run(HEADER, resume=True)
    first.end("complete")
    second = journal.open_run(HEADER, resume=True)
    second.end("complete")
    assert second.id != first.id


def test_changed_data_is_not_resumed(journal: Journal) -> None:
    journal.open_run(HEADER).end("interrupted")
    changed = type(HEADER)(HEADER.name, HEADER.config_hash, "data-2", 10)
    with pytest.raises(UsageError, match="the data has changed"):
        journal.open_run(changed, resume=True)


def test_an_unknown_run_is_a_usage_error(journal: Journal) -> None:
    with pytest.raises(UsageError, match="has no run 7"):
        journal.run(7)


def test_names_are_data_never_sql(journal: Journal) -> None:
    evil = "'; DROP TABLE items; --"
    run = journal.open_run(type(HEADER)(evil, evil, evil, 1))
    run.end("complete")
    assert journal.replies_to(run.id, evil) == {}
    assert journal.runs()[0].header.name == evil


def test_only_the_owner_may_read_the_files(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    modes = {path.name: path.stat().st_mode & 0o777 for path in journal.path.parent.iterdir()}
    assert set(modes) >= {"journal.db", "journal.db-wal"}
    assert set(modes.values()) == {0o600}
    run.end("complete")


def test_what_was_noted_is_written_when_the_run_ends(journal: Journal) -> None:
    run = journal.open_run(HEADER)

    async def note_all() -> None:
        for number in range(5_000):
            await run.note(item_for(number, error="stopped"))

    asyncio.run(note_all())
    run.end("complete")
    assert journal.run(run.id).failed == 5_000


@pytest.mark.parametrize("turns", range(4))
def test_a_paid_answer_is_kept_although_its_caller_was_cancelled(
    journal: Journal, turns: int
) -> None:
    run = journal.open_run(HEADER)

    async def keep_and_leave() -> None:
        keeping = asyncio.create_task(run.keep(item_for(1, paid=True), cached_reply_for(1)))
        for _ in range(turns + 1):
            await asyncio.sleep(0)
        keeping.cancel()

    asyncio.run(keep_and_leave())
    run.end("interrupted")
    assert journal.find_reply(work_for(1).request.key) == cached_reply_for(1)


def test_settling_waits_for_what_was_noted(journal: Journal) -> None:
    run = journal.open_run(HEADER)

    async def note_and_settle() -> int:
        await run.note(item_for(1, error="stopped"))
        await run.settle()
        return journal.run(run.id).failed

    assert asyncio.run(note_and_settle()) == 1
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


def test_a_row_that_cannot_be_written_ends_the_run_and_leaves_no_task_waiting(
    journal: Journal,
) -> None:
    run = journal.open_run(HEADER)
    lone = msgspec.structs.replace(item_for(1, paid=True), case_id="\ud800")

    async def both() -> list[BaseException | None]:
        jobs = (
            run.keep(lone, cached_reply_for(1)),
            run.keep(item_for(2, paid=True), cached_reply_for(2)),
        )
        async with asyncio.timeout(NEVER_S):
            return list(await asyncio.gather(*jobs, return_exceptions=True))

    told = asyncio.run(both())
    assert [type(error) for error in told] == [StoreError, StoreError]
    assert str(told[0]).startswith(f"{journal.path}: cannot keep results: 'utf-8' codec can't")
    run.end("interrupted")
    assert journal.run(run.id).status == "interrupted"


def test_what_one_loop_leaves_behind_the_next_one_takes_over(journal: Journal) -> None:
    run = journal.open_run(HEADER)
    for number in range(20):
        asyncio.run(run.note(item_for(number, error="HTTP 500")))
    keep(run, 20)
    with closing(sqlite3.connect(journal.path)) as other:
        assert other.execute("SELECT count(*) FROM items").fetchone() == (21,)
    run.end("complete")


def test_an_answer_of_a_concurrent_run_is_found_after_the_next_commit(
    journal: Journal,
) -> None:
    run = journal.open_run(HEADER)
    keep(run, 1)
    with Journal(journal.path) as elsewhere:
        other = elsewhere.open_run(msgspec.structs.replace(HEADER, name="another"))
        assert other.find_reply(work_for(1).request.key) == cached_reply_for(1)
        keep(other, 2)
        other.end("complete")
    keep(run, 3)
    assert run.find_reply(work_for(2).request.key) == cached_reply_for(2)
    assert run.find_reply(work_for(3).request.key) == cached_reply_for(3)
    assert run.find_reply(work_for(4).request.key) is None
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
