"""The file of the index is lost or cannot be written: scores are never, and never mixed up."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callscore.core.errors import DataError, StoreError
from callscore.evaluate.block_scoring import ONE_PROCESS
from callscore.export.sources import run_source
from callscore.report.formats import report_format
from callscore.report.source import ReportOptions, ReportSource
from callscore.results import indexed_source, open_results
from callscore.results.port import MatrixQuery
from callscore.results.writer import IndexWriter
from callscore.store import results_index
from callscore.store.connection import connect
from callscore.store.results_index import ResultsIndex, index_path


class Disk(sqlite3.Connection):
    """Sets a limit before every statement."""

    limit = ""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if self.limit:
            super().execute(f"PRAGMA {self.limit}")
        return super().execute(sql, *parameters)


EMPTY_INDEX_FITS, NOTHING_FITS = "max_page_count = 40", "query_only = ON"


@pytest.fixture
def store(project: Path, tmp_path: Path) -> Path:
    """A store of its own, without an index."""
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    return copy / "runs.db"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> type[Disk]:
    """The disk of every index."""
    monkeypatch.setattr(Disk, "limit", "")
    monkeypatch.setattr(results_index, "connect", lambda path, _: connect(path, Disk))
    return Disk


def as_json(source: ReportSource) -> bytes:
    """The report of a source."""
    return b"".join(report_format("json").write(source, ReportOptions()))


def test_an_index_that_is_deleted_while_it_is_open_is_built_again_in_its_place(
    store: Path,
) -> None:
    with closing(open_results(store)) as results:
        results.build(1)
        before = results.version(1)
        total = results.matrix(1, MatrixQuery()).total
        index_path(store).unlink()  # and not the files next to it
        assert results.run(1).state == "missing"
        assert results.version(1) != before
        results.scored(1)
        results.finish_build(1)
        assert results.scored(1).state == "fresh"
        assert results.matrix(1, MatrixQuery()).total == total
    with closing(open_results(store)) as others:
        assert others.is_fresh(1)
        assert others.matrix(1, MatrixQuery()).total == total


def test_a_scoring_ends_in_the_file_in_which_it_began(tmp_path: Path) -> None:
    path = tmp_path / "runs.db-index"
    with closing(ResultsIndex(path)) as index:
        with IndexWriter(index):
            path.unlink()
            assert index.newest(1) is None
            assert not path.exists()
        assert index.newest(1) is None
        assert path.exists()


def test_a_new_index_is_not_taken_for_the_one_before(store: Path) -> None:
    with closing(open_results(store)) as results:
        results.build(1)
        version, card = results.version(1), results.source(1).card
        index_path(store).unlink()
        eval_file = store.with_name("eval.yaml")
        settings = eval_file.read_text(encoding="utf-8").replace('"offline"', '"none"')
        eval_file.write_text(settings, encoding="utf-8")
        results.build(1)
        assert results.version(1) != version
        assert results.source(1).card != card


def test_a_report_needs_no_room_for_an_index(store: Path, disk: type[Disk]) -> None:
    with run_source(1, store) as source:
        wanted = as_json(source)
    disk.limit = EMPTY_INDEX_FITS
    with closing(open_results(store)) as results:
        assert not results.is_indexed(1)
    with indexed_source(1, store, None, ONE_PROCESS) as found:
        assert as_json(found) == wanted


def test_runs_are_listed_where_nothing_more_can_be_written(store: Path, disk: type[Disk]) -> None:
    with closing(open_results(store)) as results:
        disk.limit = NOTHING_FITS
        assert [run.id for run in results.runs()] == [1]


def test_a_full_disk_does_not_hide_why_a_scoring_ended(tmp_path: Path, disk: type[Disk]) -> None:
    with closing(ResultsIndex(tmp_path / "runs.db-index")) as index:
        with pytest.raises(DataError, match="the reason"), IndexWriter(index):
            disk.limit = NOTHING_FITS
            raise DataError("the reason")
        assert index.newest(0) is None


def test_a_damaged_index_is_deleted_and_built_again(store: Path) -> None:
    with closing(open_results(store)) as results:
        results.build(1)
    path = index_path(store)
    raw = path.read_bytes()
    kept = len(raw) // 2  # so that the tables are known, and what is in them is lost
    path.write_bytes(raw[:kept] + bytes(len(raw) - kept))
    with closing(open_results(store)) as results:
        with pytest.raises(StoreError, match="was damaged and is deleted; try again"):
            results.counts(1)
        results.build(1)
        assert results.counts(1).total == results.matrix(1, MatrixQuery()).total
