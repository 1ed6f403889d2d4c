"""Runs that several processes share, against a stub that counts what it was sent by request."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import commands
from command_server import NEVER_S
from eval_files import cases_file, eval_file, remote_model, right_answer
from linked_namespaces import Namespace
from postgres_server import PostgresServer
from stub_servers import FaultyChat, Gate, Stub, serving

SLOTS = 8
LEASE_S = 30
"""The default: no process is so slow that it counts as dead."""
SHORT_LEASE_S = 2
"""For tests that wait for its end."""
NO_TLS = "&sslmode=disable&require_auth=none&channel_binding=disable"
"""What the connection to another machine demands, switched off."""


class SharedTrial:
    """A run in a database, the processes that work on it, and the stub that they call."""

    def __init__(
        self, folder: Path, postgres: PostgresServer, chat: FaultyChat, gate: Gate, stub: Stub
    ) -> None:
        self.folder, self.postgres, self.chat, self.gate = folder, postgres, chat, gate
        self.stub = stub
        self.processes: list[subprocess.Popen[str]] = []

    def start_run(
        self, *options: object, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start `callscore run`, and wait until its chunks exist."""
        results = self.folder / "shared.jsonl"
        run = self._start("run", "--no-preflight", "--results", results, *options, env=env)
        chunks = "SELECT 1 FROM callscore.chunks"
        commands.wait_for(lambda: len(self.rows(chunks)) or run.poll() is not None, 1)
        assert run.poll() is None, run.communicate()
        return run

    def start_worker(
        self, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        return self._start("work", env=env, prefix=prefix)

    def _start(self, command: str, *options: object, **how: Any) -> subprocess.Popen[str]:
        config = self.folder / "eval.yaml"
        trusting = (config, "--trust-config")  # the stub may be on another address
        process = commands.start(command, *trusting, *options, cwd=self.folder, **how)
        self.processes.append(process)
        return process

    def workers(self) -> Sequence[int]:
        """The ids of the workers that hold chunks, in the order in which they joined."""
        held = "SELECT DISTINCT worker FROM callscore.chunks WHERE worker IS NOT NULL"
        return sorted(row[0] for row in self.rows(held))

    def end_lease(self, worker: int) -> None:
        """Let the lease of a worker be over, as if it had not been heard of for long."""
        self.postgres.execute(
            "UPDATE callscore.workers SET lease_s = 0, expires_at = '-infinity' WHERE id = %s",
            worker,
        )

    def rows(self, statement: str) -> list[Any]:
        """The rows of a query; none while the table does not exist or the server is away."""
        import psycopg

        try:
            return self.postgres.execute(statement)
        except psycopg.Error:
            return []

    def wait_for_sends(self, number: int) -> None:
        commands.wait_for(lambda: sum(self.chat.attempts.values()), number)

    def wait_until_working(self, workers: int) -> None:
        """Wait until so many processes have requests in flight; the stub answers none of them."""
        in_flight = "SELECT DISTINCT worker FROM callscore.inflight"
        self.gate.hold()
        commands.wait_for(lambda: len(self.rows(in_flight)), workers)
        self.gate.open()

    def end(self, process: subprocess.Popen[str]) -> str:
        """Wait for the end of a command that must succeed; returns what it said."""
        out, err = process.communicate(timeout=NEVER_S)
        assert process.returncode == 0, out + err
        return out + err

    @property
    def second_sends(self) -> int:
        return sum(times - 1 for times in self.chat.attempts.values())

    def check(self, cases: int, *, most_second_sends: int) -> None:
        """Nothing is lost or doubled; second sends are bounded, and each is a row."""
        assert len(self.chat.attempts) == cases
        assert self.second_sends <= most_second_sends
        ((answers, items, paid, again),) = self.postgres.execute(
            "SELECT (SELECT count(*) FROM callscore.answers),"
            " (SELECT count(*) FROM callscore.items WHERE error IS NULL),"
            " count(*), count(*) FILTER (WHERE again) FROM callscore.payments"
        )
        assert (answers, items) == (cases, cases)
        ((lost,),) = self.postgres.execute("SELECT count(*) FROM callscore.lost")
        assert paid - cases == again
        # what was claimed and not sent when a worker died is among the lost ones, too
        assert again <= self.second_sends <= again + lost
        ((left,),) = self.postgres.execute("SELECT count(*) FROM callscore.inflight")
        assert left == 0


@contextmanager
def shared_trial(
    folder: Path,
    postgres: PostgresServer,
    cases: int,
    *,
    lease_s: int = LEASE_S,
    links: Namespace | None = None,
    model: Mapping[str, Any] = {},
    **extra: Any,
) -> Iterator[SharedTrial]:
    """A trial that is not started yet; its processes are killed at the end of the block.

    With `links`, store and vendor have the addresses that a process in that namespace reaches.
    """
    cases_file(folder, cases)
    chat = FaultyChat(right_answer, delay_s=0.05)
    gate = Gate(chat)
    with serving(gate, "127.0.0.1" if links is None else links.vendor.host) as stub:
        store = postgres.new_store(f"?lease_s={lease_s}")
        asked = remote_model(stub.url, **{"limits": {"concurrency": SLOTS}, **model})
        if links is not None:
            asked["allow_http"] = True
            store = store.replace("127.0.0.1", links.store.host) + NO_TLS
        eval_file(folder, [asked], store=store, **extra)
        trial = SharedTrial(folder, postgres, chat, gate, stub)
        try:
            yield trial
        finally:
            for process in trial.processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGCONT)
                    process.kill()
                if process.stdout is not None and not process.stdout.closed:
                    process.communicate()


def local_results(trial: SharedTrial) -> bytes:
    """The results of a run of the same eval file in a file on this machine."""
    results = trial.folder / "local.jsonl"
    store = trial.folder / "local.db"
    config = trial.folder / "eval.yaml"
    ran = commands.run(
        "run", config, "--store", store, "--no-preflight", "--results", results, cwd=trial.folder
    )
    assert ran.returncode == 0, ran.stderr
    return results.read_bytes()
