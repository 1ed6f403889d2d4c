"""The 95 % intervals of a scorecard, by the path of each number in the result file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from callscore.core.measure import Interval, IntervalMethod, Measure
from callscore.core.scorecard import TaskScore
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.result_format import Layout

FEW_SCENARIOS = 15

WORKFLOW = "score_details.workflow_scores."
CALLS = "score_details.function_call_scores."
DECISIONS = "score_details.call_rejection_scores."
KEY = "key_metrics."
ROWS = {
    f"{WORKFLOW}workflow_evaluation_with_failure": "plan",
    f"{WORKFLOW}workflow_evaluation_without_failure": "plan_without_failure",
    f"{WORKFLOW}average_structural_GED": "plan_structural",
    f"{WORKFLOW}average_component_GED": "plan_component",
    f"{CALLS}function_name_accuracy": "name",
    f"{CALLS}arguments_key_score": "key",
    f"{CALLS}arguments_value_score_not_count_rejection": "value",
    **{
        f"{DECISIONS}{decision}_decision_performance.{name}": f"{side}_{name}"
        for decision, side in (("reject", "reject"), ("fc", "call"))
        for name in ("precision", "recall", "f1", "accuracy")
    },
    f"{DECISIONS}rejection_type_accuracy": "rejection_type",
}
"""Path in the result file → row of the scorecard."""
PARTS = {
    f"{KEY}Call Rejection Classification Accuracy": "classification",
    f"{KEY}FC": "fc",
    f"{KEY}Plan": "plan",
}
"""Path in the result file → part of the score."""


def intervals(
    task: TaskScore, method: IntervalMethod, statistics: Layout, scenarios: int
) -> dict[str, Any]:
    """`x_extension.intervals`: the intervals of all numbers of a result        STATS §2"""
    return {
        "level": method.level,
        "about": method.about,
        "scenarios": scenarios,
        "few_scenarios": scenarios < FEW_SCENARIOS,
        "resamples": method.resamples,
        "seed": method.seed,
        "ci95": {
            path: list(limits)
            for path, limits in (*_row_intervals(task), *key_metric_intervals(task))
            if limits is not None and _has_value(statistics, path)
        },
    }


def _row_intervals(task: TaskScore) -> Iterator[tuple[str, Interval | None]]:
    for path, name in ROWS.items():
        yield path, task.metrics[f"{SCENARIO}.{name}"].ci95
    made = task.metrics[f"{SCENARIO}.calls_made"].ci95
    failed = None if made is None else (1 - made[1], 1 - made[0])
    yield f"{CALLS}overall_function_call_failed_rate", failed


def key_metric_intervals(task: TaskScore) -> Iterator[tuple[str, Interval | None]]:
    """The intervals of the four headline numbers, by their path."""
    for path, name in PARTS.items():
        if name in task.subscores:  # not if no scenario has it (C-142)
            yield path, task.subscores[name].ci95
    yield f"{KEY}Average", task.ungated_ci95


def _has_value(statistics: Layout, path: str) -> bool:
    found: Any = statistics
    for key in path.split("."):
        found = found[key]
    return isinstance(found, Measure) and found.value is not None
