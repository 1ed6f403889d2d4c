"""The result file of document 001: names, nesting and rows exactly as documented (C-121).

The file is first built with measures instead of numbers. `render` then replaces each measure by
a number, and `undefined_paths` finds the measures without a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from callscore.core.measure import Measure
from callscore.metrics.rounding import half_even
from callscore.suites.orchestration.decision.confusion import Confusion, DecisionScores, or_zero
from callscore.suites.orchestration.overall import KeyMetrics, OverallStatistics
from callscore.suites.orchestration.rows import FailedRow, PlanRow, ResultRow
from callscore.suites.orchestration.spec import spec

Rounding = Callable[[float], float]
Json = dict[str, Any]
Layout = Mapping[str, Any]
"""Nested mappings as in the file, with a Measure wherever the file has a score."""


def four_decimals(value: float) -> float:
    """Four decimals, ties to even        C-114"""
    return half_even(value, spec().decimals)


def unrounded(value: float) -> float:
    """The value itself: in the mode `compat` it is already rounded (Q38)."""
    return value


def document(
    directory: str,
    overall: OverallStatistics,
    rows: Sequence[ResultRow | FailedRow],
    rounding: Rounding,
) -> Json:
    """The whole file without `x_extension`; rows sorted by path."""
    in_order = sorted(rows, key=lambda row: natural_sort_key(row.file_path))
    return {
        "directory": directory,
        "overall_statistics": render(statistics(overall), rounding),
        "detailed_results": [render(_row(row), rounding) for row in in_order],
    }


def render(layout: Layout, rounding: Rounding) -> Json:
    """Replace measures by numbers: undefined is 0.0, not run is null        C-113, C-120"""
    return {key: _render_value(value, rounding) for key, value in layout.items()}


def _render_value(value: Any, rounding: Rounding) -> Any:
    if isinstance(value, Measure):
        return None if value.absence == "not_run" else rounding(or_zero(value))
    return render(value, rounding) if isinstance(value, Mapping) else value


def undefined_paths(layout: Layout, path: str = "") -> Iterator[str]:
    """Paths where the file has 0.0 or null because there is no denominator        C-113"""
    for key, value in layout.items():
        if isinstance(value, Mapping):
            yield from undefined_paths(value, f"{path}{key}.")
        elif isinstance(value, Measure) and value.value is None:
            yield f"{path}{key}"


def statistics(overall: OverallStatistics) -> Layout:
    """`overall_statistics`"""
    return {
        "total_files": overall.total_files,
        "successful_evaluations": overall.evaluated_files,
        "failed_evaluations": overall.failed_files,
        "total_failed_workflow_generation": overall.plan.failed,
        "total_comparison_steps_evaluated": overall.plan.evaluated,
        "key_metrics": key_metrics(overall.key_metrics),
        "score_details": {
            "workflow_scores": workflow_scores(overall.plan),
            "function_call_scores": _function_call_scores(overall),
            "call_rejection_scores": _call_rejection_scores(overall),
            "raw_confusion_matrix": confusion_matrix(overall.confusion),
        },
    }


def key_metrics(metrics: KeyMetrics) -> Layout:
    """The four headline numbers        001 Key Metrics"""
    return {
        "Average": metrics.average,
        "Call Rejection Classification Accuracy": metrics.classification,
        "FC": metrics.fc,
        "Plan": metrics.plan,
    }


def workflow_scores(plan: PlanRow) -> Layout:
    """The four plan scores        001 Workflow Scores"""
    return {
        "workflow_evaluation_with_failure": plan.with_failure,
        "workflow_evaluation_without_failure": plan.without_failure,
        "average_structural_GED": plan.structural,
        "average_component_GED": plan.component,
    }


def _function_call_scores(overall: OverallStatistics) -> Layout:
    return {
        "function_name_accuracy": overall.call.name,
        "arguments_key_score": overall.call.key,
        "arguments_value_score_not_count_rejection": overall.call.value,
        "overall_function_call_failed_rate": overall.failed_rate,
        "total_fc_successful_calls": overall.successful_calls,
        "total_function_call_cases": overall.call_cases,
    }


def _call_rejection_scores(overall: OverallStatistics) -> Layout:
    return {
        "total_rejection_cases": overall.rejection_cases,
        "reject_decision_performance": _decision(overall.reject_decision),
        "fc_decision_performance": _decision(overall.call_decision),
        "error_patterns": {
            "overaction_rate": overall.error_patterns.overaction,
            "underaction_rate": overall.error_patterns.underaction,
            "type_mismatch_rate": overall.error_patterns.type_mismatch,
        },
        "rejection_type_accuracy": overall.type_accuracy,
        "total_rejection_type_mismatch": overall.confusion.type_mismatch,
        "total_failed_generation": overall.confusion.failed,
    }


def _decision(decision: DecisionScores) -> Layout:
    return {
        "precision": decision.precision,
        "recall": decision.recall,
        "f1": decision.f1,
        "accuracy": decision.accuracy,
    }


def confusion_matrix(c: Confusion) -> Layout:
    """The eight cells        001 Raw Confusion Matrix"""
    return {
        "total_true_positive_reject": c.tp_reject,
        "total_true_negative_reject": c.tn_reject,
        "total_false_positive_reject": c.fp_reject,
        "total_false_negative_reject": c.fn_reject,
        "total_true_positive_fc": c.tp_fc,
        "total_false_positive_fc": c.fp_fc,
        "total_false_negative_fc": c.fn_fc,
        "total_true_negative_fc": c.tn_fc,
    }


def _row(row: ResultRow | FailedRow) -> Layout:
    if isinstance(row, FailedRow):
        return {"file_path": row.file_path, "error": row.error}
    plan_counts = {
        "failed_workflow_generation": row.plan.failed,
        "total_comparison_steps_evaluated": row.plan.evaluated,
    }
    return {
        "file_path": row.file_path,
        **workflow_scores(row.plan),
        **plan_counts,
        "arguments_key_score": row.call.key,
        "arguments_value_score_not_count_rejection": row.call.value,
        "total_fc_successful_calls": row.confusion.tn_reject,
        "total_rejection_cases": row.rejection_cases,
        **confusion_matrix(row.confusion),
        "total_function_call_cases": row.call_cases,
        "function_name_accuracy": row.call.name,
        **_dropped_counts(row.confusion),
        "detail": {
            "workflow_detail": {
                "total_score_with_failure": row.plan.with_failure,
                "total_score_without_failure": row.plan.without_failure,
                "average_structural_GED": row.plan.structural,
                "average_component_GED": row.plan.component,
                **plan_counts,
                **({"error": row.plan_crash} if row.plan_crash else {}),
            },
            "arguments_detail": _arguments_detail(row),
        },
    }


def _dropped_counts(c: Confusion) -> Layout:
    """The two counts that the public evaluator leaves out of its rows (Q29)        C-121"""
    return {
        "total_rejection_type_mismatch": c.type_mismatch,
        "total_failed_generation": c.failed,
    }


_MISSING_AFTER_A_CRASH = (
    "total_perfect_function_calls",
    "total_fc_successful_calls",
    "total_rejection_type_mismatch",
    "total_failed_generation",
)


def _arguments_detail(row: ResultRow) -> Layout:
    """The details of the calls; after a crash the public evaluator writes fewer keys (Q47)."""
    detail = {
        "total_perfect_function_calls": row.call.perfect,
        "total_fc_successful_calls": row.confusion.tn_reject,
        "key_score": {"avg_f1": row.call.key},
        "value_score_not_count_rejection": {"avg_f1": row.call.value},
        "function_name_score": {"f1-score": row.call.name},
        "total_rejection_cases": row.rejection_cases,
        **confusion_matrix(row.confusion),
        **_dropped_counts(row.confusion),
        "llm_failed_trials": list(row.call.without_values),
        "total_function_call_cases": row.call_cases,
    }
    if not row.crash:
        return detail
    kept = {key: value for key, value in detail.items() if key not in _MISSING_AFTER_A_CRASH}
    return kept | {"error": row.crash}


def natural_sort_key(path: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key with digits as numbers, so that 2 comes before 10."""
    parts: list[tuple[int, int, str]] = []
    for piece in re.split(r"(\d+)", path, flags=re.ASCII):
        parts.append((0, int(piece), "") if piece.isdecimal() else (1, 0, piece))
    return tuple(parts)
