"""Processes compute blocks; their order, their errors and their ends do not depend on luck."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callscore.core.errors import DataError, WorkerLost
from callscore.processes.pool import AHEAD, ProcessPool
from commands import is_running, run_python, wait_for

METHODS = pytest.mark.parametrize("method", ["fork", "spawn"])


def open_squares(context: Path) -> Callable[[int], int]:
    """Square numbers; some numbers have a defect."""

    def square(number: int) -> int:
        if number == 13:
            raise DataError("is unlucky", place=f"numbers:{number}")
        if number == 17:
            raise ValueError("not a number")
        if number in (23, 29) and (number == 29 or not (context / "killed").exists()):
            (context / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    return square


def squares(folder: Path, numbers: range, method: str = "fork", processes: int = 3) -> list[int]:
    """The squares, from a pool of processes."""
    pool: ProcessPool[int, int] = ProcessPool(processes, open_squares, folder, method)
    with pool:
        return list(pool.results(numbers, lambda number: f"numbers:{number}"))


@METHODS
def test_results_come_back_in_order(tmp_path: Path, method: str) -> None:
    assert squares(tmp_path, range(12), method) == [n * n for n in range(12)]


def test_the_lowest_error_is_raised(tmp_path: Path) -> None:
    for processes in (1, 2, 7):
        with pytest.raises(DataError, match="^numbers:13: is unlucky$"):
            squares(tmp_path, range(10, 20), processes=processes)


def test_a_bug_in_a_process_shows_its_lines(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a number") as caught:
        squares(tmp_path, range(15, 20))
    assert 'raise ValueError("not a number")' in "".join(caught.value.__notes__)


@METHODS
def test_the_block_of_a_killed_process_is_computed_once_more(tmp_path: Path, method: str) -> None:
    assert squares(tmp_path, range(18, 28), method) == [n * n for n in range(18, 28)]
    assert (tmp_path / "killed").exists()


def test_a_block_that_kills_two_processes_ends_the_command(tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match=r"^numbers:29: .*killed by signal 9, twice") as caught:
        squares(tmp_path, range(24, 35))
    assert caught.value.exit_code == 70


def test_few_blocks_are_computed_before_their_turn(tmp_path: Path) -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(12):
            taken.append(number)
            yield number

    pool: ProcessPool[int, int] = ProcessPool(2, open_squares, tmp_path, "fork")
    with pool:
        for received, _ in enumerate(pool.results(numbers(), str)):
            assert len(taken) <= received + 1 + 2 + AHEAD


def test_no_process_is_left_behind(tmp_path: Path) -> None:
    pool: ProcessPool[int, int] = ProcessPool(3, open_squares, tmp_path, "fork")
    with pool:
        processes = [worker.process for worker in pool._workers]
        next(pool.results(range(100), str))
    assert [process.is_alive() for process in processes] == [False] * 3


ORPHANS = """
import os, signal, sys
from callscore.processes.pool import ProcessPool
sys.path.insert(0, sys.argv[1])
from test_pool import open_squares
from pathlib import Path
pool = ProcessPool(3, open_squares, Path("."), "fork")
pool.__enter__()
print(*(worker.process.pid for worker in pool._workers), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_end_when_their_parent_is_killed() -> None:
    killed = run_python(ORPHANS, Path(__file__).parent)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    pids = [int(word) for word in killed.stdout.split()]
    wait_for(lambda: sum(not is_running(pid) for pid in pids), 3)
