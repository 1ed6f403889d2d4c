"""What a node does with a block: refuse, compute, or say that it failed, always as bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from callscore.core.errors import DataError
from callscore.processes.installation import installation_digest
from callscore.processes.ray_node import NodeReport, compute_block, describe_node
from callscore.processes.value_bytes import from_bytes, to_bytes

OPENER = "callscore.processes.value_bytes:to_bytes"


@pytest.fixture(autouse=True)
def token_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")


def compute(opener: str, installed: str | None = None, work: object = 0) -> NodeReport:
    args = (opener, installed or installation_digest(), to_bytes(0), to_bytes(work))
    found = from_bytes(compute_block(*args))
    assert isinstance(found, NodeReport)
    return found


def test_a_node_with_another_callscore_computes_nothing() -> None:
    told = compute(OPENER, "0123456789abcdef")
    assert told.refused.startswith("has another Callscore than this machine")
    assert told == from_bytes(describe_node("0123456789abcdef"))


def test_a_node_without_tokens_computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert compute(OPENER).refused.startswith("the cluster runs without tokens")


def test_only_modules_of_callscore_are_opened() -> None:
    assert compute("os:system").failed == "os: not a module of Callscore"


def test_an_error_comes_back_as_words_and_a_bug_as_its_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def open_failing(context: object) -> Callable[[object], object]:
        def fail(work: object) -> object:
            raise DataError("is bad", place="cases:3") if work == 3 else ValueError("quotes a call")

        return fail

    monkeypatch.setattr("callscore.processes.pool.open_failing", open_failing, raising=False)
    opener = "callscore.processes.pool:open_failing"
    assert compute(opener, work=3).failed == "cases:3: is bad"
    assert compute(opener, work=4).failed == "ValueError"


def test_the_digest_of_an_installation_is_of_its_files() -> None:
    assert installation_digest() == installation_digest()
    assert len(installation_digest()) == 16
