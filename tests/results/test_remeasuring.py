"""A verdict of a person changes an answer and what follows from it; undo restores it."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

import commands
from callscore.core.errors import UsageError
from callscore.core.events import EventConflict
from callscore.export.sources import rescore_run
from callscore.results import open_results
from callscore.results.port import QueryError, VerdictFilter, VerdictItem
from callscore.results.reviews import (
    RunReviewer,
    audit_items,
    draw_audit,
    item_of,
    judge_agreement,
    key_of,
    next_item,
    review_of,
    withdrawal_of,
    write_review,
)
from callscore.results.stored import StoredResults
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
        assert done.result != done.before
        assert results.is_fresh(1)
        with pytest.raises(EventConflict, match="event 1 of ada"):
            write_review(ada, shown, review, prior=0)
        rescored = rescore_run(1, store, None, RunOptions())
        assert msgspec.json.encode(done.card) == msgspec.json.encode(rescored.card)

        file, plain = tmp_path / "people.jsonl", tmp_path / "plain"
        written = commands.run("verdicts", 1, "--store", store, "-o", file)
        assert written.returncode == 0, written.stderr
        shutil.copytree(project, plain, ignore=shutil.ignore_patterns("*-index*"))
        scored = rescore_run(1, plain / "runs.db", None, RunOptions(verdicts=(file,)))
        assert msgspec.json.encode(done.card) == msgspec.json.encode(scored.card)

        seen = item_of(results, 1, key_of(item))
        assert seen.base == shown.base
        undone = write_review(ada, seen, withdrawal_of(seen), seen.prior()).remeasured
        assert undone.result == done.before
        assert msgspec.json.encode(undone.card) == card
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
        write_review(ada, item, review_of(item, item.base.judged, "", "gates"), 0)
        after = judge_agreement(results, 1)
        assert after.metrics == before.metrics
        assert after.others == {second.metric: {"confirm": 1}}
        assert sum(bool(one.people) for one in audit_items(results, 1)) == 1
