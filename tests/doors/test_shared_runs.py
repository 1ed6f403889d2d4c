"""Runs that several processes share (SCALE §2 and §6): nothing is lost, nothing is doubled."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

import commands
from postgres_server import PostgresServer, postgres_server
from shared_runs import LEASE_S, SLOTS, local_results, shared_trial

CASES = 320


def unwritten(folder: Path) -> list[Path]:
    """The files of paid replies that no server has."""
    return list(folder.glob(".callscore/unwritten-*"))


def test_workers_share_a_run_and_its_results_are_those_of_one_process(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with shared_trial(tmp_path, postgres, CASES) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        assert "complete" in trial.end(run)
        assert "complete" in trial.end(worker)
        trial.check(CASES, most_second_sends=0)
        assert (tmp_path / "shared.jsonl").read_bytes() == local_results(trial)


def test_a_killed_worker_costs_at_most_its_slots(postgres: PostgresServer, tmp_path: Path) -> None:
    with shared_trial(tmp_path, postgres, CASES) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        worker.send_signal(signal.SIGKILL)
        trial.end(run)
        trial.check(CASES, most_second_sends=SLOTS)


@pytest.mark.slow
def test_a_killed_run_is_resumed_and_pays_only_for_what_was_in_flight(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with shared_trial(tmp_path, postgres, CASES) as trial:
        run = trial.start_run()
        trial.wait_for_sends(CASES // 4)
        run.send_signal(signal.SIGKILL)
        run.wait()
        trial.end(trial.start_run("--resume"))
        trial.check(CASES, most_second_sends=SLOTS)


def test_connections_that_break_cost_nothing(postgres: PostgresServer, tmp_path: Path) -> None:
    with shared_trial(tmp_path, postgres, CASES) as trial:
        run = trial.start_run()
        for part in (4, 3, 2):
            trial.wait_for_sends(CASES // part)
            postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'callscore'"
            )
        trial.end(run)
        trial.check(CASES, most_second_sends=0)


def test_an_outage_longer_than_the_lease_costs_nothing(tmp_path: Path) -> None:
    with postgres_server() as server, shared_trial(tmp_path, server, CASES) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        server.stop("immediate")
        time.sleep(2 * LEASE_S)  # longer than the lease, however slow the machine is
        server.start()
        trial.end(run)
        trial.end(worker)
        trial.check(CASES, most_second_sends=0)
        assert not unwritten(tmp_path)


@pytest.mark.slow
def test_paid_replies_of_an_outage_outlive_their_process(tmp_path: Path) -> None:
    with postgres_server() as server, shared_trial(tmp_path, server, CASES) as trial:
        run = trial.start_run()
        trial.wait_for_sends(CASES // 4)
        server.stop("immediate")
        commands.wait_for(lambda: len(unwritten(tmp_path)), 1)
        run.send_signal(signal.SIGKILL)
        run.wait()
        server.start()
        trial.end(trial.start_run("--resume"))
        trial.check(CASES, most_second_sends=SLOTS)
        assert not unwritten(tmp_path)


@pytest.mark.slow
def test_a_suspended_worker_goes_on_as_a_new_one(postgres: PostgresServer, tmp_path: Path) -> None:
    with shared_trial(tmp_path, postgres, 2 * CASES) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        worker.send_signal(signal.SIGSTOP)
        dead = "SELECT 1 FROM callscore.workers WHERE dead"
        commands.wait_for(lambda: len(trial.rows(dead)), 1)
        worker.send_signal(signal.SIGCONT)
        trial.end(run)
        trial.end(worker)
        trial.check(2 * CASES, most_second_sends=SLOTS)


@pytest.mark.slow
def test_eight_workers_that_join_and_leave_keep_the_budget_and_the_rate(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    cases, rpm = 400, 1_200
    with shared_trial(
        tmp_path, postgres, cases, budget_usd=0.05, limits={"concurrency": 16, "rpm": rpm}
    ) as trial:
        run = trial.start_run()
        for number in range(8):
            worker = trial.start_worker()
            if number % 2:
                trial.wait_for_sends(min(20 * number, cases // 2))
                worker.send_signal(signal.SIGTERM)
        run.communicate()
        for worker in trial.processes[1:]:
            worker.communicate()
        paid = sum(trial.chat.paid.values()) * (11 * 1.0 + 7 * 2.0) / 1e6
        assert paid <= 0.05
        assert trial.second_sends == 0
        arrived = trial.chat.arrived
        # a burst of a twentieth of a minute, and a quarter of a second that each worker may hold
        at_once = 0.05 * rpm + 9 * 0.25 * rpm / 60
        assert max(arrived) - min(arrived) >= (cases - at_once) / (rpm / 60)
        ((spent, reserved),) = postgres.execute(
            "SELECT spent_usd, reserved_usd FROM callscore.budgets"
        )
        assert float(spent) == pytest.approx(paid)
        assert reserved == 0


@pytest.mark.slow
def test_two_runs_with_equal_requests_send_each_once(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with shared_trial(tmp_path, postgres, CASES) as trial:
        first = trial.start_run()
        other = tmp_path / "other.yaml"
        other.write_text((tmp_path / "eval.yaml").read_text().replace('"trial"', '"other"'))
        second = commands.start("run", other, "--no-preflight", cwd=tmp_path)
        trial.processes.append(second)
        trial.end(first)
        trial.end(second)
        assert trial.second_sends == 0
        assert len(trial.chat.attempts) == CASES
