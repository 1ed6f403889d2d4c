"""A verdict of a person changes an answer and what follows from it; undo restores it."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import commands
from callscore.core.blocks import BlockSize
from callscore.core.errors import UsageError
from callscore.core.events import EventConflict
from callscore.core.scorecard import Scorecard
from callscore.evaluate.block_scoring import ONE_PROCESS, Workers
from callscore.export.sources import rescore_run
from callscore.report.source import CaseView
from callscore.results import open_results
from callscore.results.port import QueryError, VerdictFilter, VerdictItem
from callscore.results.review_queues import audit_items, draw_audit, judge_agreement, next_item
from callscore.results.reviews import (
    RunReviewer,
    item_of,
    key_of,
    review_of,
    withdrawal_of,
    write_review,
)
from callscore.results.stored_results import StoredResults
from callscore.results.verdict_changes import with_intervals
from callscore.results.writer import IndexWriter
from callscore.runner.prepare import RunOptions

OTHER = {
    "supported_by_reference": "not_found",
    "not_found": "supported_by_reference",
    "different": "same",
    "same": "different",
}
"""Words, and what a person says instead."""


def judged_item(results: StoredResults, metric: str) -> VerdictItem:
    """The first item of a metric on which a word was given."""
    page = results.verdict_items(1, VerdictFilter(metric=metric, limit=1_000))
    return next(item for item in page.items if item.word in OTHER)


def assert_values_of_a_full_pass(
    folder: Path, card: Scorecard, workers: Workers = ONE_PROCESS
) -> None:
    """It is the scorecard of a full pass, with its intervals or without them."""
    eval_file = folder / "eval.yaml"
    if card.intervals is None:
        settings = json.loads(eval_file.read_text(encoding="utf-8"))
        eval_file = folder / "values.yaml"
        eval_file.write_text(json.dumps({**settings, "intervals": False}), encoding="utf-8")
    options = RunOptions(workers=workers)
    full = rescore_run(1, folder / "runs.db", eval_file, options)
    assert msgspec.json.encode(card) == msgspec.json.encode(full.card)


def values_of(card: Scorecard) -> list[object]:
    """Every value of a scorecard, with all its digits."""
    return [
        (model.model, model.final.score, task.score, slug, row.value)
        for model in card.models
        for task in model.tasks.values()
        for slug, row in task.metrics.items()
    ]


@pytest.mark.parametrize("metric", ["text.highlight_correctness", "orchestration.argument_value"])
def test_an_overruled_verdict_equals_a_full_rescore_and_undo_restores_the_bytes(
    project: Path, tmp_path: Path, metric: str
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    with closing(open_results(copy / "runs.db")) as results:
        results.build(1)
        first = results.source(1)
        item = judged_item(results, metric)
        card = msgspec.json.encode(first.card)
        views = [msgspec.json.encode(view) for view in first.cases]
        store = copy / "runs.db"
        ada = RunReviewer(results, store, 1, "ada")
        shown = item_of(results, 1, key_of(item))
        review = review_of(shown, OTHER[item.word], "I listened to it")
        with pytest.raises(UsageError, match="needs a reason"):
            review_of(shown, OTHER[item.word], "")
        done = write_review(ada, shown, review, prior=0).remeasured
        if done.follows:  # a step of a scenario: the whole run is scored in the background
            assert metric.startswith("orchestration")
            assert done.result == done.before
            results.finish_build(1)
            done = results.remeasure(1, item.place, item.model, item.rep)
            assert not done.follows
        else:
            assert done.result != done.before
        rescored = rescore_run(1, store, None, RunOptions())
        assert values_of(done.card) == values_of(rescored.card)
        with pytest.raises(EventConflict, match="event 1 of ada"):
            write_review(ada, shown, review, prior=0)
        results.refresh(1)
        assert results.is_fresh(1)
        now = msgspec.json.encode(results.source(1).card)
        assert now == msgspec.json.encode(rescored.card)

        file, plain = tmp_path / "people.jsonl", tmp_path / "plain"
        written = commands.run("verdicts", 1, "--store", store, "-o", file)
        assert written.returncode == 0, written.stderr
        shutil.copytree(project, plain, ignore=shutil.ignore_patterns("*-index*"))
        scored = rescore_run(1, plain / "runs.db", None, RunOptions(verdicts=(file,)))
        assert now == msgspec.json.encode(scored.card)

        seen = item_of(results, 1, key_of(item))
        assert seen.base == shown.base
        write_review(ada, seen, withdrawal_of(seen), seen.prior())
        results.finish_build(1)
        undone = results.remeasure(1, item.place, item.model, item.rep)
        assert undone.result == next(
            answer.result
            for answer in msgspec.json.decode(views[item.place - 1], type=CaseView).answers
            if (answer.model, answer.run) == (item.model, item.rep)
        )
        results.refresh(1)
        assert msgspec.json.encode(results.source(1).card) == card
        assert [msgspec.json.encode(view) for view in results.source(1).cases] == views
        with pytest.raises(QueryError, match="has no answer"):
            results.remeasure(1, item.place, "nobody", 1)


def test_agreement_comes_from_the_random_sample_alone_and_other_reviews_are_counted_apart(
    project: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    with closing(open_results(copy / "runs.db")) as results:
        results.build(1)
        ada = RunReviewer(results, copy / "runs.db", 1, "ada")
        drawn = draw_audit(ada, 1_000)
        assert drawn.probability == 1.0
        with pytest.raises(UsageError, match="in the sample already"):
            draw_audit(ada, 1)
        first, _ = next_item(results, 1, VerdictFilter(queue="gates"))
        assert first is not None
        item = item_of(results, 1, first)
        write_review(ada, item, review_of(item, item.base.judged, "", "audit"), 0)
        before = judge_agreement(results, 1)
        assert sum(one.calibration.n for one in before.metrics) == 1
        second, _ = next_item(results, 1, VerdictFilter(queue="gates"))
        assert second is not None
        assert second != first
        item = item_of(results, 1, second)
        other = next(word for word in item.words if word != item.base.judged)
        write_review(ada, item, review_of(item, other, "I listened to it", "disputed"), 0)
        after = judge_agreement(results, 1)
        assert after.metrics == before.metrics
        assert after.others == {second.metric: {"overrule": 1}}
        assert sum(bool(one.people) for one in audit_items(results, 1)) == 1


SMALL_BLOCKS = Workers(1, BlockSize(3, 2))
"""Of three cases and two sub-blocks, so that few cases have several of both."""
PLACES = {
    "text.highlight_correctness": 9,
    "text.fabrication_free": 10,
    "translation.critical_facts": 13,
    "translation.fluency": 16,
}
"""In four sub-blocks of three blocks; two of the metrics decide gates."""


def rows_of(results: StoredResults) -> list[list[tuple[object, ...]]]:
    """What lists, queues and comparisons read."""
    index = results._index
    return [
        index._rows(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3")
        for table, columns in (
            ("cases", "place, marks, worst, best, apart"),
            ("cells", "place, model, status, score, reasons, flags, measured"),
            ("verdict_items", "number, model, metric, word, author, disputed, breached"),
            ("sub_blocks", "model, number, replies"),
        )
    ]


def contributions_of(results: StoredResults) -> list[object]:
    """What every model's calls add to its scores, entry by entry."""
    return [
        (
            model,
            task,
            kept.keys,
            kept.flags,
            {slug: repr(column._rows()) for slug, column in kept.columns.items()},
        )
        for model, of_model in results.contributions(1).items()
        for task, kept in of_model.items()
    ]


