"""The weighted sums and gates that case level and model level share (C-02)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, inf
from operator import itemgetter

import msgspec

from callscore.core.measure import Measure
from callscore.core.rating import TOLERANCE
from callscore.core.spec import Gate, MetricSpec, Part, ScoreSettings, ScoreSpec, Spec

Values = Mapping[str, float | None]
STRUCTURE = ".structure"
"""How the slug of a structure check ends."""


def weighted_sum(terms: Iterable[tuple[float, float | None]]) -> float | None:
    """Σ weight × value, rounded once at the end; None where a value is missing

    Plain addition makes 0.7 + 0.2 + 0.1 less than 1, and a perfect answer less than perfect.
    """
    products = []
    for weight, value in terms:
        if value is None:
            return None
        products.append(weight * value)
    return fsum(products)


def part_score(part: Part, values: Values) -> float | None:
    """Σ weight × metric; None where a metric has no value"""
    return weighted_sum((weight, values[slug]) for slug, weight in part.weights.items())


def task_score(score: ScoreSpec, values: Values) -> float | None:
    """Σ weight × sub-score; None where a metric has no value"""
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


class ActiveGate(msgspec.Struct, frozen=True):
    """A gate that is tested, and the metric whose value it looks at."""

    slug: str
    rule: Gate
    clear_from: float
    clear_to: float
    """Values between these are in no breach, whatever the tolerance; others must be compared."""


def active_gate(slug: str, rule: Gate) -> ActiveGate:
    """The gate of a metric, with the values that clear it at a glance."""
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
    """All that `spec.toml` says about scoring one task, arranged for use."""

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
    """Gates that `formula_only` leaves out: their breach is shown, and blocks nothing (C-87)."""
    watched: frozenset[str] = frozenset()
    """Metrics of which the worst call is shown: counts, and those with a call gate."""


def _formula(spec: Spec, task: str, gates: str) -> TaskFormula:
    slugs = spec.slugs_of(task)
    score = spec.scores[task]
    weighted = frozenset(slug for part in score.formula.values() for slug in part.weights)
    found = [
        active_gate(slug, rule) for slug in slugs if (rule := spec.metrics[slug].gate) is not None
    ]
    # Structure first: where it fails, nothing else can be said.
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


_known: dict[tuple[str, str, str], TaskFormula] = {}


def formula_for(spec: Spec, task: str, settings: ScoreSettings) -> TaskFormula:
    """The formula of a task under `gates: all | formula_only` (C-05); made once a specification."""
    key = (spec.digest, task, settings.gates)
    formula = _known.get(key)
    if formula is None:
        formula = _known[key] = _formula(spec, task, settings.gates)
    return formula
