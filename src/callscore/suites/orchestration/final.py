"""Rows → the overall statistics of document 001, in the standard reading (C-119, C-120)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from callscore.core.measure import Measure, not_run, ratio, undefined
from callscore.suites.orchestration.decision.confusion import (
    Confusion,
    Decision,
    ErrorPatterns,
    call_decision,
    call_failed_rate,
    classification_score,
    error_patterns,
    or_zero,
    reject_decision,
    rejection_type_accuracy,
)
from callscore.suites.orchestration.rows import CallRow, PlanRow, Row, mean_call, mean_plan
from callscore.suites.orchestration.spec import spec


class KeyMetrics(msgspec.Struct, frozen=True):
    """The four headline numbers        001 Key Metrics"""

    average: Measure
    classification: Measure
    fc: Measure
    plan: Measure


class Overall(msgspec.Struct, frozen=True):
    """`overall_statistics` as values."""

    total_files: int
    evaluated_files: int
    key_metrics: KeyMetrics
    plan: PlanRow
    call: CallRow
    confusion: Confusion
    call_cases: int
    rejection_cases: int
    successful_calls: int
    failed_rate: Measure
    reject_decision: Decision
    call_decision: Decision
    error_patterns: ErrorPatterns
    type_accuracy: Measure

    @property
    def failed_files(self) -> int:
        """Number of files that could not be evaluated."""
        return self.total_files - self.evaluated_files

    @property
    def complete(self) -> bool:
        """Whether enough scenarios were evaluated        C-119"""
        return self.failed_files <= spec().coverage.failed_share * self.total_files


class Ran(msgspec.Struct, frozen=True):
    """Which halves of the suite the recordings contain (C-120)."""

    plans: bool = True
    calls: bool = True


def mean_defined(measures: Iterable[Measure]) -> Measure:
    """Σ values / number of values, over the scenarios that have one        C-119"""
    values = [measure.value for measure in measures if measure.value is not None]
    return ratio(math.fsum(values), len(values)) if values else undefined("no scenario has one")


def mean_of(parts: Sequence[Measure]) -> Measure:
    """Mean of all parts; unavailable if one of them is        C-120"""
    missing = next((part for part in parts if part.absence == "not_run"), None)
    if missing is not None:
        return missing
    return ratio(math.fsum(or_zero(part) for part in parts), len(parts))


def overall(rows: Sequence[Row], total_files: int, ran: Ran) -> Overall:
    """Counts are summed, then divided; qualities are means over scenarios        C-119"""
    plan, call = mean_plan(rows, mean_defined), mean_call(rows, mean_defined)
    confusion = sum((row.confusion for row in rows), Confusion())
    return Overall(
        total_files=total_files,
        evaluated_files=len(rows),
        key_metrics=_key_metrics(plan, call, confusion, ran),
        plan=plan,
        call=call,
        confusion=confusion,
        call_cases=confusion.call_cases,
        rejection_cases=confusion.rejection_cases,
        successful_calls=confusion.tp_fc,
        failed_rate=call_failed_rate(confusion),
        reject_decision=reject_decision(confusion),
        call_decision=call_decision(confusion),
        error_patterns=error_patterns(confusion),
        type_accuracy=rejection_type_accuracy(confusion),
    )


def _key_metrics(plan: PlanRow, call: CallRow, confusion: Confusion, ran: Ran) -> KeyMetrics:
    """CRC = mean of both F1; FC = mean of name, key, value; Plan = with failure        001, C-120

    A half that was not run, or whose kind of step the data does not have, is unavailable; a
    half that ran without a result counts 0.
    """
    decided = confusion.call_cases + confusion.rejection_cases
    classification = (
        ratio(classification_score(confusion), 1) if ran.calls and decided else _UNAVAILABLE_CALLS
    )
    fc = (
        mean_of((call.name, call.key, call.value))
        if ran.calls and confusion.call_cases
        else _UNAVAILABLE_CALLS
    )
    due = plan.evaluated + plan.failed
    headline = ratio(or_zero(plan.with_failure), 1) if ran.plans and due else _UNAVAILABLE_PLANS
    return KeyMetrics(mean_of((classification, fc, headline)), classification, fc, headline)


_UNAVAILABLE_CALLS = not_run("no sub-agent step was run")
_UNAVAILABLE_PLANS = not_run("no plan step was run")


def mean_of_languages(results: Sequence[KeyMetrics]) -> KeyMetrics:
    """Each of Plan, CRC, FC, Average = mean of the languages        ORCHESTRATIONBENCH.md §7"""
    return KeyMetrics(
        average=mean_of([result.average for result in results]),
        classification=mean_of([result.classification for result in results]),
        fc=mean_of([result.fc for result in results]),
        plan=mean_of([result.plan for result in results]),
    )