def test_reviews_in_several_blocks_equal_a_full_pass_and_need_none(
    repeated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(repeated, copy, ignore=shutil.ignore_patterns("*-index*"))
    with closing(open_results(copy / "runs.db")) as results:
        results.build(1, SMALL_BLOCKS)
        first = [msgspec.json.encode(results.source(1).card), rows_of(results)]
        bob = RunReviewer(results, copy / "runs.db", 1, "bob")
        saved = []
        with monkeypatch.context() as patch:
            patch.setattr("callscore.results.updates.build_index", None)
            patch.setattr("callscore.results.updates.ScoringUpdates.in_background", _later)
            for metric, place in PLACES.items():
                item = next(
                    one
                    for one in results.verdicts_of_case(1, place)
                    if one.metric == metric and one.word and one.model == "weak"
                )
                shown = item_of(results, 1, key_of(item))
                word = next(word for word in shown.words if word != item.word)
                done = write_review(bob, shown, review_of(shown, word, "I read it"), 0)
                assert done.remeasured.version == results.version(1)
                assert results.scored(1).values_only
                saved.append((key_of(item), done.event.seq))
            card = done.remeasured.card
            assert card.intervals is None
            assert msgspec.json.encode(card) != first[0]
            assert_values_of_a_full_pass(copy, card, SMALL_BLOCKS)
            results.refresh(1)
            assert_values_of_a_full_pass(copy, results.source(1).card, SMALL_BLOCKS)
            found = [rows_of(results), contributions_of(results)]
        results.build(1, SMALL_BLOCKS)
        assert found == [rows_of(results), contributions_of(results)]
        for key, seq in saved:
            item_now = item_of(results, 1, key)
            write_review(bob, item_now, withdrawal_of(item_now), seq)
        results.refresh(1)
        assert [msgspec.json.encode(results.source(1).card), rows_of(results)] == first


def _later(*_: object) -> str:
    """Nothing is updated in the background."""
    return ""


def test_older_values_never_replace_newer_ones(
    repeated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(repeated, copy, ignore=shutil.ignore_patterns("*-index*"))
    monkeypatch.setattr("callscore.results.updates.ScoringUpdates.in_background", _later)
    store = copy / "runs.db"
    with closing(open_results(store)) as results, closing(open_results(store)) as others:
        results.refresh(1)
        items = [
            one
            for one in results.verdict_items(1, VerdictFilter(queue="gates", limit=1_000)).items
            if one.item and one.model == "weak"
        ]
        overrule(results, store, items[0], "ada")
        old = results._scoring(1)
        overrule(others, store, items[-1], "bob")
        newest = msgspec.json.encode(others.source(1).card)
        assert results.version(1) == others.version(1)
        assert not with_intervals(results._index, old, results._updates._run(1))
        assert msgspec.json.encode(results.source(1).card) == newest

        finish = IndexWriter.finish

        def after_a_review(writer: IndexWriter, *found: Any) -> None:
            overrule(others, store, items[len(items) // 2], "cleo")
            finish(writer, *found)

        with monkeypatch.context() as patch:
            patch.setattr(IndexWriter, "finish", after_a_review)
            results.build(1)
        assert results.scored(1).state == "fresh"
        assert_values_of_a_full_pass(copy, results.source(1).card)


def test_a_review_without_its_scores_is_caught_up_with(
    repeated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(repeated, copy, ignore=shutil.ignore_patterns("*-index*"))
    monkeypatch.setattr("callscore.results.updates.ScoringUpdates.in_background", _later)
    store = copy / "runs.db"
    with closing(open_results(store)) as results:
        results.refresh(1)
        item = results.verdict_items(1, VerdictFilter(queue="gates")).items[0]
        with monkeypatch.context() as patch:  # the server is killed after the event
            patch.setattr(StoredResults, "remeasure", _later)
            overrule(results, store, item, "ada")
        assert not results.is_fresh(1)
    monkeypatch.setattr("callscore.results.updates.build_index", None)
    with closing(open_results(store)) as results:
        found = results.scored(1)
        assert (found.state, found.values_only) == ("fresh", True)
        assert found.source is not None
        assert_values_of_a_full_pass(copy, found.source.card)


def overrule(results: StoredResults, store: Path, item: VerdictItem, author: str) -> None:
    """Give another word on an item."""
    shown = item_of(results, 1, key_of(item))
    word = next(word for word in shown.words if word != item.word)
    review = review_of(shown, word, "I listened to it")
    write_review(RunReviewer(results, store, 1, author), shown, review, shown.prior())
