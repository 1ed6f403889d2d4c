"""Model level: one column of the scorecard, from the tally of one task (C-02, C-03, C-06)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.rating import Rating, holds, rate
from callscore.core.scorecard import Blocker, MetricScore, Status, SubScore, TaskScore
from callscore.stats.intervals import clopper_pearson
from callscore.suites.calls.formula import TaskFormula, Values, part_score, task_score
from callscore.suites.calls.spec import Gate, MetricSpec, Settings, load
from callscore.suites.calls.tally import MetricTally, TaskTally

WAITING_FOR = {
    "judge": "await a verdict",
    "embedder": "await a similarity",
    "code": "could not be measured",
}


class ScoredTask(msgspec.Struct, frozen=True):
    """A task score, and the gates that the model breached."""

    score: TaskScore
    blockers: Sequence[Blocker]


def score_task(formula: TaskFormula, tally: TaskTally, settings: Settings) -> ScoredTask:
    """The task score of one model, recomputable from the metric values beside it (C-02)."""
    blockers = _blockers(formula, tally, settings)
    breached = frozenset(blocker.metric for blocker in blockers)
    active = frozenset(gate.slug for gate in formula.gates)
    metrics = {
        slug: _metric_score(slug, formula.specs[slug], tally, breached, active)
        for slug in formula.slugs
    }
    values = {slug: metric.value for slug, metric in metrics.items()}
    ungated = task_score(formula.score, values) if tally.evaluated else None
    undecided = _undecided(formula, tally)
    status = _status(tally, settings, ungated, blocked=bool(blockers), undecided=bool(undecided))
    reasons = [blocker.metric for blocker in blockers]
    if status == "incomplete" and undecided:
        reasons = undecided
    if status == "incomplete" and ungated is None:
        reasons = [
            slug for slug in formula.slugs if slug in formula.weighted and values[slug] is None
        ]
    approximate = any(metrics[slug].approximate for slug in formula.weighted)
    score = TaskScore(
        status=status,
        score=ungated if status == "valid" else None,
        ungated_score=ungated,
        reasons=reasons,
        n=tally.evaluated,
        cases=tally.cases,
        official=status == "valid" and not approximate,
        coverage=tally.evaluated / tally.cases if tally.cases else None,
        blocked_calls=len(tally.blocked),
        subscores=_subscores(formula, metrics, values),
        metrics=metrics,
    )
    return ScoredTask(score, blockers)


def _status(
    tally: TaskTally, settings: Settings, ungated: float | None, *, blocked: bool, undecided: bool
) -> Status:
    """What the task is: a proven breach outranks what could not be run (C-01, C-124)."""
    if blocked:
        return "invalid"
    if not tally.evaluated:
        return "error" if tally.errors else "not_run"
    covered = holds(1 - tally.errors / tally.cases, ">=", settings.coverage_required)
    if ungated is None or tally.not_run or not covered or undecided or _has_failures(tally):
        return "incomplete"
    return "valid"


def _undecided(formula: TaskFormula, tally: TaskTally) -> list[str]:
    """Gates that rest on estimates: those neither trigger nor clear them (C-125)."""
    return [
        gate.slug
        for gate in formula.gates
        if gate.judged
        and (metric := tally.metrics.get(gate.slug)) is not None
        and metric.approximate
    ]


def _has_failures(tally: TaskTally) -> bool:
    return any(metric.failed for metric in tally.metrics.values())


def _blockers(formula: TaskFormula, tally: TaskTally, settings: Settings) -> list[Blocker]:
    if not tally.evaluated:
        return []
    share = len(tally.call_blocked) / tally.evaluated
    over_tolerance = holds(share, ">", settings.call_gate_tolerance)
    found = []
    for gate in formula.gates:
        slug, rule = gate.slug, gate.rule
        metric, cases = tally.metrics[slug], tally.breaches.get(slug, [])
        if rule.kind == "call":
            if cases and over_tolerance:
                worst = _worst(metric, rule)
                runs = _share_of_runs(slug, tally)
                found.append(Blocker(formula.task, slug, worst, rule.limit, cases, runs))
        elif not (metric.approximate and gate.judged):
            value = _gate_value(metric, pooled=formula.specs[slug].pooled)
            if value is not None and rule.breached(value):
                found.append(Blocker(formula.task, slug, value, rule.limit, cases))
    return found


def _share_of_runs(slug: str, tally: TaskTally) -> float | None:
    """runs in breach of a call gate / runs, where calls were run more than once        C-07"""
    return tally.breaching_runs[slug] / tally.calls if tally.most_runs > 1 else None


def _worst(metric: MetricTally, gate: Gate) -> float:
    return metric.highest if gate.comparison == ">" else metric.lowest


def _gate_value(metric: MetricTally, *, pooled: bool) -> float | None:
    """The value that a rate gate looks at: calls already blocked are left out (C-03).

    While answers await their verdict the rate is not known, so no breach of it is proven.
    """
    if metric.waiting:
        return None
    if pooled:
        if not metric.gate_denominator:
            return None
        return 100 * metric.gate_numerator / metric.gate_denominator
    return metric.gate_total / metric.gate_n if metric.gate_n else None


def _metric_score(
    slug: str,
    spec: MetricSpec,
    task: TaskTally,
    breached: frozenset[str],
    active: frozenset[str],
) -> MetricScore:
    tally = task.metrics.get(slug) or MetricTally()
    value, why = _value(spec, tally, task)
    gate = spec.gate or (load().metrics[spec.complement_of].gate if spec.complement_of else None)
    is_rate = gate is not None and gate.kind == "rate"
    judged = tally.highest if spec.unit == "count" and tally.n else value
    rating = _rating(spec, judged)
    owner = spec.complement_of or slug
    if rating is Rating.BLOCKER and owner in active and owner not in breached:
        rating = Rating.FAIL  # the band says blocker, the gate that decides does not (C-03)
    if owner in breached:
        rating = Rating.BLOCKER
    return MetricScore(
        value=value,
        why=why,
        unit=spec.unit,
        rating=rating.value if rating else None,
        meets_threshold=_meets(spec, value),
        micro=_micro(spec, tally),
        n=tally.n,
        ci95=_interval(spec, tally),
        approximate=tally.approximate > 0,
        vacuous=tally.n > 0 and tally.vacuous >= tally.n,
        gate_value=_gate_value(tally, pooled=spec.pooled)
        if is_rate and value is not None
        else None,
        max_per_call=_whole(tally.highest) if spec.unit == "count" and tally.n else None,
        bands=_bands(slug, tally, task) if spec.unit == "count" else None,
        severity=_severity(spec, value, rating),
        secondary=_secondary(slug, spec, task),
        resolution=100 / tally.denominator if spec.pooled and tally.denominator else None,
        failed=tally.failed,
        facts=round(tally.denominator) if spec.counts_facts and value is not None else None,
    )


def _interval(spec: MetricSpec, tally: MetricTally) -> tuple[float, float] | None:
    """100 × Clopper–Pearson of what is pooled; nothing else has an interval        C-36"""
    if not spec.pooled or tally.waiting:
        return None
    found = clopper_pearson(round(tally.numerator), round(tally.denominator))
    return (100 * found.low, 100 * found.high) if found is not None else None


def _value(
    spec: MetricSpec, tally: MetricTally, task: TaskTally
) -> tuple[float | None, str | None]:
    """The value of a metric over all cases, or why there is none."""
    if tally.waiting:
        return (
            None,
            f"not_run: {tally.waiting} of {task.calls} answers {WAITING_FOR[spec.needs]}",
        )
    if not tally.n:
        return None, _why_none(tally, task)
    if spec.unit == "count":
        return _whole(tally.total), None
    if spec.pooled:
        return 100 * tally.numerator / tally.denominator, None
    return tally.total / tally.n, None


def _whole(count: float) -> float:
    """A count as a whole number; the mean of several runs may not be one."""
    return int(count) if count.is_integer() else count


def _why_none(tally: MetricTally, task: TaskTally) -> str:
    if tally.failed:
        return f"failed: {tally.failed} of {task.calls} answers could not be judged"
    if not task.evaluated:
        return "not_run: no answer was evaluated"
    if tally.absent:
        return "not_run: the reference declares this part absent"
    return "undefined: no case has what this metric needs"


def _micro(spec: MetricSpec, tally: MetricTally) -> float | None:
    """Σ numerators / Σ denominators        C-06"""
    if spec.unit == "count" or tally.waiting or not tally.denominator:
        return None
    share = tally.numerator / tally.denominator
    return 100 * share if spec.unit == "percent" else share


def _rating(spec: MetricSpec, value: float | None) -> Rating | None:
    if value is None:
        return None
    return rate(value, spec.bands, spec.otherwise_of_means or spec.otherwise)


def _meets(spec: MetricSpec, value: float | None) -> bool | None:
    if value is None or spec.threshold is None:
        return None
    return holds(value, spec.threshold.comparison, spec.threshold.limit)


def _bands(slug: str, tally: MetricTally, task: TaskTally) -> Mapping[str, int]:
    """How many calls stand in each band of a count (C-06)."""
    blocked = len(task.breaches.get(slug, ()))
    return {
        "good": tally.n - tally.positive,
        "warning": tally.positive - blocked,
        "blocker": blocked,
    }


def _severity(spec: MetricSpec, value: float | None, rating: Rating | None) -> str | None:
    if value is None or rating is not Rating.BLOCKER:
        return None
    for severity in spec.severities:
        if holds(value, severity.comparison, severity.limit):
            return severity.name
    return None


def _secondary(slug: str, spec: MetricSpec, task: TaskTally) -> Mapping[str, float | None] | None:
    """Figures reported beside a metric: pooled percentages, plain sums of counts."""
    found: dict[str, float | None] = {}
    for name, unit in spec.secondary.items():
        tally = task.metrics.get(f"{slug}/{name}") or MetricTally()
        if unit == "count":
            found[name] = _whole(tally.total)
        else:
            found[name] = 100 * tally.numerator / tally.denominator if tally.n else None
    return found or None


def _subscores(
    formula: TaskFormula, metrics: Mapping[str, MetricScore], values: Values
) -> Mapping[str, SubScore]:
    """Sentiment, Summary, Emotion: over the cases that have them (C-127)."""
    found = {}
    for name, part in formula.score.parts.items():
        n = max(metrics[slug].n for slug in part.weights)
        score = part_score(part, values)
        waiting = any((metrics[slug].why or "").startswith("not_run") for slug in part.weights)
        status: Status = (
            "valid" if score is not None else "incomplete" if n or waiting else "not_run"
        )
        found[name] = SubScore(status, score, n)
    return found
