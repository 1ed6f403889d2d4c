"""One sample run and one server for all tests of the app that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import commands
from web_server import SAMPLE_EVAL, Served, serve


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one complete run of simulated models on the sample calls."""
    store = tmp_path_factory.mktemp("served") / "runs.db"
    done = commands.run("run", SAMPLE_EVAL, "--store", store)
    assert done.returncode == 0, done.stderr
    return store


@pytest.fixture(scope="session")
def served(sample_store: Path) -> Iterator[Served]:
    """A server with a session."""
    with serve(sample_store) as server:
        server.enter()
        yield server
