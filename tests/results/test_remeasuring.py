"""A verdict of a person changes an answer and what follows from it; undo restores it."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from callscore.core.judging import Verdict
from callscore.export.sources import rescore_run
from callscore.results import open_results
from callscore.results.port import QueryError, VerdictFilter, VerdictItem
from callscore.results.stored import StoredResults
from callscore.runner.prepare import RunOptions
from callscore.store.verdict_records import VerdictRecord, to_file_record

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
        given = Verdict(item.metric, item.item, OTHER[item.word], by="human:ada")
        done = results.remeasure(1, item.place, item.model, item.rep, [given])
        assert done.result != done.before
        assert (
            metric.startswith("orchestration.")
            or results.verdict_items(1, VerdictFilter(by="human:")).total
        )

        file = tmp_path / "people.jsonl"
        fields = {name: getattr(given, name) for name in Verdict.__struct_fields__}
        record = VerdictRecord(**fields, case_id=item.case_id, model=item.model, run=item.rep)
        file.write_bytes(msgspec.json.encode(to_file_record(record)) + b"\n")
        scored = rescore_run(1, copy / "runs.db", None, RunOptions(verdicts=(file,)))
        assert msgspec.json.encode(done.card) == msgspec.json.encode(scored.card)
        assert results.is_fresh(1)

        undone = results.remeasure(1, item.place, item.model, item.rep, [])
        assert undone.result == done.before
        assert msgspec.json.encode(undone.card) == card
        assert [msgspec.json.encode(view) for view in results.source(1).cases] == views
        with pytest.raises(QueryError, match="has no answer"):
            results.remeasure(1, item.place, "nobody", 1, [])
