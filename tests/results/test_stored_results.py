"""What screens and reports read of stored runs equals a full scoring of the same run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import commands
from callscore.core.errors import UsageError
from callscore.export.sources import run_source
from callscore.report.formats import report_format
from callscore.report.source import CaseView, ReportOptions
from callscore.results import open_results
from callscore.results.port import (
    SHOWS,
    SORTS,
    MatrixQuery,
    MatrixRow,
    QueryError,
    VerdictFilter,
)
from callscore.results.stored_results import StoredResults
from callscore.results.writer import leader_of
from callscore.store.results_index import index_path

CASES = 130


@pytest.fixture(scope="module")
def results(project: Path) -> Iterator[StoredResults]:
    with closing(open_results(project / "runs.db")) as opened:
        opened.build(1)
        yield opened


@pytest.fixture(scope="module")
def scored(project: Path) -> list[CaseView]:
    """The cases of a full scoring."""
    with run_source(1, project / "runs.db") as source:
        return list(source.cases)


def every_row(results: StoredResults, query: MatrixQuery) -> list[MatrixRow]:
    """The rows of all pages."""
    rows: list[MatrixRow] = []
    while True:
        page = results.matrix(1, query)
        rows += page.rows
        if not page.after:
            assert page.total == len(rows)
            return rows
        query = msgspec.structs.replace(query, after=page.after)


def test_every_case_equals_that_of_a_full_scoring(
    results: StoredResults, scored: list[CaseView]
) -> None:
    assert len(scored) > CASES
    for place, view in enumerate(scored, start=1):
        found = results.case(1, place)
        assert msgspec.json.encode(found.view) == msgspec.json.encode(view)
        assert not found.changed
        assert results.place_of(1, view.case.id) == place


def test_a_run_writes_its_index_and_reports_read_it_to_the_same_bytes(
    project: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    store = copy / "runs.db"
    done = commands.run("run", copy / "eval.yaml", "--rescore", 1)
    assert done.returncode == 0, done.stderr
    with closing(open_results(store)) as results:
        assert results.is_fresh(1)
        found = results.source(1)
        with run_source(1, store) as source:
            for one in map(report_format, ("html", "csv", "json")):
                written = [b"".join(one.write(each, ReportOptions())) for each in (found, source)]
                assert written[0] == written[1]
    done = commands.run("report", 1, "--store", store, "--format", "md")
    assert done.returncode == 0, done.stderr


def test_purging_a_run_deletes_the_index(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy)
    with closing(open_results(copy / "runs.db")) as results:
        results.build(1)
    done = commands.run("purge", "--store", copy / "runs.db", 1, "--yes")
    assert done.returncode == 0, done.stderr
    assert list(copy.glob("runs.db-index*")) == []


def test_the_scorecard_equals_that_of_a_full_scoring(results: StoredResults, project: Path) -> None:
    found = results.scored(1)
    assert found.state == "fresh"
    assert found.source is not None
    with run_source(1, project / "runs.db") as source:
        assert msgspec.json.encode(found.source.card) == msgspec.json.encode(source.card)
        assert found.source.provenance == source.provenance
        assert found.source.template == source.template
        assert found.source.title == source.title
        assert [one.case.id for one in found.source.cases] == [o.case.id for o in source.cases]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("models", [(), ("weak",), ("weak", "strong")])
def test_pages_have_every_case_once_in_their_order(
    results: StoredResults, scored: list[CaseView], sort: str, models: tuple[str, ...]
) -> None:
    rows = every_row(results, MatrixQuery(sort=sort, model=models))  # type: ignore[arg-type]
    assert sorted(row.place for row in rows) == list(range(1, len(scored) + 1))
    means = [
        [cell.score for cell in row.cells if cell.score is not None]
        for row in rows
        if any(cell.score is not None for cell in row.cells)
    ]
    if sort == "worst":
        values = [sum(some) / len(some) for some in means]
        assert values == sorted(values)
    elif sort == "spread":
        apart = [max(some) - min(some) for some in means]
        assert apart == sorted(apart, reverse=True)
    elif sort == "place":
        assert [row.place for row in rows] == list(range(1, len(scored) + 1))


def test_filters_select_what_the_views_say(results: StoredResults, scored: list[CaseView]) -> None:
    def places(query: MatrixQuery) -> set[int]:
        return {row.place for row in every_row(results, query)}

    numbered = list(enumerate(scored, start=1))
    assert places(MatrixQuery(lang="de", task="qa")) == {
        place for place, one in numbered if one.case.lang == "de" and one.case.task == "qa"
    }
    assert places(MatrixQuery(tag="billing")) == {
        place for place, one in numbered if "billing" in (one.case.tags or ())
    }
    assert places(MatrixQuery(q="morgen äö 7", search="transcript", task="qa")) == {
        place for place, one in numbered if one.case.id.startswith("case-7")
    }
    assert places(MatrixQuery(q="CASE-12", search="id")) == {
        place for place, one in numbered if one.case.id.startswith("case-12")
    }
    low = {
        place
        for place, one in numbered
        if any(
            answer.model == "weak" and (answer.result.score or 0.0) <= 0.5
            for answer in one.answers
            if answer.result.score is not None or answer.result.status == "invalid"
        )
    }
    assert low
    assert places(MatrixQuery(model=["weak"], metric="score", max=0.5)) == low
    reasons = {reason for one in scored for a in one.answers for reason in a.result.reasons}
    for reason in reasons:
        assert places(MatrixQuery(reason=reason)) == {
            place
            for place, one in numbered
            if any(reason in answer.result.reasons for answer in one.answers)
        }


@pytest.mark.parametrize("show", SHOWS)
def test_marks_of_some_models_equal_those_of_all(results: StoredResults, show: str) -> None:
    every = MatrixQuery(show=show)  # type: ignore[arg-type]
    named = msgspec.structs.replace(every, model=["strong", "weak"])
    assert [r.place for r in every_row(results, every)] == [
        r.place for r in every_row(results, named)
    ]


@pytest.mark.parametrize("sort", ["place", "worst", "metric"])
def test_neighbours_cross_pages_in_the_order_of_the_query(
    results: StoredResults, sort: str
) -> None:
    query = MatrixQuery(sort=sort, lang="de", metric="score")  # type: ignore[arg-type]
    places = [row.place for row in every_row(results, query)]
    assert len(places) > 50
    for at, place in enumerate(places):
        found = results.neighbours(1, query, place)
        assert found.number == at + 1
        assert found.total == len(places)
        assert found.previous == (places[at - 1] if at else None)
        assert found.next == (places[at + 1] if at + 1 < len(places) else None)
    assert results.neighbours(1, query, 1).number is None  # case-0 is English


def test_a_value_that_is_not_allowed_is_answered_with_those_that_are(
    results: StoredResults,
) -> None:
    for query, expected in (
        (MatrixQuery(show="odd"), "show='odd': expected one of all, different"),  # type: ignore[arg-type]
        (MatrixQuery(model=["nobody"]), "expected one of strong, weak"),
        (MatrixQuery(task="fax"), "task='fax': expected one of"),
        (MatrixQuery(metric='x"y'), "metric="),
        (MatrixQuery(after="page 2"), "expected VALUE~PLACE"),
    ):
        with pytest.raises(QueryError, match=expected):
            results.matrix(1, query)
    with pytest.raises(QueryError, match="expected 1 to"):
        results.case(1, 100_000)
    with pytest.raises(UsageError, match="has no run 7"):
        results.run(7)


def test_verdicts_are_listed_page_by_page(results: StoredResults, scored: list[CaseView]) -> None:
    given = {
        (view.case.id, answer.model, answer.run, verdict.metric, verdict.item)
        for view in scored
        for answer in view.answers
        for verdict in answer.verdicts
    }
    found: list[tuple[object, ...]] = []
    after = 0
    while True:
        page = results.verdict_items(1, VerdictFilter(after=after, limit=40))
        found += [(o.case_id, o.model, o.rep, o.metric, o.item) for o in page.items if o.word]
        if not page.after:
            break
        after = page.after
    assert given
    assert given <= set(found)
    assert len(found) == page.total


def test_counts_are_those_of_all_cases(results: StoredResults, scored: list[CaseView]) -> None:
    counts = results.counts(1)
    assert counts.total == len(scored)
    assert sum(counts.statuses["weak"].values()) == len(scored)
    assert counts is results.counts(1)


def test_an_index_can_be_deleted_and_is_built_again(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    store = copy / "runs.db"
    index_path(store).write_bytes(b"not a database at all" * 100)
    with closing(open_results(store)) as results:
        assert results.run(1).state == "missing"
        before = results.version(1)
        assert results.scored(1).state == "building"
        results.finish_build(1)
        found = results.scored(1)
        assert found.state == "fresh", found.why
        assert results.version(1) != before
        assert found.source is not None
        assert results.run(1).leader == leader_of(found.source.card)
        cases = copy / "cases.jsonl"
        lines = cases.read_text(encoding="utf-8").replace('Morgen ÄÖ 5"', 'Abend 5"')
        cases.write_text(lines, encoding="utf-8")
        place = results.place_of(1, "case-5")
        assert place is not None
        assert results.case(1, place).changed
        assert not results.case(1, place + 1).changed
        stale = results.scored(1)
        assert stale.state == "stale"
        assert stale.source is not None
        results.finish_build(1)
        assert "was made with other data" in results.scored(1).why


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written_is_read_all_the_same(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    index_path(copy / "runs.db").unlink(missing_ok=True)
    copy.chmod(0o500)
    (copy / "runs.db").chmod(0o400)
    try:
        with closing(open_results(copy / "runs.db")) as results:
            assert results.matrix(1, MatrixQuery()).total > CASES
    finally:
        copy.chmod(0o700)
    assert not index_path(copy / "runs.db").exists()
