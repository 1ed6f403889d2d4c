"""Two hypothesis profiles: the same examples in every run, or new ones.

The default tests must not fail by chance, so they draw the same examples every time. `make slow`
draws new ones; what it finds becomes an example or a fix.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from postgres_server import PostgresServer, postgres_server

# a slow machine is not a failure
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", PATIENT, derandomize=True, max_examples=40)  # always the same
settings.register_profile("searching", PATIENT, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# What tests leave behind is freed by counting; looking for cycles took 6 % of their time.
gc.set_threshold(200_000, 20, 100)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests of this process; they use databases of their own."""
    with postgres_server() as server:
        yield server
