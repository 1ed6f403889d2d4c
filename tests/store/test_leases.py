from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callscore.store import leases
from callscore.store.journal import Journal
from callscore.store.leases import Leases
from run_cases import cached_reply_for, key_of, work_for

KEY = key_of("a request")


def test_a_request_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    first, second = Leases(tmp_path / "runs.db"), Leases(tmp_path / "runs.db")
    assert first.take(KEY)
    assert not second.take(KEY)
    assert second.take(key_of("another"))
    first.release(KEY)
    assert second.take(KEY)
    second.close()
    assert first.take(KEY), "what is closed holds nothing"
    first.close()


def test_a_process_knows_that_it_is_alone_until_another_enters(tmp_path: Path) -> None:
    first = Leases(tmp_path / "runs.db")
    assert first.is_alone
    second = Leases(tmp_path / "runs.db")
    assert not first.is_alone
    assert not second.is_alone
    first.close()
    second.close()
    assert Leases(tmp_path / "runs.db").is_alone


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    Leases(tmp_path / "runs.db").close()
    assert (tmp_path / "runs.db-leases").stat().st_mode & 0o777 == 0o600


def test_without_such_locks_every_request_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_HAS_LOCKS", False)
    first, second = Leases(tmp_path / "runs.db"), Leases(tmp_path / "runs.db")
    assert first.take(KEY)
    assert second.take(KEY)


def test_a_request_that_another_holds_is_waited_for_and_its_answer_used(tmp_path: Path) -> None:
    """As by two judges of two runs."""
    path, stored = tmp_path / "runs.db", cached_reply_for(1)
    key = work_for(1).request.key

    async def both() -> None:
        with (
            Journal(path) as one,
            Journal(path) as other,
            one.open_cache() as mine,
            other.open_cache() as theirs,
        ):
            assert await mine.claim(key, 60) is None
            waiting = asyncio.create_task(theirs.claim(key, 60))
            await asyncio.sleep(0)  # it has looked once
            assert not waiting.done()
            await mine.keep_judge_reply(stored)
            mine.release(key)
            assert await waiting == stored
            theirs.release(key)
            assert await mine.claim(key_of("free"), 60) is None

    asyncio.run(both())
