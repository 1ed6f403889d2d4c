"""The overall statistics of document 001, in the mode `standard` (C-119, C-120)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from callscore.core.measure import Measure, not_run, ratio, undefined
from callscore.core.scorecard import TaskScore
from callscore.core.spec import holds
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.decision.confusion import (
    Confusion,
    DecisionScores,
    ErrorPatterns,
    call_decision,
    call_failed_rate,
    error_patterns,
    or_zero,
    reject_decision,
    rejection_type_accuracy,
)
from callscore.suites.orchestration.rows import CallRow, PlanRow, ResultRow, mean_call, mean_plan
from callscore.suites.orchestration.spec import card_spec


class KeyMetrics(msgspec.Struct, frozen=True):
    """The four headline numbers        001 Key Metrics"""

    average: Measure
    classification: Measure
    fc: Measure
    plan: Measure


class OverallStatistics(msgspec.Struct, frozen=True):
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
    reject_decision: DecisionScores
    call_decision: DecisionScores
    error_patterns: ErrorPatterns
    type_accuracy: Measure

    @property
    def failed_files(self) -> int:
        """Number of files that could not be evaluated."""
        return self.total_files - self.evaluated_files

    @property
    def complete(self) -> bool:
        """Whether enough scenarios were evaluated        C-119"""
        required = card_spec().scores[SCENARIO].coverage or 1.0
        return holds(self.evaluated_files, ">=", required * self.total_files)


def mean_defined(measures: Iterable[Measure]) -> Measure:
    """Σ values / number of values, over the scenarios that have one        C-119"""
    values = [measure.value for measure in measures if measure.value is not None]
    return ratio(math.fsum(values), len(values)) if values else undefined("no scenario has one")


def overall_statistics(rows: Sequence[ResultRow], score: TaskScore) -> OverallStatistics:
    """Counts are summed, then divided; qualities are means over scenarios        C-119

    The headline numbers are those of the scorecard; the other numbers are added up here.
    """
    confusion = sum((row.confusion for row in rows), Confusion())
    return OverallStatistics(
        total_files=score.cases,
        evaluated_files=score.n,
        key_metrics=key_metrics_of(score),
        plan=mean_plan(rows, mean_defined),
        call=mean_call(rows, mean_defined),
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


def key_metrics_of(score: TaskScore) -> KeyMetrics:
    """The headline numbers of a task score; of several languages, their mean        001, C-120

    Without steps of a kind in the data or in the run, the scores of that kind are unavailable.
    """
    classification, fc = (
        _part(score, name, _UNAVAILABLE_CALLS) for name in ("classification", "fc")
    )
    plan = _part(score, "plan", _UNAVAILABLE_PLANS)
    missing = next((part for part in (classification, fc, plan) if part.value is None), None)
    average = score.ungated_score
    return KeyMetrics(
        missing or Measure(average) if average is None else ratio(average, 1),
        classification,
        fc,
        plan,
    )


def _part(score: TaskScore, name: str, unavailable: Measure) -> Measure:
    found = score.subscores[name].score
    return unavailable if found is None else ratio(found, 1)


_UNAVAILABLE_CALLS = not_run("no sub-agent step was run")
_UNAVAILABLE_PLANS = not_run("no plan step was run")


def mean_of_languages(results: Sequence[KeyMetrics]) -> KeyMetrics:
    """Each of Plan, CRC, FC, Average = mean of the languages        C-120, C-128"""
    return KeyMetrics(
        average=_mean_of([result.average for result in results]),
        classification=_mean_of([result.classification for result in results]),
        fc=_mean_of([result.fc for result in results]),
        plan=_mean_of([result.plan for result in results]),
    )


def _mean_of(parts: Sequence[Measure]) -> Measure:
    """The mean of all parts; not run if one of them is not run        C-120"""
    missing = next((part for part in parts if part.absence == "not_run"), None)
    if missing is not None:
        return missing
    return ratio(math.fsum(or_zero(part) for part in parts), len(parts))
