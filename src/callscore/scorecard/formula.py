"""The weighted sums and gates of case level and model level, and the score of a case (C-02)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, inf
from operator import itemgetter
from typing import Any

import msgspec

from callscore.core.measure import Measure
from callscore.core.scorecard import MetricScore, Status
from callscore.core.spec import TOLERANCE, Gate, MetricSpec, Part, ScoreSettings, ScoreSpec, Spec
from callscore.core.task import Measured
from callscore.stats.contributions import BLOCKED, CALL_BLOCKED, EVALUATED

Values = Mapping[str, float | None]
STRUCTURE = ".structure"
"""Suffix of the slug of a structure check."""


def weighted_sum(terms: Iterable[tuple[float, float | None]]) -> float | None:
    """Σ weight × value, rounded once at the end; None if a value is missing

    Plain addition makes 0.7 + 0.2 + 0.1 less than 1, so that a perfect reply would not score 1.
    """
    products = []
    for weight, value in terms:
        if value is None:
            return None
        products.append(weight * value)
    return fsum(products)


def part_score(part: Part, values: Values) -> float | None:
    """Σ weight × metric; None if a metric has no value"""
    return weighted_sum((weight, values[slug]) for slug, weight in part.weights.items())


def task_score(score: ScoreSpec, values: Values) -> float | None:
    """Σ weight × sub-score; None if a metric has no value"""
    products = []
    for part_weight, terms in score.terms:
        inside = []
        for slug, weight in terms:
            value = values[slug]
            if value is None:
                return None
            inside.append(weight * value)
        products.append(part_weight * fsum(inside))
    return fsum(products)


def formula_value(spec: MetricSpec, metric: MetricScore) -> float | None:
    """The value of a row in the formula: 0 if undefined and the specification says so    C-113"""
    return 0.0 if counts_zero(spec, metric) else metric.value


def counts_zero(spec: MetricSpec, metric: MetricScore) -> bool:
    """Whether a row counts 0 because no case defines it        C-113"""
    is_undefined = metric.value is None and (metric.why or "").startswith("undefined")
    return is_undefined and spec.zero_if_undefined


class ActiveGate(msgspec.Struct, frozen=True):
    """A gate that applies, and the metric whose value it tests."""

    slug: str
    rule: Gate
    clear_from: float
    clear_to: float
    """Values between these are never in breach; others are compared with the tolerance."""


def active_gate(slug: str, rule: Gate) -> ActiveGate:
    """The gate of a metric, with the range of values that need no comparison."""
    is_strict = rule.comparison in ("<", ">")
    margin = 0.0 if is_strict else 2 * TOLERANCE
    is_floor = rule.comparison in ("<", "<=")
    return ActiveGate(
        slug,
        rule,
        clear_from=rule.limit + margin if is_floor else -inf,
        clear_to=inf if is_floor else rule.limit - margin,
    )


class TaskFormula(msgspec.Struct, frozen=True):
    """The scoring of one task, from `spec.toml`, prepared for use."""

    task: str
    slugs: Sequence[str]
    row: Callable[[Mapping[str, Measure]], Sequence[Measure]]
    """Picks the measures in the order of the slugs."""
    score: ScoreSpec
    weighted: frozenset[str]
    scored: Sequence[str]
    """The weighted metrics in the order of the specification."""
    gates: Sequence[ActiveGate]
    specs: Mapping[str, MetricSpec]
    silent_gates: Sequence[ActiveGate] = ()
    """Gates that `formula_only` disables: a breach is shown and blocks nothing (C-87)."""
    watched: frozenset[str] = frozenset()
    """Metrics whose worst call is shown: counts, and those with a call gate."""
    call_gate_tolerance: float = 0.0
    """The share of calls that may breach a call gate (C-03)."""


def _formula(spec: Spec, task: str, gates: str) -> TaskFormula:
    slugs = spec.slugs_of(task)
    score = spec.scores[task]
    weighted = frozenset(slug for part in score.formula.values() for slug in part.weights)
    found = [
        active_gate(slug, rule) for slug in slugs if (rule := spec.metrics[slug].gate) is not None
    ]
    # Structure first: if it fails, nothing else can be measured.
    found.sort(key=lambda gate: not gate.slug.endswith(STRUCTURE))
    active = [gate for gate in found if gates == "all" or gate.rule.formula]
    return TaskFormula(
        task=task,
        slugs=slugs,
        row=_picker(slugs),
        score=score,
        weighted=weighted,
        scored=[slug for slug in slugs if slug in weighted],
        gates=tuple(active),
        specs=spec.metrics,
        silent_gates=tuple(gate for gate in found if gate not in active),
        watched=frozenset(slug for slug in slugs if _has_worst_call(spec.metrics[slug])),
    )


def _has_worst_call(metric: MetricSpec) -> bool:
    return metric.unit == "count" or (metric.gate is not None and metric.gate.kind == "call")


def _picker(slugs: Sequence[str]) -> Callable[[Mapping[str, Measure]], Sequence[Measure]]:
    if len(slugs) > 1:
        return itemgetter(*slugs)
    (slug,) = slugs
    return lambda measures: (measures[slug],)


_formulas: dict[tuple[str, str, str, float], TaskFormula] = {}


def formula_for(spec: Spec, task: str, settings: ScoreSettings) -> TaskFormula:
    """The formula of a task under `gates: all | formula_only` (C-05); cached per specification."""
    key = (spec.digest, task, settings.gates, settings.call_gate_tolerance)
    formula = _formulas.get(key)
    if formula is None:
        found = _formula(spec, task, settings.gates)
        tolerance = settings.call_gate_tolerance
        formula = msgspec.structs.replace(found, call_gate_tolerance=tolerance)
        _formulas[key] = formula
    return formula


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
        if gate.rule.is_breached(value) and _is_gated(measures[gate.slug]):
            breached.append(gate)
    ungated = task_score(formula.score, values)
    if breached:
        return _invalid_score(ungated, breached, values)
    if ungated is None:
        return _unfinished_score(formula, measures, values)
    return CaseScore("valid", ungated, ungated, (), (), values)


def _is_gated(measure: Measure) -> bool:
    """Whether a gate applies: not to an estimate (C-125), nor to the conventional value of a
    reply with nothing to count (C-13).
    """
    return not (measure.estimated or measure.vacuous)


def _invalid_score(
    ungated: float | None, breached: Sequence[ActiveGate], values: Mapping[str, float | None]
) -> CaseScore:
    """A reply in breach of gates, with all their names."""
    reasons = [gate.slug for gate in breached]
    of_calls = [gate.slug for gate in breached if gate.rule.kind == "call"]
    return CaseScore("invalid", None, ungated, reasons, of_calls, values)


def _unfinished_score(
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
