"""Model level: one column of the scorecard, from the tally of one task (C-02, C-03, C-06)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import plain_share
from callscore.core.scorecard import Blocker, MetricScore, Status, SubScore, TaskScore
from callscore.core.spec import Gate, MetricSpec, Rating, ScoreSettings, holds, rate
from callscore.scorecard.formula import (
    STRUCTURE,
    TaskFormula,
    Values,
    formula_value,
    part_score,
    task_score,
)
from callscore.scorecard.metric_tally import MetricTally, Padding, to_count
from callscore.scorecard.strata import mean_of_strata
from callscore.scorecard.tally import TaskTally
from callscore.stats.intervals import clopper_pearson

AWAITED = {
    "judge": "await a verdict",
    "embedder": "await a similarity",
    "code": "could not be measured",
}


class ScoredTask(msgspec.Struct, frozen=True):
    """A task score, and the gates that the model breached."""

    score: TaskScore
    blockers: Sequence[Blocker]


def score_task(formula: TaskFormula, tally: TaskTally, settings: ScoreSettings) -> ScoredTask:
    """The task score of one model, recomputable from its rows (C-02, C-03)."""
    blockers = _blockers(formula, tally, settings)
    gating = [blocker.metric for blocker in blockers if blocker.gating]
    breached = frozenset(gating)
    metrics = {slug: _row(slug, formula, tally, breached) for slug in formula.slugs}
    values = {slug: formula_value(formula.specs[slug], metric) for slug, metric in metrics.items()}
    rows_score = task_score(formula.score, values) if tally.evaluated else None
    required = formula.score.coverage or settings.coverage_required
    status = _status(tally, required, rows_score, blocked=bool(gating))
    approximate = any(metrics[slug].approximate for slug in formula.weighted)
    unblocked = _unblocked_share(tally)
    score = TaskScore(
        status=status,
        score=_multiply(rows_score, unblocked) if status == "valid" else None,
        ungated_score=_multiply(rows_score, _readable_share(formula.task, tally)),
        zeroed_score=_zeroed_score(rows_score, unblocked) if status == "invalid" else None,
        unblocked_share=unblocked,
        blocked_share_ci95=_blocked_interval(tally, status),
        reasons=gating or _open_rows(formula, values, status),
        n=tally.evaluated,
        cases=tally.cases,
        official=status == "valid" and not approximate,
        coverage=tally.evaluated / tally.cases if tally.cases else None,
        blocked_calls=len(tally.blocked),
        answers=tally.calls,
        malformed=tally.malformed,
        undecided_gates=_undecided_gates(formula, tally, metrics, gating),
        subscores=_subscores(formula, metrics, values),
        metrics=metrics,
    )
    return ScoredTask(score, blockers)


def _multiply(rows_score: float | None, share: float | None) -> float | None:
    """formula(rows) × a share of the calls        C-03"""
    return None if rows_score is None or share is None else rows_score * share


def _zeroed_score(rows_score: float | None, unblocked: float | None) -> float | None:
    """formula(rows) × the share of calls that no call gate blocks; 0 if none is left      C-129"""
    return 0.0 if unblocked == 0 else _multiply(rows_score, unblocked)


def _unblocked_share(tally: TaskTally) -> float | None:
    """1 − calls in breach of a call gate / calls        C-03"""
    if not tally.evaluated:
        return None
    return (tally.evaluated - len(tally.call_blocked)) / tally.evaluated


def _readable_share(task: str, tally: TaskTally) -> float:
    """The value of the Structure row, which includes every call        C-03"""
    structure = tally.metrics.get(task + STRUCTURE)
    return structure.total / structure.n if structure is not None and structure.n else 1.0


def _blocked_interval(tally: TaskTally, status: Status) -> tuple[float, float] | None:
    """Clopper–Pearson of calls in breach of a call gate / calls        C-129"""
    if not tally.call_blocked and status != "invalid":
        return None
    interval = clopper_pearson(len(tally.call_blocked), tally.evaluated)
    return (interval.low, interval.high) if interval is not None else None


def _status(
    tally: TaskTally, required: float, rows_score: float | None, *, blocked: bool
) -> Status:
    """The status of the task: a proven breach outranks what could not be run (C-01, C-124)."""
    if blocked:
        return "invalid"
    if not tally.evaluated:
        return "error" if tally.errors else "not_run"
    covered = all(
        holds(1 - stratum.errors / stratum.cases, ">=", required)
        for stratum in (tally.strata.values() or (tally,))
    )
    if rows_score is None or tally.not_run or not covered or _has_failures(tally):
        return "incomplete"
    return "valid"


def _open_rows(formula: TaskFormula, values: Values, status: Status) -> list[str]:
    """The rows that an incomplete task score lacks."""
    if status != "incomplete":
        return []
    return [slug for slug in formula.scored if values[slug] is None]


def _undecided_gates(
    formula: TaskFormula,
    tally: TaskTally,
    metrics: Mapping[str, MetricScore],
    breached: Sequence[str],
) -> list[str]:
    """The gates whose rows are not judged, or only estimated, and not in breach    C-87, C-125"""
    return [
        gate.slug
        for gate in formula.gates
        if gate.slug not in breached and _is_undecided(gate.slug, tally, metrics)
    ]


def _is_undecided(slug: str, tally: TaskTally, metrics: Mapping[str, MetricScore]) -> bool:
    row = tally.metrics.get(slug)
    if row is None or row.estimated:
        return True
    return metrics[slug].value is None and bool(row.undecided or row.absent)


def _has_failures(tally: TaskTally) -> bool:
    return any(metric.failed for metric in tally.metrics.values())


def _blockers(formula: TaskFormula, tally: TaskTally, settings: ScoreSettings) -> list[Blocker]:
    """The `[!]` rows in breach at model level; disabled gates are marked   C-03, C-87"""
    if not tally.evaluated:
        return []
    share = len(tally.call_blocked) / tally.evaluated
    over_tolerance = holds(share, ">", settings.call_gate_tolerance)
    blockers = []
    for gate in (*formula.gates, *formula.silent_gates):
        slug, rule = gate.slug, gate.rule
        metric, cases = tally.metrics[slug], tally.breaches.get(slug, [])
        gating = gate in formula.gates
        if rule.kind == "call":
            if cases and over_tolerance:
                runs = _share_of_runs(slug, tally)
                worst = _worst_value(metric, rule)
                blockers.append(Blocker(formula.task, slug, worst, rule.limit, cases, runs, gating))
        else:
            value = _gate_value(formula.specs[slug], metric)
            if value is not None and rule.is_breached(value):
                blockers.append(Blocker(formula.task, slug, value, rule.limit, cases, None, gating))
    return blockers


def _share_of_runs(slug: str, tally: TaskTally) -> float | None:
    """runs in breach of a call gate / runs, if calls were run more than once        C-07"""
    return tally.breaching_runs[slug] / tally.calls if tally.most_runs > 1 else None


def _worst_value(metric: MetricTally, gate: Gate) -> float:
    return metric.highest if gate.comparison == ">" else metric.lowest


def _gate_value(spec: MetricSpec, tally: MetricTally) -> float | None:
    """The value that a rate gate tests: that of the row; None if it decides nothing      C-03

    It decides nothing while replies await verdicts, if it is an estimate, or if there was nothing
    to count.
    """
    if tally.undecided or tally.estimated or not (tally.denominator or tally.numerator):
        return None
    return _pooled_share(spec, tally)


def _row(
    slug: str, formula: TaskFormula, tally: TaskTally, breached: frozenset[str]
) -> MetricScore:
    """One row over all cases; with strata, the mean of their rows."""
    if not tally.strata:
        return _metric_score(slug, formula, tally, breached)
    rows = [_metric_score(slug, formula, stratum, breached) for stratum in tally.strata.values()]
    return mean_of_strata(formula.specs[slug], rows)


def _metric_score(
    slug: str, formula: TaskFormula, task: TaskTally, breached: frozenset[str]
) -> MetricScore:
    spec = formula.specs[slug]
    tally = task.metrics.get(slug) or MetricTally()
    value, why = _value(spec, tally, task)
    owner = spec.complement_of or slug
    gate = formula.specs[owner].gate
    is_rate = gate is not None and gate.kind == "rate"
    rating = _rating(spec, tally.highest if spec.unit == "count" and tally.n else value)
    is_active = any(active.slug == owner for active in formula.gates)
    if rating is Rating.BLOCKER and is_active and owner not in breached:
        rating = Rating.FAIL  # the band says blocker, the gate that decides does not (C-03)
    if owner in breached and value is not None:
        rating = Rating.BLOCKER
    shows_resolution = spec.shows_resolution and value is not None
    padding = _padding_of(spec, tally, value)
    return MetricScore(
        value=value,
        why=why,
        unit=spec.unit,
        rating=rating.value if rating and value is not None else None,
        meets_threshold=_meets_threshold(spec, value),
        macro=_macro(spec, tally),
        micro=_micro(spec, tally),
        n=tally.n - tally.vacuous if spec.pooled and tally.n > tally.vacuous else tally.n,
        ci95=_interval(tally) if shows_resolution else None,
        approximate=tally.approximate > 0,
        vacuous=value is not None and tally.vacuous >= tally.n,
        gate_value=_gate_value(spec, tally) if is_rate else None,
        max_per_call=to_count(tally.highest) if spec.unit == "count" and tally.n else None,
        bands=_bands(slug, tally, task) if spec.unit == "count" else None,
        severity=_severity(spec, value, rating),
        secondary=_secondary(slug, spec, task),
        resolution=100 / tally.denominator if shows_resolution else None,
        provisional=_provisional_value(spec, tally),
        failed=tally.failed,
        awaiting=tally.awaiting,
        facts=round(tally.denominator) if spec.counts_facts and value is not None else None,
        plain=None if padding is None else padding.plain,
        claims_left_out=None if padding is None else padding.left_out,
    )


def _padding_of(spec: MetricSpec, tally: MetricTally, value: float | None) -> Padding | None:
    """The value over all claims, and how many are left out of the official one        C-136"""
    if not spec.limits_padding or value is None:
        return None
    left_out, counts = tally.left_out, (tally.numerator, tally.denominator)
    plain = plain_share(*counts, left_out, spec.unit) if left_out else value
    return Padding(plain, to_count(left_out))


def _interval(tally: MetricTally) -> tuple[float, float] | None:
    """100 × Clopper–Pearson of the pooled counts        C-36"""
    interval = clopper_pearson(round(tally.numerator), round(tally.denominator))
    return (100 * interval.low, 100 * interval.high) if interval is not None else None


def _value(
    spec: MetricSpec, tally: MetricTally, task: TaskTally
) -> tuple[float | None, str | None]:
    """The value of a metric over all calls, or why there is none; some calls are not enough."""
    if tally.undecided or not tally.n:
        return None, _why_no_value(spec, tally, task)
    return _value_over_calls(spec, tally), None


def _value_over_calls(spec: MetricSpec, tally: MetricTally) -> float:
    """The value over the calls that have one: total of a count, pooled share, or mean      C-06"""
    if spec.unit == "count":
        return to_count(tally.total)
    return _pooled_share(spec, tally) if spec.pooled else tally.total / tally.n


def _pooled_share(spec: MetricSpec, tally: MetricTally) -> float:
    """Σ numerators / Σ denominators, in percent if the metric is        C-06

    If no call has anything to count, all have a conventional value (C-13); only additions to a
    translation without facts have a numerator and no denominator (C-75).
    """
    if tally.denominator:
        share = tally.numerator / tally.denominator
    elif tally.numerator:
        share = tally.numerator if spec.unit == "percent" else 0.0
    else:
        return tally.total / tally.n if tally.total in (0.0, tally.n) else 0.0
    return 100 * share if spec.unit == "percent" else max(0.0, share)


def _provisional_value(spec: MetricSpec, tally: MetricTally) -> float | None:
    """The value over decided items, if some are undecided        C-75, C-137"""
    if not tally.undecided:
        return None
    decided = msgspec.structs.replace(
        tally,
        numerator=tally.numerator + tally.open_numerator,
        denominator=tally.denominator + tally.open_denominator,
    )
    if not tally.n and not decided.denominator:
        return None
    return _value_over_calls(spec, decided)


def _why_no_value(spec: MetricSpec, tally: MetricTally, task: TaskTally) -> str:
    """Why a row has no value, and how much of it is decided        C-137"""
    decided = f"{tally.n} of {tally.n + tally.undecided} calls decided"
    if tally.failed:
        return f"failed: {decided}; {tally.failed} could not be judged"
    if tally.awaiting:
        facts = round(tally.denominator + tally.open_denominator) + tally.awaiting
        awaits = "awaits" if tally.awaiting == 1 else "await"
        return f"not_run: {tally.awaiting} of {facts} facts {awaits} a verdict; {decided}"
    if tally.waiting:
        return f"not_run: {decided}; {tally.waiting} {AWAITED[spec.needs]}"
    if not task.evaluated:
        return "not_run: no answer was evaluated"
    if tally.absent and (tally.absent == task.evaluated or not spec.zero_if_undefined):
        return "not_run: the reference declares this part absent"
    return "undefined: no case has what this metric needs"


def _macro(spec: MetricSpec, tally: MetricTally) -> float | None:
    """mean over calls        C-06"""
    if spec.unit == "count" or tally.undecided or not tally.n:
        return None
    return tally.total / tally.n


def _micro(spec: MetricSpec, tally: MetricTally) -> float | None:
    """Σ numerators / Σ denominators        C-06"""
    if spec.unit == "count" or tally.undecided or not tally.denominator:
        return None
    share = tally.numerator / tally.denominator
    return 100 * share if spec.unit == "percent" else share


def _rating(spec: MetricSpec, value: float | None) -> Rating | None:
    if value is None:
        return None
    return rate(value, spec.bands, spec.otherwise_of_means or spec.otherwise)


def _meets_threshold(spec: MetricSpec, value: float | None) -> bool | None:
    if value is None or spec.threshold is None:
        return None
    return holds(value, spec.threshold.comparison, spec.threshold.limit)


def _bands(slug: str, tally: MetricTally, task: TaskTally) -> Mapping[str, int]:
    """How many calls fall into each band of a count (C-06)."""
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
    """Secondary figures of a metric: pooled percentages, plain sums of counts."""
    figures: dict[str, float | None] = {}
    for name, unit in spec.secondary.items():
        tally = task.metrics.get(f"{slug}/{name}") or MetricTally()
        if unit == "count":
            figures[name] = to_count(tally.total)
        else:
            figures[name] = 100 * tally.numerator / tally.denominator if tally.n else None
    return figures or None


def _subscores(
    formula: TaskFormula, metrics: Mapping[str, MetricScore], values: Values
) -> Mapping[str, SubScore]:
    """The sub-scores of a task, each over the cases that have this part (C-127)."""
    subscores = {}
    for name, part in formula.score.parts.items():
        calls = [metrics[slug].n for slug in part.weights]
        score = part_score(part, values)
        waiting = any((metrics[slug].why or "").startswith("not_run") for slug in part.weights)
        status: Status = (
            "valid" if score is not None else "incomplete" if any(calls) or waiting else "not_run"
        )
        subscores[name] = SubScore(status, score, max(calls) if score is not None else min(calls))
    return subscores
