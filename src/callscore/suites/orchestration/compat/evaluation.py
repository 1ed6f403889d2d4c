"""Scores one output file, and all of a folder, like the public evaluator: §4.5, §5.4, §7."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.core.measure import Measure, ratio
from callscore.suites.orchestration.call.questions import VerdictSource
from callscore.suites.orchestration.compat import calls, plan
from callscore.suites.orchestration.compat.compare import ToolSchemas
from callscore.suites.orchestration.compat.export import public_form
from callscore.suites.orchestration.decision.confusion import (
    Confusion,
    call_decision,
    error_patterns,
    or_zero,
    public_cells,
    reject_decision,
    rejection_type_accuracy,
)
from callscore.suites.orchestration.overall import KeyMetrics, OverallStatistics
from callscore.suites.orchestration.plan.measures import step_score
from callscore.suites.orchestration.rows import CallRow, PlanRow, ResultRow, mean_call, mean_plan
from callscore.suites.orchestration.scenario.output_file import OUR_FORM, read_recording
from callscore.suites.orchestration.spec import spec

ZERO = Measure(0.0)
_NO_CALLS = CallRow(ZERO, ZERO, ZERO, ZERO)


def _ratio_or_zero(total: float, number: int) -> Measure:
    """total / number, or the 0 that the public evaluator writes if number is 0"""
    return ratio(total, number) if number else ZERO


def decode_public(raw: bytes) -> Any:
    """A file as the public evaluator loads it: JSON in UTF-8, without a BOM; else None  Q42"""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def evaluate_file(
    data: Any, file_path: str, tools: ToolSchemas, verdicts: VerdictSource, case_prefix: str
) -> ResultRow:
    """One decoded `*_out.json`; raises DataError if the public evaluator skips it (Q42)."""
    if not data:
        raise DataError(f"Failed to load data from {file_path}")
    if isinstance(data, Mapping) and data.get("callscore") == OUR_FORM:
        data = public_form(read_recording(data, case_prefix))
    planned = plan.score_runs(data)
    called = calls.score_runs(data, tools, verdicts, case_prefix)
    runs: Sequence[plan.PlanRun] = () if isinstance(planned, str) else planned
    _, _, scenario = case_prefix.partition("/")
    row = ResultRow(
        file_path,
        _plan_row(runs, _public_value),
        _NO_CALLS,
        Confusion(),
        0,
        0,
        plan_crash=planned if isinstance(planned, str) else "",
        exact_plan=_plan_row(runs, _exact_value),
        approximate_plans=sum(
            step.structural.approximate or step.component.approximate
            for run in runs
            for step in run.steps
        ),
        scenario=scenario,
        runs=max(1, len(runs)),
    )
    if isinstance(called, str):
        return msgspec.structs.replace(row, crash=called)
    return msgspec.structs.replace(
        row,
        call=_call_row(called),
        confusion=sum((run.confusion for run in called), Confusion()),
        call_cases=sum(run.call_cases for run in called),
        rejection_cases=sum(run.rejection_cases for run in called),
    )


def _public_value(found: plan.PublicSimilarity) -> float:
    return found.public


def _exact_value(found: plan.PublicSimilarity) -> float:
    return found.exact


def _plan_row(
    runs: Sequence[plan.PlanRun], value: Callable[[plan.PublicSimilarity], float]
) -> PlanRow:
    """Σ/(n+f), Σ/n over all rows, zero rows included (Q2 … Q4)        §4.5"""
    steps = [step for run in runs for step in run.steps]
    failures = sum(run.failures for run in runs)
    structural = [value(step.structural) for step in steps]
    component = [value(step.component) for step in steps]
    total = math.fsum(map(step_score, structural, component))
    return PlanRow(
        with_failure=_ratio_or_zero(total, len(steps) + failures),
        without_failure=_ratio_or_zero(total, len(steps)),
        structural=_ratio_or_zero(math.fsum(structural), len(steps)),
        component=_ratio_or_zero(math.fsum(component), len(steps)),
        failed=failures,
        evaluated=len(steps),
    )


def _call_row(runs: Sequence[calls.CallRun]) -> CallRow:
    """round4(Σ runs / number of runs)        §5.4"""
    digits = spec().compat.decimals

    def mean(read: Callable[[calls.CallRun], float]) -> Measure:
        return Measure(round(sum(map(read, runs)) / len(runs), digits))

    value = mean(lambda run: run.value)
    return CallRow(
        name=mean(lambda run: run.name),
        key=mean(lambda run: run.key),
        value=value,
        value_positive_only=value,
        perfect=sum(run.perfect for run in runs),
        without_values=tuple(run.run_name for run in runs if not run.has_values),
    )


def overall_statistics(rows: Sequence[ResultRow], total_files: int) -> OverallStatistics:
    """Plain means over all evaluated files; type mismatches are dropped (Q17, Q29)        §7"""
    plan_row, call_row = mean_plan(rows, _mean), mean_call(rows, _mean)
    confusion = public_cells(sum((row.confusion for row in rows), Confusion()))
    cases = sum(row.call_cases for row in rows)
    return OverallStatistics(
        total_files=total_files,
        evaluated_files=len(rows),
        key_metrics=_key_metrics(plan_row, call_row, confusion),
        plan=_round_plan(plan_row),
        call=_round_call(call_row),
        confusion=confusion,
        call_cases=cases,
        rejection_cases=sum(row.rejection_cases for row in rows),
        successful_calls=confusion.tn_reject,
        failed_rate=_round(_ratio_or_zero(cases - confusion.tn_reject, cases)),
        reject_decision=reject_decision(confusion),
        call_decision=call_decision(confusion),
        error_patterns=error_patterns(confusion),
        type_accuracy=_round(rejection_type_accuracy(confusion)),
    )


def mean_exact_plan(rows: Sequence[ResultRow]) -> PlanRow:
    """The plan means of the same rows with the exact edit cost        C-128"""
    exact = [
        row if row.exact_plan is None else msgspec.structs.replace(row, plan=row.exact_plan)
        for row in rows
    ]
    return _round_plan(mean_plan(exact, _mean))


def _round(measure: Measure) -> Measure:
    return Measure(round(or_zero(measure), spec().compat.decimals))


def _round_plan(row: PlanRow) -> PlanRow:
    """The means as the public file shows them (Q44)        §7"""
    return msgspec.structs.replace(
        row,
        with_failure=_round(row.with_failure),
        without_failure=_round(row.without_failure),
        structural=_round(row.structural),
        component=_round(row.component),
    )


def _round_call(row: CallRow) -> CallRow:
    """The means as the public file shows them (Q44)        §7"""
    return msgspec.structs.replace(
        row, name=_round(row.name), key=_round(row.key), value=_round(row.value)
    )


def _key_metrics(plan_row: PlanRow, call_row: CallRow, confusion: Confusion) -> KeyMetrics:
    """Average = mean of the three ROUNDED numbers (Q38)        §7"""
    decisions = (reject_decision(confusion).f1, call_decision(confusion).f1)
    classification = _round(_ratio_or_zero(math.fsum(map(or_zero, decisions)), 2))
    fc = _round(
        _ratio_or_zero(math.fsum(map(or_zero, (call_row.name, call_row.key, call_row.value))), 3)
    )
    headline = _round(plan_row.with_failure)
    average = _round(_ratio_or_zero(math.fsum(map(or_zero, (classification, fc, headline))), 3))
    return KeyMetrics(average, classification, fc, headline)


def _mean(measures: Iterable[Measure]) -> Measure:
    """Plain mean over all files; those without a case count 0 (Q17)"""
    values = [or_zero(measure) for measure in measures]
    return _ratio_or_zero(math.fsum(values), len(values))
