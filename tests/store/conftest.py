"""Stores of both kinds: a file, and a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callscore.store.address import StoreAddress, open_store, read_address
from callscore.store.protocol import Store
from postgres_server import PostgresServer


@pytest.fixture(params=["file", "postgres"])
def address(tmp_path: Path, request: pytest.FixtureRequest) -> StoreAddress:
    if request.param == "file":
        return tmp_path / "runs.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return read_address(server.new_store(), tmp_path)


@pytest.fixture
def store(address: StoreAddress) -> Iterator[Store]:
    with open_store(address) as opened:
        yield opened
