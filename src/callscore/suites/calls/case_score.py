"""Case level: the framework's formulas and all its gates on one call (C-02)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import Measure
from callscore.core.rating import holds
from callscore.core.scorecard import Status
from callscore.core.task import Measured
from callscore.suites.calls.formula import TaskFormula, task_score


class CaseScore(msgspec.Struct, frozen=True, gc=False):
    """What one answer is worth, and which gates it breached."""

    status: Status
    score: float | None
    ungated_score: float | None
    reasons: Sequence[str]
    call_breaches: Sequence[str]
    """The call gates among `reasons`: the call counts 0 at model level (C-03)."""
    values: Mapping[str, float | None] = {}
    """What the score was made of, by metric."""


def score_case(formula: TaskFormula, measured: Measured) -> CaseScore:
    """The status, score and reasons of one answer."""
    measures = measured.measures
    values = {slug: measure.value for slug, measure in measures.items()}
    breached: list[str] = []
    call_breaches: list[str] = []
    undecided: list[str] = []
    for slug, gate in formula.gates:
        value = values[slug]
        if value is None:
            continue
        if measures[slug].approximate and slug in formula.judged_gates:
            undecided.append(slug)
        elif holds(value, gate.comparison, gate.limit):
            breached.append(slug)
            if gate.kind == "call":
                call_breaches.append(slug)
    ungated = task_score(formula.score, values.__getitem__)
    if breached:
        return CaseScore("invalid", None, ungated, breached, call_breaches, values)
    if ungated is None:
        return _unfinished(formula, measures, values)
    if undecided:
        return CaseScore("incomplete", None, ungated, undecided, (), values)
    return CaseScore("valid", ungated, ungated, (), (), values)


def _unfinished(
    formula: TaskFormula, measures: Mapping[str, Measure], values: Mapping[str, float | None]
) -> CaseScore:
    """An answer without a score, with the metrics that it lacks: an error where one failed."""
    status: Status = "incomplete"
    missing: list[str] = []
    for slug in formula.scored:
        if values[slug] is None:
            missing.append(slug)
            if measures[slug].absence == "failed":
                status = "error"
    return CaseScore(status, None, None, missing, (), values)
