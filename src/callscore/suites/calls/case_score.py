"""Case level: the framework's formulas and all its gates on one call (C-02)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.scorecard import Status
from callscore.core.task import Measured
from callscore.suites.calls.formula import TaskFormula, task_score


class CaseScore(msgspec.Struct, frozen=True):
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
        elif gate.breached(value):
            breached.append(slug)
            if gate.kind == "call":
                call_breaches.append(slug)
    ungated = task_score(formula.score, values.__getitem__)
    if breached:
        return CaseScore("invalid", None, ungated, breached, call_breaches, values)
    if ungated is None:
        missing = [s for s in formula.slugs if values[s] is None and s in formula.weighted]
        is_error = any([measures[slug].absence == "failed" for slug in missing])
        return CaseScore("error" if is_error else "incomplete", None, None, missing, (), values)
    if undecided:
        return CaseScore("incomplete", None, ungated, undecided, (), values)
    return CaseScore("valid", ungated, ungated, (), (), values)
