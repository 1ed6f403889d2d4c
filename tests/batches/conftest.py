from __future__ import annotations

import pytest

from commands import KEY


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the stubs, for runs in this process."""
    monkeypatch.setenv("STUB_KEY", KEY)
