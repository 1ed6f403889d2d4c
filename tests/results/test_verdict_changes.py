"""A verdict of a person changes an answer and what follows from it; undo restores it."""

from __future__ import annotations

import csv
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
from callscore.demo import sample_calls
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
from eval_files import eval_file
from judging_stub import answer_as_judge, judge_entry, judge_requests
from stub_servers import serving

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
            patch.setattr("callscore.results.build.build_index", None)
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
    monkeypatch.setattr("callscore.results.build.build_index", None)
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


def without_a_full_pass(patch: pytest.MonkeyPatch) -> None:
    """A pass over the whole run fails, now and in the background."""
    patch.setattr("callscore.results.build.build_index", None)
    patch.setattr("callscore.results.updates.ScoringUpdates.in_background", _later)


def assert_a_review_needs_no_full_pass(
    folder: Path, item: VerdictItem, patch: pytest.MonkeyPatch, *, has_labels: bool = False
) -> None:
    """A word and its withdrawal give the values of a full pass; labels follow with intervals."""
    with closing(open_results(folder / "runs.db")) as results:
        results.build(1)
        first = [msgspec.json.encode(results.source(1).card), rows_of(results)]
        with patch.context() as inner:
            without_a_full_pass(inner)
            overrule(results, folder / "runs.db", item, "ada")
            changed = results.scored(1)
            assert (changed.state, changed.values_only) == ("fresh", True)
            assert changed.source is not None
            if not has_labels:  # they are refused without intervals
                assert_values_of_a_full_pass(folder, changed.source.card)
            results.refresh(1)
            assert_values_of_a_full_pass(folder, results.source(1).card)
            assert msgspec.json.encode(results.source(1).card) != first[0]
            seen = item_of(results, 1, key_of(item))
            ada = RunReviewer(results, folder / "runs.db", 1, "ada")
            write_review(ada, seen, withdrawal_of(seen), seen.prior())
            results.refresh(1)
            assert [msgspec.json.encode(results.source(1).card), rows_of(results)] == first


def first_item(folder: Path, metric: str) -> VerdictItem:
    """The first item of a metric that people can review."""
    with closing(open_results(folder / "runs.db")) as results:
        results.build(1)
        found = results.verdict_items(1, VerdictFilter(metric=metric, limit=1_000)).items
        return next(one for one in found if one.word and one.item)


@pytest.mark.parametrize("has_labels", [False, True])
def test_a_review_of_a_judging_model_measures_its_case_alone_and_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_labels: bool
) -> None:
    with sample_calls() as config:
        lines = config.cases[0].read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if json.loads(line)["task"] == "text"][:6]
    (tmp_path / "cases.jsonl").write_text("\n".join(texts), encoding="utf-8")
    models = [
        {"name": name, "provider": "simulated", "params": {"seed": 9, "fabricated_facts": share}}
        for name, share in (("inventive", 0.9), ("careful", 0.2))
    ]
    with serving(answer_as_judge) as stub:
        settings = {"judge": judge_entry(stub.url), "embedder": "none", "store": "runs.db"}
        path = eval_file(tmp_path, models, **settings)
        done = commands.run("run", path, env={"STUB_KEY": "k"})
        assert done.returncode == 0, done.stderr
        sent = len(judge_requests(stub))
        assert sent > 0
        item = first_item(tmp_path, "text.fabrication_free")
        if has_labels:
            write_labels(tmp_path, "text.fabrication_free")
            eval_file(tmp_path, models, **settings, labels=["labels.jsonl"])
        assert_a_review_needs_no_full_pass(tmp_path, item, monkeypatch, has_labels=has_labels)
        assert len(judge_requests(stub)) == sent


def lines_of_verdicts(folder: Path, metric: str = "") -> list[dict[str, object]]:
    """The words of the judge of a run, as a person would give them in a file."""
    with closing(open_results(folder / "runs.db")) as results:
        items = results.verdict_items(1, VerdictFilter(metric=metric, limit=10_000)).items
    return [
        {"case_id": one.case_id, "model": one.model, "run": one.rep, "metric": one.metric,
         "item": one.item, "verdict": one.word, "by": "human:zoe"}
        for one in items
        if one.item and one.word.strip("-0123456789.")
    ]  # fmt: skip


def write_labels(folder: Path, metric: str) -> None:
    """Label every second item of a metric."""
    lines = [json.dumps(line) for line in lines_of_verdicts(folder, metric)[::2]]
    (folder / "labels.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_review_next_to_files_of_verdicts_measures_its_case_alone(
    repeated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(repeated, copy, ignore=shutil.ignore_patterns("*-index*"))
    item = first_item(copy, "text.fabrication_free")
    lines = lines_of_verdicts(copy)
    half = len(lines) // 2
    given = "".join(json.dumps(line) + "\n" for line in lines[:half])
    (copy / "given.jsonl").write_text(given, encoding="utf-8")
    with (copy / "given.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, list(lines[0]))
        rows.writeheader()
        rows.writerows(lines[half:])
    eval_path = copy / "eval.yaml"
    settings = json.loads(eval_path.read_text(encoding="utf-8"))
    settings |= {"judge": "none", "verdicts": ["given.jsonl", "given.csv"]}
    eval_path.write_text(json.dumps(settings), encoding="utf-8")
    assert_a_review_needs_no_full_pass(copy, item, monkeypatch)


def test_a_review_of_a_run_whose_data_have_changed_is_refused_before_it_is_stored(
    repeated: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(repeated, copy, ignore=shutil.ignore_patterns("*-index*"))
    store, cases = copy / "runs.db", copy / "cases.jsonl"
    item = first_item(copy, "text.fabrication_free")
    before = cases.read_text(encoding="utf-8")
    with closing(open_results(store)) as results:
        cases.write_text(before.replace("the", "a"), encoding="utf-8")
        with pytest.raises(UsageError, match=r"Nothing was saved: .* Put the data back"):
            overrule(results, store, item, "ada")
        assert not results.events()
        cases.write_text(before, encoding="utf-8")
        overrule(results, store, item, "ada")
        assert len(results.events()) == 1
        results.refresh(1)
        assert_values_of_a_full_pass(copy, results.source(1).card)


def test_a_review_that_needs_a_full_pass_is_saved_at_once_and_its_item_leaves_the_queue(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("*-index*"))
    store = copy / "runs.db"
    with closing(open_results(store)) as results:
        results.build(1)
        wanted = VerdictFilter(queue="gates", metric="orchestration.argument_value")
        key, _ = next_item(results, 1, wanted)
        if key is None:
            wanted = VerdictFilter(metric="orchestration.argument_value")
            key, _ = next_item(results, 1, wanted)
        assert key is not None
        shown = item_of(results, 1, key)
        word = next(word for word in shown.words if word != shown.base.judged)
        who = RunReviewer(results, store, 1, "ada")
        with monkeypatch.context() as patch:
            without_a_full_pass(patch)
            done = write_review(who, shown, review_of(shown, word, "I listened"), 0)
        assert done.remeasured.follows
        assert done.remeasured.result == done.remeasured.before
        following, _ = next_item(results, 1, wanted)
        assert following != key
        assert results.scored(1).state == "stale"
        results.finish_build(1)
        assert results.scored(1).state == "fresh"
