from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from callscore.core.errors import StoreError
from callscore.core.run import Limits
from callscore.engine.workload import Workload
from callscore.providers.scripted import ScriptedProvider
from callscore.runner.loop import Asked, IdleWork, ask_all
from callscore.store.journal import Journal
from engine_runs import planned
from run_cases import HEADER


def asked_with(folder: Path, meanwhile: Callable[[], None]) -> Asked:
    plan = Workload({"m": planned(ScriptedProvider(latency_s=0.01), 100, limits=Limits(10))})
    with Journal(folder / "journal.db") as journal:
        run = journal.open_run(HEADER)
        try:
            return ask_all(plan, run, [], lambda event: None, IdleWork(meanwhile))
        finally:
            run.end("complete")


def test_the_time_that_answers_take_is_used(tmp_path: Path) -> None:
    done: list[str] = []
    asked_with(tmp_path, lambda: done.append("again"))
    assert done[:3] == ["again"] * 3


def test_what_goes_wrong_beside_the_asking_ends_the_run_and_keeps_the_answers(
    tmp_path: Path,
) -> None:
    def full() -> None:
        raise StoreError("results.jsonl: cannot be written: No space left on device")

    with pytest.raises(StoreError, match="No space left"):
        asked_with(tmp_path, full)
    with Journal(tmp_path / "journal.db") as journal:
        assert journal.run(1).answered == 100
