from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import pytest

import run_child
from callscore.core.case import Reply
from callscore.core.errors import UsageError
from callscore.store.journal import Journal
from callscore.store.run_records import RunHeader
from command_server import NEVER_S
from run_cases import work_for

CASES = 60
TESTS = Path(run_child.__file__).parent


def child(
    folder: Path, point: str = "", count: int = 0, name: str = "x", cases: int = CASES
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, run_child.__file__, str(folder), name, str(cases), point, str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(TESTS)])},
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    _, errors = process.communicate(timeout=NEVER_S)
    assert errors == b"", errors.decode()
    return process.returncode


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split() if path.exists() else []


def check_after_a_kill(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if database.execute("SELECT name FROM sqlite_master").fetchall():
            kept = {key.hex() for (key,) in database.execute("SELECT key FROM answers")}
            assert set(lines(folder / "reported")) <= kept


def final_answers(folder: Path) -> list[Reply]:
    """What the run came to, and the proof that it is whole."""
    with Journal(folder / "journal.db") as journal:
        record = next(run for run in journal.runs() if run.status == "complete")
        assert (record.answered, record.failed, record.coverage) == (CASES, 0, 1.0)
        found = [journal.replies_to(record.id, work_for(n).case_id)["m"][1] for n in range(CASES)]
        assert all(isinstance(reply, Reply) for reply in found)
        replies = [reply for reply in found if isinstance(reply, Reply)]
        assert all(reply.latency_ms is not None for reply in replies)
        return [msgspec.structs.replace(reply, latency_ms=None) for reply in replies]


def killed_and_resumed(folder: Path, kills: list[tuple[str, int]]) -> int:
    """Kill at each point in turn, then let a last process finish; the number of real kills."""
    folder.mkdir()
    died = 0
    for point, count in kills:
        died += ended(child(folder, point, count)) == -signal.SIGKILL
        check_after_a_kill(folder)
    with Journal(folder / "journal.db") as journal:
        whole = "complete" in {run.status for run in journal.runs()}
    if not whole:
        assert ended(child(folder)) == 0
    paid = Counter(lines(folder / "paid"))
    assert len(paid) == CASES
    assert sum(paid.values()) - CASES <= died * run_child.CONCURRENCY
    return died


@pytest.fixture
def uninterrupted(tmp_path: Path) -> list[Reply]:
    killed_and_resumed(tmp_path / "whole", [])
    return final_answers(tmp_path / "whole")


def test_a_killed_run_goes_on_and_pays_twice_only_for_what_was_in_flight(
    tmp_path: Path, uninterrupted: list[Reply]
) -> None:
    kills = [("answered", 9), ("commit", 4), ("committed", 3), ("reported", 11)]
    assert killed_and_resumed(tmp_path / "killed", kills) == len(kills)
    assert final_answers(tmp_path / "killed") == uninterrupted


@pytest.mark.slow
def test_sixty_random_kills_lose_nothing(tmp_path: Path, uninterrupted: list[Reply]) -> None:
    rng, died = Random(2026), 0
    while died < 60:
        kills = [(rng.choice(run_child.POINTS[:-1]), rng.randint(1, 9)) for _ in range(5)]
        folder = tmp_path / f"killed after {died}"
        died += killed_and_resumed(folder, [*kills, ("ending", 1)])
        assert final_answers(folder) == uninterrupted


def test_a_second_process_learns_which_one_holds_the_run_and_takes_over_when_it_is_gone(
    tmp_path: Path,
) -> None:
    header = RunHeader("x", "config", "data", CASES)
    with Journal(tmp_path / "journal.db") as journal:
        holder = journal.open_run(header)
        with closing(sqlite3.connect(journal.path)) as database:
            assert database.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        second = child(tmp_path)
        _, errors = second.communicate(timeout=NEVER_S)
        told = errors.decode()
        assert "UsageError" in told
        assert f"run {holder.id} of 'x' is held by process {os.getpid()} on " in told
        holder.end("interrupted")
    assert ended(child(tmp_path, "reported", 5)) == -signal.SIGKILL
    with Journal(tmp_path / "journal.db") as journal:
        assert [run.status for run in journal.runs()] == ["broken off"]
        taken = journal.open_run(header, resume=True)
        with pytest.raises(UsageError, match="is held by process"):
            journal.open_run(header, resume=True)
        assert taken.id == holder.id
        taken.end("interrupted")


def test_several_processes_write_one_journal_without_loss(tmp_path: Path) -> None:
    processes = [child(tmp_path, name="x" * n) for n in range(1, 5)]
    assert [ended(process) for process in processes] == [0] * 4
    with Journal(tmp_path / "journal.db") as journal:
        assert [run.answered for run in journal.runs()] == [CASES] * 4
    assert len(lines(tmp_path / "paid")) == len(set(lines(tmp_path / "paid"))) == 4 * CASES


@pytest.mark.slow
def test_eight_processes_write_a_thousand_rows_each_without_loss(tmp_path: Path) -> None:
    processes = [child(tmp_path, name="x" * n, cases=1_000) for n in range(1, 9)]
    assert [ended(process) for process in processes] == [0] * 8
    with Journal(tmp_path / "journal.db") as journal:
        assert [run.answered for run in journal.runs()] == [1_000] * 8
