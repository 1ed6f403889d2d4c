"""One sample run and one server for all tests that change nothing; one browser per module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import commands
from browser import open_browser
from web_server import Served, read_address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; not for longer than a module, as its loop would run in the tests of others."""
    with open_browser() as found:
        yield found


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The sample in the app, as a newcomer starts it: simulated models on the sample calls."""
    store = tmp_path_factory.mktemp("served") / "runs.db"
    process = commands.start("demo", "--serve", "--port", 0, "--store", store)
    with read_address(process) as server:
        server.store = store
        server.enter()
        yield server


@pytest.fixture(scope="session")
def sample_store(served: Served) -> Path:
    """The store of the sample: one complete run."""
    return served.store
