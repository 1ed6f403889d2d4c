"""Attempts that may be billed: written down, counted against the budget, listed (S-24)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import Json
from callscore.store.journal import Journal
from callscore.store.recovery.salvage import salvage
from commands import run, start, wait_for
from eval_files import cases_file, eval_file, remote_model
from stub_servers import Answer, Hang, always, openai_error, serving

MOST = 100 * 1000 / 1e6
"""What a call costs at most: a hundred tokens at a thousand dollars a million."""


def at_most(url: str, at_once: int) -> Json:
    """A model whose calls may cost that much."""
    limits, price = {"concurrency": at_once}, {"input": 0, "output": 1000}
    return remote_model(url, params={"max_tokens": 100}, price=price, limits=limits)


def test_s24_what_may_be_billed_counts_against_the_budget_of_a_resumed_run(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 5)
    with serving(always(Answer(openai_error("the gateway gave up waiting"), 504))) as stub:
        model = at_most(stub.url, 1)
        path = eval_file(tmp_path, [model], budget_usd=1.5 * MOST, attempts={"most": 1})
        run("run", path, "--no-preflight")
        assert len(stub.requests) == 1
        run("run", path, "--no-preflight", "--resume")
        assert len(stub.requests) == 1, "the budget may be spent"
    store = tmp_path / ".callscore" / "runs.db"
    (record,) = map(json.loads, run("runs", path, "--json").stdout.splitlines())
    assert record["uncertain_usd"] == pytest.approx(MOST)
    assert "up to $0.100 more" in run("runs", path).stdout
    salvage(store, tmp_path / "new.db")
    with Journal(tmp_path / "new.db") as journal:
        assert journal.run(1).spent_usd == pytest.approx(MOST)


def test_s24_what_was_in_flight_at_a_kill_counts_against_the_budget(tmp_path: Path) -> None:
    cases_file(tmp_path, 5)
    with serving(always(Hang())) as stub:
        model = at_most(stub.url, 2)
        path = eval_file(tmp_path, [model], budget_usd=2.5 * MOST)
        process = start("run", path, "--no-preflight")
        wait_for(lambda: len(stub.requests), 2)
        (record,) = map(json.loads, run("runs", path, "--json").stdout.splitlines())
        assert record["uncertain_usd"] == 0, "it may still be answered"
        process.kill()
        process.communicate()
        for _ in range(2):
            (record,) = map(json.loads, run("runs", path, "--json").stdout.splitlines())
            assert record["uncertain_usd"] == pytest.approx(2 * MOST)
        done = run("run", path, "--no-preflight", "--resume")
        assert "the next request could have exceeded the budget" in done.stderr
        assert len(stub.requests) == 2
