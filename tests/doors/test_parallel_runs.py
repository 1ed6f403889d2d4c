"""Several runs at once with one store and one model: every request is paid once (R-14)."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command_server import NEVER_S
from commands import run, start, wait_for
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import FaultyChat, Gate, serving

AT_ONCE = 4


def eval_files(folder: Path, url: str, runs: int) -> list[Path]:
    """Files that differ in their name alone: as many runs, the same requests."""
    found = []
    for number in range(runs):
        model = remote_model(url, limits={"concurrency": AT_ONCE})
        path = eval_file(folder, [model], name=f"run {number}")
        found.append(path.rename(folder / f"eval-{number}.yaml"))
    return found


def started(paths: list[Path]) -> list[subprocess.Popen[str]]:
    return [start("run", path, "--no-preflight", "--resume") for path in paths]


def finish(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        _, err = process.communicate(timeout=NEVER_S)
        assert process.returncode == 0, err


def test_r14_runs_at_once_pay_once_for_the_same_request(tmp_path: Path) -> None:
    cases_file(tmp_path, 24)
    faulty = FaultyChat(right_answer, delay_s=0.1)
    with serving(faulty) as stub:
        paths = eval_files(tmp_path, stub.url, 3)
        finish(started(paths))
    assert (len(faulty.paid), faulty.paid_twice) == (24, 0)
    listed = run("runs", paths[0]).stdout.splitlines()[1:]
    assert [("complete" in line, "24/24" in line) for line in listed] == [(True, True)] * 3


def test_r14_a_killed_run_keeps_no_other_run_waiting(tmp_path: Path) -> None:
    cases_file(tmp_path, 24)
    faulty = FaultyChat(right_answer, delay_s=0.3)
    with serving(faulty) as stub:
        first, second = eval_files(tmp_path, stub.url, 2)
        (killed,) = started([first])
        wait_for(lambda: len(stub.requests), AT_ONCE)
        (other,) = started([second])
        wait_for(lambda: len(stub.requests), 3 * AT_ONCE)
        killed.kill()
        killed.communicate()
        finish([other])
    assert len(faulty.paid) == 24
    assert faulty.paid_twice <= AT_ONCE, "what was under way at the kill"


def test_r14_a_stopped_process_is_waited_for_no_longer_than_a_call_may_take(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 2)
    faulty = FaultyChat(right_answer)
    gate = Gate(faulty, answers=0)
    with serving(gate) as stub:
        first, second = eval_files(tmp_path, stub.url, 2)
        hasty = '"attempts": {"timeout_s": 2, "case_timeout_s": 1}, "name"'
        second.write_text(second.read_text().replace('"name"', hasty, 1))
        (stopped,) = started([first])
        wait_for(lambda: len(stub.requests), 2)
        stopped.send_signal(signal.SIGSTOP)
        gate.open()
        finish(started([second]))
        stopped.kill()
        stopped.communicate()
    assert min(faulty.paid.values()) >= 2, "both were asked again; more often if they were late"


@pytest.mark.slow
def test_r14_six_runs_of_160_requests_pay_160_but_for_what_is_killed(tmp_path: Path) -> None:
    rates = {"429": 0.05, "500": 0.03}
    for kills in (0, 4):
        folder = tmp_path / f"{kills} kills"
        folder.mkdir()
        cases_file(folder, 160)
        faulty = FaultyChat(right_answer, rates, delay_s=0.2)
        chance = random.Random(kills)
        with serving(faulty) as stub:
            paths = eval_files(folder, stub.url, 6)
            processes = started(paths)
            for number in range(kills):
                time.sleep(chance.uniform(0.5, 2.0))
                processes[number].kill()
                processes[number].communicate()
                (processes[number],) = started([paths[number]])
            finish(processes)
        assert len(faulty.paid) == 160
        assert faulty.paid_twice <= kills * AT_ONCE
