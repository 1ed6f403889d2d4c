"""Runs that are compared from the index give the bytes of a comparison that scores them again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

import callscore
from callscore.comparison.inputs import rescored_input, select_model
from callscore.comparison.model_comparison import compare_models
from callscore.core.scenarios import STEP_USAGE
from callscore.core.task import SCENARIO
from callscore.results import open_results


def test_models_of_a_run_compared_from_the_index_equal_those_scored_again(project: Path) -> None:
    store = project / "runs.db"
    again = rescored_input(1, store, None, "run 1")
    first, second = (select_model(again, name) for name in ("strong", "weak"))
    steps = [of[0] for of in first.results.values() if of[0].task == SCENARIO]
    assert steps
    assert not {slug.rpartition(".")[2] for step in steps for slug in step.metrics} & STEP_USAGE
    with closing(open_results(store)) as results:
        if not results.is_fresh(1):
            results.build(1)
        version = results.version(1)
        for all_rows in (False, True):
            found = callscore.compare(1, 1, a="strong", b="weak", store=store, all_rows=all_rows)
            expected = compare_models(first, second, all_rows=all_rows)
            assert found.cases
            assert msgspec.json.encode(found) == msgspec.json.encode(expected)
        assert results.version(1) == version, "it was scored again"
        kept = results.results(1, lambda result: result)["weak"]
        assert list(kept) == list(second.results)
