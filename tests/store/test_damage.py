"""Damaged journals: noticed when opened, never begun anew, and salvaged to a new file (R-16)."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import pytest

from callscore.core.case import Reply
from callscore.core.errors import StoreError, UsageError
from callscore.core.race import RaceCard
from callscore.core.run import CachedReply, RunItem
from callscore.store.journal import Journal
from callscore.store.recovery.salvage import SalvageResult, salvage
from callscore.store.recovery.sqlite_pages import FRAME_HEADER, PAGE_BYTES, WAL_HEADER
from callscore.store.run_records import RunHeader
from run_cases import HEADER, cached_reply_for, item_for, key_of, work_for

ANSWERS = 300
OTHER = RunHeader("another", "config-2", "data-1", 10)
FRAME = FRAME_HEADER.size + PAGE_BYTES


def answer_to(number: int) -> CachedReply:
    """Some answers are longer than a page."""
    text = f"answer {number} " + "x" * (20_000 if number % 50 == 7 else 200)
    return CachedReply(work_for(number).request.key, Reply(text, "stop", 90, 20, 0.5))


def written(folder: Path, *, close: bool = True) -> Path:
    """A journal of many commits; left as by a kill, its log not yet in the file, if not closed."""
    folder.mkdir(exist_ok=True)
    path, live = folder / "runs.db", folder / "live.db"
    with Journal(live) as journal:
        run = journal.open_run(HEADER)

        async def keep_all() -> None:
            for start in range(0, ANSWERS, 20):
                numbers = range(start, start + 20)
                jobs = (run.keep(item_for(n, paid=True), answer_to(n)) for n in numbers)
                await asyncio.gather(*jobs)

        asyncio.run(keep_all())
        if not close:
            for end in ("", "-wal"):
                shutil.copy(f"{live}{end}", f"{path}{end}")
        run.end("complete")
    if close:
        shutil.copy(live, path)
    return path


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def overwrite(path: Path, offset: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(Random(offset).randbytes(length))


def torn_page(path: Path) -> None:
    overwrite(path, 20 * PAGE_BYTES + 700, PAGE_BYTES // 2)
    overwrite(path, 40 * PAGE_BYTES, PAGE_BYTES)


def lost_header(path: Path) -> None:
    overwrite(path, 0, PAGE_BYTES)


def cut_short(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 + 100)


@pytest.mark.parametrize("damage", [torn_page, lost_header, cut_short])
def test_a_damaged_file_is_noticed_kept_and_salvaged(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path, new = written(tmp_path), tmp_path / "new.db"
    damage(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is damaged: .* callscore runs --store .* --salvage"):
        Journal(path)
    found = salvage(path, new)
    assert path.read_bytes() == before
    assert not log_of(path).exists() or not log_of(path).read_bytes()
    assert ANSWERS // 3 < found.answers <= ANSWERS
    assert new.stat().st_mode & 0o777 == 0o600
    with Journal(new) as journal:
        stored = [journal.find_reply(work_for(n).request.key) for n in range(ANSWERS)]
        whole = [n for n, answer in enumerate(stored) if answer is not None]
        assert len(whole) == found.answers
        assert all(stored[n] == answer_to(n) for n in whole)


def test_a_whole_file_is_salvaged_whole(tmp_path: Path) -> None:
    found = salvage(written(tmp_path), tmp_path / "new.db")
    assert found == SalvageResult(ANSWERS, lost_answers=0, runs=1, items=ANSWERS, judge_answers=0)
    with Journal(tmp_path / "live.db") as old, Journal(tmp_path / "new.db") as new:
        assert new.runs() == old.runs()
        for number in range(ANSWERS):
            case_id = f"case-{number}"
            assert new.replies_to(1, case_id) == old.replies_to(1, case_id) != {}


def test_lost_answers_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path)
    with closing(sqlite3.connect(path)) as vandal:
        vandal.execute("UPDATE answers SET checksum = checksum + 1 WHERE id IN (3, 50, 299)")
        vandal.commit()
    found = salvage(path, tmp_path / "new.db")
    assert found == SalvageResult(ANSWERS - 3, 3, runs=1, items=ANSWERS - 3, judge_answers=0)


def test_a_log_that_was_left_behind_whole_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, close=False)
    copy = tmp_path / "copy.db"
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", f"{copy}{end}")
    assert salvage(copy, tmp_path / "new.db").answers == ANSWERS
    with Journal(path) as journal:
        assert journal.find_reply(work_for(ANSWERS - 1).request.key) == answer_to(ANSWERS - 1)


@pytest.mark.parametrize("offset", [0, WAL_HEADER.size + 5 * FRAME + 300, WAL_HEADER.size + FRAME])
def test_a_log_broken_in_its_middle_is_noticed_and_read_beyond_the_break(
    tmp_path: Path, offset: int
) -> None:
    path = written(tmp_path, close=False)
    overwrite(log_of(path), offset, 16)
    before = path.read_bytes(), log_of(path).read_bytes()
    with pytest.raises(StoreError, match="of its log"):
        Journal(path)
    assert (path.read_bytes(), log_of(path).read_bytes()) == before
    if offset:
        assert salvage(path, tmp_path / "new.db").answers > ANSWERS * 0.9


def test_the_last_transaction_may_be_there_in_part_after_a_loss_of_power(tmp_path: Path) -> None:
    path = written(tmp_path, close=False)
    log = log_of(path)
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - FRAME - 99)
    with Journal(path) as journal:
        found = [n for n in range(ANSWERS) if journal.find_reply(work_for(n).request.key)]
    assert found == list(range(len(found)))
    assert ANSWERS - 20 <= len(found) < ANSWERS


def test_looking_at_a_damaged_file_moves_nothing_of_its_log(tmp_path: Path) -> None:
    path, used = tmp_path / "runs.db", written(tmp_path / "used")
    with Journal(used) as journal:
        run = journal.open_run(HEADER)
        asyncio.run(run.keep(item_for(900, paid=True), answer_to(900)))
        for end in ("", "-wal"):
            shutil.copy(f"{used}{end}", f"{path}{end}")
        run.end("complete")
    overwrite(path, 30 * PAGE_BYTES, 4 * PAGE_BYTES)
    before = path.read_bytes(), log_of(path).read_bytes()
    with pytest.raises(StoreError, match="is damaged"):
        Journal(path)
    assert (path.read_bytes(), log_of(path).read_bytes()) == before


def test_a_file_is_not_salvaged_over_another(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(UsageError, match="exists"):
        salvage(path, tmp_path / "live.db")


def test_a_run_of_a_salvaged_journal_can_be_gone_on_with(tmp_path: Path) -> None:
    path = written(tmp_path, close=False)
    salvage(path, tmp_path / "new.db")
    with Journal(tmp_path / "new.db") as journal:
        (record,) = journal.runs()
        assert (record.status, record.answered) == ("broken off", ANSWERS)
        run = journal.open_run(HEADER, resume=True)
        assert run.id == record.id
        assert run.find_reply(work_for(7).request.key) == answer_to(7)
        asyncio.run(run.keep(RunItem("new", "m", 1, "qa", b"k" * 32), cached_reply_for(900)))
        run.end("complete")


RACE = RaceCard(
    status="decided",
    decision="m",
    tie_band=[],
    stopped="one model is left",
    estimate=False,
    about="pool",
    alpha=0.05,
    margin=0.0,
    seed=1,
    guarantee="",
    blocks=1,
    of_blocks=2,
    requests=10,
    of_requests=20,
    saved_requests=0.5,
    saved_cost=None,
    models=[],
)


def test_eval_file_and_race_of_a_run_are_salvaged(tmp_path: Path) -> None:
    store = tmp_path / "stores" / "runs.db"
    with Journal(store) as journal:
        raced = journal.open_run(msgspec.structs.replace(HEADER, eval_file="../evals/one.yaml"))
        raced.end("complete")
        journal.record_race(raced.id, RACE)
        journal.open_run(OTHER).end("complete")
    salvage(store, tmp_path / "new.db")
    with Journal(tmp_path / "new.db") as journal:
        found = {run.id: (run.header.eval_file, run.race) for run in journal.runs()}
    assert found == {1: ("evals/one.yaml", RACE), 2: ("", None)}


def test_a_damaged_race_is_not_salvaged(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    with Journal(store) as journal:
        journal.open_run(HEADER).end("complete")
    with closing(sqlite3.connect(store)) as vandal:
        vandal.execute("UPDATE runs SET race = ?", (b'{"status":',))
        vandal.commit()
    salvage(store, tmp_path / "new.db")
    with Journal(tmp_path / "new.db") as journal:
        assert [run.race for run in journal.runs()] == [None]


JUDGED = 500
"""So many that the index of them has an inner page, which holds some of them, too."""


def judged(number: int) -> CachedReply:
    return CachedReply(key_of("judge", number), Reply(f"verdict {number}", "stop", 90, 20, 0.25))


def judged_journal(path: Path) -> Path:
    """Two runs, each of which paid for its preflight and for every other answer of a judge."""
    with Journal(path) as journal:
        runs = [journal.open_run(HEADER), journal.open_run(OTHER)]
        with journal.open_cache() as answers:

            async def keep_all() -> None:
                paid = [answers.keep_judge_reply(judged(n), runs[n % 2].id) for n in range(JUDGED)]
                await asyncio.gather(*paid)
                await answers.keep_judge_reply(judged(JUDGED))  # on nobody's account

            asyncio.run(keep_all())
        for run in runs:
            run.charge_preflight(0.125 * run.id)
            run.end("complete")
    return path


def test_which_run_paid_for_an_answer_of_a_judge_is_salvaged(tmp_path: Path) -> None:
    path = judged_journal(tmp_path / "runs.db")
    with closing(sqlite3.connect(path)) as vandal:
        vandal.execute("UPDATE answers SET checksum = checksum + 1 WHERE id = 1")
        vandal.commit()
    lost_header(path)
    found = salvage(path, tmp_path / "new.db")
    assert found == SalvageResult(JUDGED, 1, runs=2, items=0, judge_answers=JUDGED - 1)
    with Journal(tmp_path / "new.db") as journal:
        spent = {record.id: (record.cost_usd, record.judge_usd) for record in journal.runs()}
    assert spent == {1: (0.125, 0.25 * (JUDGED / 2 - 1)), 2: (0.25, 0.25 * JUDGED / 2)}
