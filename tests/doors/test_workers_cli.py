"""`--workers`: interrupts, closed pipes and killed processes of a command."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import commands
from builders import Json
from callscore.core.blocks import BLOCK
from extensions import install_modules
from scored_calls import write_records

CASES = 2 * BLOCK.cases + 500
QUESTION = {"question_id": "Q1", "max_score": 5, "type": "SCORE", "reason": "She says hello."}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three blocks of the smallest cases, each with its answer."""
    records: list[Json] = [
        {
            "id": f"case-{number}",
            "task": "qa",
            "transcript": "I want a refund.",
            "config": {},
            "expected_outcome": {"questions": [{**QUESTION, "score": number % 6}]},
            "model_output": {"questions": [{**QUESTION, "score": number % 5}]},
        }
        for number in range(CASES)
    ]
    return write_records(tmp_path_factory.mktemp("cases"), "cases", records)


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a command has started."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(word) for word in listed.read_text(encoding="utf-8").split()]


def test_two_processes_write_what_one_writes(cases: Path, tmp_path: Path) -> None:
    written = []
    for number in (1, 2):
        files = ("--results", tmp_path / f"r{number}", "--json", tmp_path / f"c{number}")
        done = commands.run("score", cases, "--workers", number, *files)
        assert done.returncode == 0, done.stderr
        written.append(
            (done.stdout, *((tmp_path / f"{name}{number}").read_bytes() for name in "rc"))
        )
    assert written[0] == written[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_processes(cases: Path, tmp_path: Path, number: int) -> None:
    results = tmp_path / "results"
    with commands.start("score", cases, "--workers", 2, "--results", results) as process:
        commands.wait_for(lambda: len(children(process)), 2)
        started = children(process)
        for pid in (*started, process.pid) if number == signal.SIGINT else (process.pid,):
            os.kill(pid, number)  # the terminal sends SIGINT to all of them
        _, err = process.communicate()
    assert (process.returncode, err.splitlines()[-1]) == (130, "error: interrupted")
    assert not any(map(commands.is_running, started))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_changes_nothing(cases: Path, tmp_path: Path) -> None:
    expected = commands.run("score", cases, "--workers", 1)
    with commands.start("score", cases, "--workers", 2) as process:
        commands.wait_for(lambda: len(children(process)), 2)
        os.kill(children(process)[0], signal.SIGKILL)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, expected.stdout), err


DEADLY = '''
import multiprocessing, os, signal

from callscore.extension import Measure, MetricSpec


class Deadly:
    slug, version, spec = "qa.deadly", "1", MetricSpec(section="-", label="Deadly", bands=())

    def measure(self, case, answer, verdicts):
        """Kill the worker that measures one case of the second block."""
        if case.id == "case-5000" and multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return Measure(1.0)
'''
METRIC = """
[project]
name = "callscore-deadly"
version = "1"
[project.entry-points."callscore.metrics"]
deadly = "callscore_deadly:Deadly"
"""


def test_a_block_that_kills_its_process_twice_is_named(cases: Path, tmp_path: Path) -> None:
    package = {"pyproject.toml": METRIC, "callscore_deadly.py": DEADLY}
    env = install_modules(package, tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    words = ("score", cases, "--metric", "deadly", "--results", out / "results")
    done = commands.run(*words, "--workers", 2, env=env)
    first, last = BLOCK.cases + 1, 2 * BLOCK.cases
    assert done.returncode == 70
    assert f"{cases}:{first} to {cases}:{last}: the process that computed this" in done.stderr
    assert "was killed by signal 9, twice; if memory is short, use fewer --workers" in done.stderr
    assert list(out.iterdir()) == []
    alone = commands.run(*words, "--workers", 1, env=env)
    assert alone.returncode == 0, alone.stderr


def test_a_closed_stdout_ends_the_command_quietly(cases: Path) -> None:
    with commands.start("score", cases, "--workers", 2) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
    assert process.returncode == 0 and "error" not in err


def test_several_processes_are_refused_where_one_must_score(cases: Path) -> None:
    done = commands.run("score", cases, "--workers", 2, "--allow-bad-cases")
    assert done.returncode == 2
    assert "workers: 2; expected 1, as skipping bad cases needs one process" in done.stderr
