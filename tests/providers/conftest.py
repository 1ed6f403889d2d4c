"""The adapters are tested for a user who lets keys go where a config says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from callscore.core.consent import answer_yes, ask_user_with


@pytest.fixture(autouse=True)
def trust_every_config() -> Iterator[None]:
    with ask_user_with(answer_yes):
        yield
