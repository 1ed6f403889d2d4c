"""Runs that several processes share (SCALE §2 and §6): nothing is lost, nothing is doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import commands
from callscore.store.address import read_address
from callscore.store.postgres.connection import connect
from callscore.store.postgres.membership import take_over
from callscore.store.postgres.url import DatabaseUrl
from command_server import NEVER_S
from linked_namespaces import linked_namespace
from postgres_server import PostgresServer, postgres_server
from shared_runs import SHORT_LEASE_S, SLOTS, SharedTrial, local_results, shared_trial
from shifted_clocks import shifted_clock

CASES = 192
"""Three chunks."""
TAKEN_OVER = "SELECT 1 FROM callscore.workers WHERE dead"


def unwritten(folder: Path) -> list[Path]:
    """The files of paid replies that no server has."""
    return list(folder.glob(".callscore/unwritten-*"))


def take_over_now(server: PostgresServer) -> list[int]:
    """What a process that joins would take over; returns the workers that it declares dead."""
    address = read_address(server.url(), Path())
    assert isinstance(address, DatabaseUrl)
    with connect(address) as connection:
        return take_over(connection)


def wait_for_takeover(trial: SharedTrial) -> None:
    commands.wait_for(lambda: len(trial.rows(TAKEN_OVER)), 1)


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
        killed = trial.workers()[-1]
        assert take_over_now(postgres) == [], "its lease is not over"
        trial.end_lease(killed)
        assert take_over_now(postgres) == [killed]
        trial.end(run)
        trial.check(CASES, most_second_sends=SLOTS)


@pytest.mark.slow
def test_a_killed_worker_is_noticed_when_its_lease_is_over(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    with shared_trial(tmp_path, postgres, CASES, lease_s=SHORT_LEASE_S) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        worker.send_signal(signal.SIGKILL)
        wait_for_takeover(trial)
        trial.end(run)
        trial.check(CASES, most_second_sends=2 * SLOTS)


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


def test_an_outage_costs_nothing_although_all_leases_are_over(tmp_path: Path) -> None:
    with postgres_server() as server, shared_trial(tmp_path, server, CASES) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        server.stop("immediate")
        assert "nothing new is sent until it is back" in commands.line_of(run, "nothing new")
        server.start()
        server.execute("UPDATE callscore.workers SET expires_at = '-infinity'")
        assert take_over_now(server) == [], "all of them are late"
        trial.end(run)
        trial.end(worker)
        trial.check(CASES, most_second_sends=0)
        assert not unwritten(tmp_path)


@pytest.mark.slow
def test_an_outage_longer_than_the_lease_costs_nothing(tmp_path: Path) -> None:
    with (
        postgres_server() as server,
        shared_trial(tmp_path, server, CASES, lease_s=SHORT_LEASE_S) as trial,
    ):
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        server.stop("immediate")
        time.sleep(2 * SHORT_LEASE_S)  # longer than the lease, however slow the machine is
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
def test_an_outage_with_no_place_for_paid_replies_ends_the_run_with_an_error(
    tmp_path: Path,
) -> None:
    with postgres_server() as server, shared_trial(tmp_path, server, CASES) as trial:
        trial.gate.hold()
        run = trial.start_run()
        trial.wait_until_working(1)
        (tmp_path / ".callscore").write_text("in the way of the folder")
        server.stop("immediate")
        trial.gate.open()
        _, err = run.communicate(timeout=NEVER_S)
        assert run.returncode == 4, err
        assert ".replies: cannot be written: " in err and "are kept nowhere" in err, err
        (tmp_path / ".callscore").unlink()
        server.start()
        trial.end(trial.start_run("--resume"))
        trial.check(CASES, most_second_sends=SLOTS)


@pytest.mark.slow
def test_a_suspended_worker_goes_on_as_a_new_one(postgres: PostgresServer, tmp_path: Path) -> None:
    with shared_trial(tmp_path, postgres, CASES) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        worker.send_signal(signal.SIGSTOP)
        trial.end_lease(trial.workers()[-1])
        take_over_now(postgres)
        worker.send_signal(signal.SIGCONT)
        trial.end(run)
        trial.end(worker)
        trial.check(CASES, most_second_sends=SLOTS)


@pytest.mark.slow
def test_a_worker_that_is_suspended_inside_a_transaction_keeps_no_locks(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Its writes wait for a lock of ours; when they get it, it is stopped, and commits nothing."""
    import psycopg

    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'callscore.items'::regclass"
    stuck = "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
    with shared_trial(tmp_path, postgres, CASES, lease_s=SHORT_LEASE_S) as trial:
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        with psycopg.connect(postgres.url()) as ours:
            ours.execute("LOCK TABLE callscore.items IN SHARE MODE")
            commands.wait_for(lambda: len(trial.rows(waiting)), 2)
            worker.send_signal(signal.SIGSTOP)
            ours.rollback()
        commands.wait_for(lambda: len(trial.rows(stuck)), 1)
        wait_for_takeover(trial)
        commands.wait_for(lambda: -len(trial.rows(stuck)), 0)
        trial.end(run)
        worker.send_signal(signal.SIGCONT)
        trial.end(worker)
        trial.check(CASES, most_second_sends=2 * SLOTS)


