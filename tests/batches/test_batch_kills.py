"""A process that is killed at any arrow of a job: the next one goes on; nothing is run twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import batch_runs
from batch_runs import Eval, evaluating
from batch_vendors import VENDORS
from command_server import NEVER_S
from commands import environment, line_of, wait_for
from postgres_server import PostgresServer
from stub_servers import Behaviour, Hang, Reset

CASES = 4
TESTS = Path(batch_runs.__file__).parent


def start(eval_: Eval, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """The command in a process of its own, whose jobs are polled at once."""
    path = os.pathsep.join([*sys.path, str(TESTS)])
    return subprocess.Popen(
        [sys.executable, batch_runs.__file__, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment({"PYTHONPATH": path, **(env or {})}),
        cwd=eval_.folder,
    )


def run(eval_: Eval, *more: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    process = start(eval_, "run", "eval.yaml", "--resume", "--no-preflight", *more, env=env)
    _, errors = process.communicate(timeout=NEVER_S)
    return process.returncode, errors


def killed_at(eval_: Eval, op: str, when: str) -> None:
    """Start the run, and kill it when the vendor gets this request, or has carried it out."""
    running: list[subprocess.Popen[str]] = []

    def kill(seen: str) -> Behaviour | None:
        if seen != op:
            return None
        wait_for(lambda: len(running), 1)
        running[0].kill()
        running[0].wait(NEVER_S)
        return Reset()

    setattr(eval_.vendor, when, kill)
    running.append(start(eval_, "run", "eval.yaml", "--resume", "--no-preflight"))
    _, errors = running[0].communicate(timeout=NEVER_S)
    assert running[0].returncode == -signal.SIGKILL, errors
    setattr(eval_.vendor, when, lambda op: None)


POINTS = {
    "openai": [("upload", "before"), ("upload", "after")],
    "anthropic": [],
    "gemini": [("announce", "after"), ("upload", "before"), ("upload", "after")],
}
THEN = [
    ("create", "before"),
    ("create", "after"),
    ("poll", "before"),
    ("poll", "after"),
    ("download", "before"),
    ("download", "after"),
]


A_SAMPLE = [
    "openai",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("anthropic", "gemini")),
]


@pytest.mark.parametrize("provider", A_SAMPLE)
def test_a_kill_at_every_arrow_loses_nothing_and_sends_nothing_twice(
    tmp_path: Path, provider: str
) -> None:
    kill_at_every_arrow(tmp_path, provider)


@pytest.mark.slow
def test_a_kill_at_every_arrow_loses_nothing_in_a_database_either(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    kill_at_every_arrow(tmp_path, "openai", extra={"store": postgres.new_store()})


def kill_at_every_arrow(folder: Path, provider: str, **extra: Any) -> None:
    vendor = VENDORS[provider](polls=2)
    with evaluating(folder, vendor, cases=CASES, **extra) as eval_:
        for op, when in [*POINTS[provider], *THEN]:
            killed_at(eval_, op, when)
        code, errors = run(eval_, env={"DIE_AFTER": "2"})
        assert code == -signal.SIGKILL, errors
        for when in ("before", "after"):
            killed_at(eval_, "delete", when)
        code, errors = run(eval_)
        assert code == 0, errors
        assert len(vendor.sent) == CASES
        assert set(vendor.sent.values()) == {1}
        assert vendor.live == 0
        record = eval_.record()
        assert (record.answered, record.failed, record.uncertain_usd) == (CASES, 0, 0)
        tokens = {"anthropic": (15, 7)}.get(provider, (11, 7))
        paid = sum(vendor.sent.values()) * (tokens[0] * 0.5 + tokens[1] * 1.0) / 1e6
        assert record.cost_usd == pytest.approx(paid)
        assert not vendor.files
        assert not eval_.jobs()


def test_ctrl_c_leaves_the_job_running_and_says_how_to_go_on(tmp_path: Path) -> None:
    vendor = VENDORS["openai"](polls=10**9)
    with evaluating(tmp_path, vendor, cases=CASES) as eval_:
        process = start(eval_, "run", "eval.yaml", "--no-preflight")
        wait_for(lambda: vendor.seen.count("poll"), 2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=NEVER_S)
        assert process.returncode == 130
        assert "1 batch job left at the vendor, up to $" in errors
        assert "job-1" in errors
        assert "callscore run eval.yaml --resume" in errors
        assert "callscore batch cancel 1" in errors
        listed = start(eval_, "batch", "list")
        assert "submitted" in listed.communicate(timeout=NEVER_S)[0]
        vendor.polls = 1
        code, errors = run(eval_)
        assert code == 0, errors
        assert set(vendor.sent.values()) == {1}


@pytest.mark.parametrize("provider", A_SAMPLE)
def test_cancel_collects_what_was_finished_and_a_resumed_run_asks_for_the_rest(
    tmp_path: Path, provider: str
) -> None:
    vendor = VENDORS[provider](polls=10**9)
    vendor.refused = {1}
    with evaluating(tmp_path, vendor, cases=CASES) as eval_:
        process = start(eval_, "run", "eval.yaml", "--no-preflight")
        wait_for(lambda: vendor.seen.count("poll"), 1)
        refused = start(eval_, "batch", "cancel", "1")
        assert "is held by process" in refused.communicate(timeout=NEVER_S)[1]
        assert refused.returncode == 2
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=NEVER_S)
        cancelled = start(eval_, "batch", "cancel", "1")
        out, errors = cancelled.communicate(timeout=NEVER_S)
        assert cancelled.returncode == 0, errors
        assert "run 1: 3 replies collected, cost $" in out
        assert vendor.live == 0
        vendor.refused, vendor.polls = set(), 1
        code, errors = run(eval_)
        assert code == 0, errors
        assert len(vendor.sent) == CASES
        assert set(vendor.sent.values()) == {1}
        assert not eval_.jobs()


def test_a_second_ctrl_c_during_the_create_leaves_it_to_be_searched_for(tmp_path: Path) -> None:
    vendor = VENDORS["openai"]()
    vendor.after = lambda op: Hang() if op == "create" else None
    with evaluating(tmp_path, vendor, cases=CASES) as eval_:
        process = start(eval_, "run", "eval.yaml", "--no-preflight")
        wait_for(lambda: vendor.seen.count("create"), 1)
        process.send_signal(signal.SIGINT)
        line_of(process, "stopping")
        process.send_signal(signal.SIGINT)
        line_of(process, "left at the vendor")
        process.communicate(timeout=NEVER_S)
        assert [job.state for job in eval_.jobs()] == ["submitting"]
        vendor.after = lambda op: None
        code, errors = run(eval_)
        assert code == 0, errors
        assert set(vendor.sent.values()) == {1}


def test_a_live_run_does_not_send_what_a_job_has_in_flight(tmp_path: Path) -> None:
    vendor = VENDORS["openai"](polls=10**9)
    with evaluating(tmp_path, vendor, cases=CASES) as eval_:
        process = start(eval_, "run", "eval.yaml", "--no-preflight")
        wait_for(lambda: vendor.seen.count("poll"), 1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=NEVER_S)
        text = eval_.file.read_text(encoding="utf-8")
        eval_.file.write_text(text.replace('"batch"', '"live"'), encoding="utf-8")
        code, errors = run(eval_)
        assert code == 3, errors
        assert "in flight in batch job job-1 of run 1" in errors
        assert vendor.live == 0
        eval_.file.write_text(text, encoding="utf-8")
        vendor.polls = 1
        code, errors = run(eval_)
        assert code == 0, errors
        assert set(vendor.sent.values()) == {1}


def test_a_run_with_jobs_is_not_purged(tmp_path: Path) -> None:
    vendor = VENDORS["openai"](polls=10**9)
    with evaluating(tmp_path, vendor, cases=CASES) as eval_:
        process = start(eval_, "run", "eval.yaml", "--no-preflight")
        wait_for(lambda: vendor.seen.count("poll"), 1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=NEVER_S)
        purge = start(eval_, "purge", "1", "--yes")
        assert "end them with `callscore batch cancel 1`" in purge.communicate(timeout=NEVER_S)[1]
        assert purge.returncode == 2
