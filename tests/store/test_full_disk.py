from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from callscore.core.errors import StoreError
from callscore.core.run import Limits, RunSummary
from callscore.engine import loop
from callscore.engine.loop import Shutdown
from callscore.engine.workers import generate
from callscore.engine.workload import Workload
from callscore.providers.scripted import ScriptedProvider
from callscore.store.journal import Journal, OpenRun
from engine_runs import planned_model
from run_cases import HEADER


class SmallDisk(sqlite3.Connection):
    """Holds thirty pages and not one more."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        super().execute("PRAGMA max_page_count = 30")
        return super().execute(sql, *parameters)


class ReadOnlyDisk(sqlite3.Connection):
    """Reads; writes are refused as by a read-only file system."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        super().execute("PRAGMA query_only = ON")
        return super().execute(sql, *parameters)


def generating(run: OpenRun, provider: ScriptedProvider) -> Callable[[], RunSummary]:
    model = planned_model(provider, 2_000, limits=Limits(20))

    def go() -> RunSummary:
        return loop.run(
            lambda stop: generate(Workload({"m": model}), run, lambda event: None, Shutdown())
        )

    return go


def test_a_full_disk_ends_the_run_and_loses_no_kept_answer(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    provider = ScriptedProvider()
    with Journal(path, SmallDisk) as journal:
        run = journal.open_run(HEADER)
        with pytest.raises(StoreError, match="database or disk is full") as caught:
            generating(run, provider)()
        run.end("interrupted")
    assert caught.value.exit_code == 4
    assert str(path) in str(caught.value)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (kept,) = database.execute("SELECT count(*) FROM answers").fetchone()
    assert 0 < kept <= provider.paid.total() <= kept + 20
    assert provider.paid.total() < 2_000
    again = ScriptedProvider()
    with Journal(path) as journal:
        run = journal.open_run(HEADER, resume=True)
        assert generating(run, again)().models["m"].answered == 2_000
        run.end("complete")
    assert again.paid.total() == 2_000 - kept


def test_a_disk_that_cannot_be_written_is_noticed_before_the_first_call(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.db").close()
    with (
        Journal(tmp_path / "journal.db", ReadOnlyDisk) as journal,
        pytest.raises(StoreError, match="readonly"),
    ):
        journal.open_run(HEADER)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may write everywhere, so root steps down for a while."""
    nobody, is_root = 65534, os.geteuid() == 0
    if is_root:
        os.seteuid(nobody)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with as_ordinary_user(), pytest.raises(StoreError, match="cannot be written"):
        Journal(folder / "journal.db")


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written: "):
        Journal(tmp_path / "file" / "journal.db")
    with pytest.raises(StoreError, match="cannot be written: Is a directory"):
        Journal(tmp_path)
