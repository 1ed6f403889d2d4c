"""Case level: the framework's formulas and all its gates on one call (C-02)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.measure import Measure
from callscore.core.scorecard import Status
from callscore.core.task import Measured
from callscore.scorecard.formula import ActiveGate, TaskFormula, task_score
from callscore.stats.contributions import BLOCKED, CALL_BLOCKED, EVALUATED


class CaseScore(msgspec.Struct, frozen=True, gc=False):
    """The score of one reply, and the gates it breached."""

    status: Status
    score: float | None
    ungated_score: float | None
    reasons: Sequence[str]
    call_breaches: Sequence[str]
    """The call gates among `reasons`: the call counts 0 at model level (C-03)."""
    values: Mapping[str, float | None] = {}
    """The values in the formula, by metric."""


def score_case(formula: TaskFormula, measured: Measured) -> CaseScore:
    """Status, score and reasons of one reply."""
    measures = measured.measures
    values: dict[str, Any] = dict(measures)  # a copy has its final size at once
    for slug, measure in measures.items():
        values[slug] = measure.value
    breached: list[ActiveGate] = []
    for gate in formula.gates:
        value = values[gate.slug]
        if value is None or gate.clear_from <= value <= gate.clear_to:
            continue
        if gate.rule.breached(value) and _is_gated(measures[gate.slug]):
            breached.append(gate)
    ungated = task_score(formula.score, values)
    if breached:
        return _invalid(ungated, breached, values)
    if ungated is None:
        return _unfinished(formula, measures, values)
    return CaseScore("valid", ungated, ungated, (), (), values)


def _is_gated(measure: Measure) -> bool:
    """Whether a gate applies: not to an estimate (C-125), nor to the conventional value of a
    reply with nothing to count (C-13).
    """
    return not (measure.estimated or measure.vacuous)


def _invalid(
    ungated: float | None, breached: Sequence[ActiveGate], values: Mapping[str, float | None]
) -> CaseScore:
    """A reply in breach of gates, with all their names."""
    reasons = [gate.slug for gate in breached]
    of_calls = [gate.slug for gate in breached if gate.rule.kind == "call"]
    return CaseScore("invalid", None, ungated, reasons, of_calls, values)


def _unfinished(
    formula: TaskFormula, measures: Mapping[str, Measure], values: Mapping[str, float | None]
) -> CaseScore:
    """A reply without a score, with the missing metrics; an error if one of them failed."""
    status: Status = "incomplete"
    missing: list[str] = []
    for slug in formula.scored:
        if values[slug] is None:
            missing.append(slug)
            if measures[slug].absence == "failed":
                status = "error"
    return CaseScore(status, None, None, missing, (), values)


def gate_flags(runs: Iterable[CaseScore]) -> int:
    """The gates that a case breached; one run in breach is enough        C-07"""
    flags = EVALUATED
    for run in runs:
        if run.status == "invalid":
            flags |= BLOCKED | (CALL_BLOCKED if run.call_breaches else 0)
    return flags