@pytest.mark.slow
def test_a_worker_whose_link_to_the_store_is_cut_costs_at_most_its_slots(tmp_path: Path) -> None:
    """The vendor still answers it: what it has paid for is stored when the link is back."""
    with linked_namespace() as links, postgres_server() as server:
        server.trust(links.store.host)
        server.trust(links.store.guest)
        server.stop("fast")
        server.start("listen_addresses=*")
        with shared_trial(tmp_path, server, CASES, lease_s=SHORT_LEASE_S, links=links) as trial:
            run = trial.start_run()
            worker = trial.start_worker(prefix=links.prefix)
            trial.wait_until_working(2)
            links.store.cut()
            assert "nothing new is sent" in commands.line_of(worker, "nothing new is sent")
            wait_for_takeover(trial)
            trial.end(run)
            links.store.mend()
            trial.end(worker)
            trial.check(CASES, most_second_sends=2 * SLOTS)
            assert not unwritten(tmp_path)


@pytest.mark.slow
def test_clocks_that_are_an_hour_wrong_change_nothing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """One behind, one ahead: they compare no times, and the lease is far shorter."""
    with shared_trial(tmp_path, postgres, CASES) as trial:
        run = trial.start_run(env=shifted_clock(tmp_path, -3600))
        worker = trial.start_worker(env=shifted_clock(tmp_path, 3600))
        trial.wait_until_working(2)
        assert take_over_now(postgres) == []
        trial.end(run)
        trial.end(worker)
        trial.check(CASES, most_second_sends=0)
        ((started,),) = postgres.execute("SELECT started_at FROM callscore.runs")
        behind = datetime.now(UTC) - datetime.fromisoformat(started)
        assert behind.total_seconds() > 3600


@contextmanager
def small_disk(server: PostgresServer) -> Iterator[Path]:
    """A disk of 16 MB for the tables of the server's database; skips the test without root."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    folder = Path(server.host) / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=777", "small", folder], check=True)
    try:
        (folder / "tables").mkdir()
        server.own(folder / "tables")
        server.execute(f"CREATE TABLESPACE small LOCATION '{folder}/tables'")
        server.execute("ALTER DATABASE postgres SET default_tablespace = small")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # the server still uses it


@pytest.mark.slow
def test_a_full_disk_of_the_server_is_waited_for_and_costs_nothing(tmp_path: Path) -> None:
    with (
        postgres_server() as server,
        small_disk(server) as disk,
        shared_trial(tmp_path, server, 2 * CASES) as trial,
    ):
        run = trial.start_run()
        worker = trial.start_worker()
        trial.wait_until_working(2)
        with (disk / "filling").open("wb", buffering=0) as file, suppress(OSError):
            while True:  # until nothing is left
                file.write(bytes(4096))
        assert "DiskFull, SQLSTATE 53100" in commands.line_of(run, "nothing new is sent")
        commands.wait_for(lambda: len(unwritten(tmp_path)), 1)
        (disk / "filling").unlink()
        trial.end(run)
        trial.end(worker)
        trial.check(2 * CASES, most_second_sends=0)
        assert not unwritten(tmp_path)


@pytest.mark.slow
def test_eight_workers_that_join_and_leave_keep_the_budget_and_the_rate(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """The budget pays for about half of the requests, each of which may cost a third more."""
    rpm, budget, cost, most = 1_200, 1.4, 0.007, 0.01
    model = {
        "limits": {"concurrency": 16, "rpm": rpm},
        "price": {"input": 0, "output": 1_000},
        "params": {"max_tokens": 10},
    }
    with shared_trial(tmp_path, postgres, 400, budget_usd=budget, model=model) as trial:
        trial.start_run()
        for number in range(8):
            worker = trial.start_worker()
            if number % 2:
                trial.wait_for_sends(10 * number)
                worker.send_signal(signal.SIGINT)
        said = [process.communicate() for process in trial.processes]
        assert "the next request could have exceeded the budget" in said[0][1], said[0]
        number = sum(trial.chat.paid.values())
        assert budget - most < number * cost <= budget
        assert trial.second_sends == 0
        arrived = trial.chat.arrived
        # a burst of a twentieth of a minute, and a quarter of a second that each worker may hold
        at_once = 0.05 * rpm + 9 * 0.25 * rpm / 60
        assert max(arrived) - min(arrived) >= (number - at_once) / (rpm / 60)
        ((answers, spent, reserved),) = postgres.execute(
            "SELECT (SELECT count(*) FROM callscore.answers), spent_usd, reserved_usd"
            " FROM callscore.budgets"
        )
        assert answers == number
        assert float(spent) == pytest.approx(number * cost)
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
