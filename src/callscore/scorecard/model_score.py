"""Model level: one column of the scorecard, from the tally of one task (C-02, C-03, C-06).

While some calls are undecided, a score is between their worst and their best case (C-137), and the
rows stay without a value. If the setting `coverage.required` is below 1, enough calls are decided,
and both ends have the same ratings and gates, the worst case is the score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.scorecard import Blocker, MetricScore, Status, SubScore, TaskScore
from callscore.core.spec import Gate, ScoreSettings, holds
from callscore.scorecard.formula import (
    STRUCTURE,
    TaskFormula,
    Values,
    formula_value,
    part_score,
    task_score,
)
from callscore.scorecard.metric_score import gate_value, metric_row
from callscore.scorecard.metric_tally import MetricTally
from callscore.scorecard.tally import TaskTally
from callscore.stats.intervals import clopper_pearson


class ScoredTask(msgspec.Struct, frozen=True):
    """A task score, and the gates that the model breached."""

    score: TaskScore
    blockers: Sequence[Blocker]


def score_task(formula: TaskFormula, tally: TaskTally, settings: ScoreSettings) -> ScoredTask:
    """The task score of one model, recomputable from its rows (C-02, C-03)."""
    blockers = _blockers(formula, tally, settings)
    gating = [blocker.metric for blocker in blockers if blocker.gating]
    breached = frozenset(gating)
    metrics = {slug: metric_row(slug, formula, tally, breached) for slug in formula.slugs}
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
        zeroed_score=_zeroed_score(rows_score, tally) if status == "invalid" else None,
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
        flags=dict(sorted(tally.flags.items())),
        undecided_gates=_undecided_gates(formula, tally, metrics, gating),
        subscores=_subscores(formula, metrics, values),
        metrics=metrics,
    )
    return ScoredTask(score, blockers)


def _multiply(rows_score: float | None, share: float | None) -> float | None:
    """formula(rows) × a share of the calls        C-03"""
    return None if rows_score is None or share is None else rows_score * share


def _zeroed_score(rows_score: float | None, tally: TaskTally) -> float | None:
    """formula(rows) × the share of calls that breach no gate on their own; 0 if all do    C-129"""
    passed = tally.evaluated - len(tally.blocked)
    return _multiply(rows_score, passed / tally.evaluated) if passed else 0.0


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
    """Clopper–Pearson of the calls that count 0 / calls; none for a single call        C-129"""
    zeros = tally.blocked if status == "invalid" else tally.call_blocked
    if (not zeros and status != "invalid") or tally.evaluated < 2:
        return None
    interval = clopper_pearson(len(zeros), tally.evaluated)
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
            value = gate_value(formula.specs[slug], metric)
            if value is not None and rule.is_breached(value):
                blockers.append(Blocker(formula.task, slug, value, rule.limit, cases, None, gating))
    return blockers


def _share_of_runs(slug: str, tally: TaskTally) -> float | None:
    """runs in breach of a call gate / runs, if calls were run more than once        C-07"""
    return tally.breaching_runs[slug] / tally.calls if tally.most_runs > 1 else None


def _worst_value(metric: MetricTally, gate: Gate) -> float:
    return metric.highest if gate.comparison == ">" else metric.lowest


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


Range = tuple[float, float]


def score_open_task(formula: TaskFormula, tally: TaskTally, settings: ScoreSettings) -> ScoredTask:
    """The task score of one model, with the range of what is undecided        C-137"""
    scored = score_task(formula, tally, settings)
    if tally.open_cases is None:
        return scored
    worst, best = (
        score_task(formula, _complete(tally, side), settings)
        for side in (tally.open_cases.worst, tally.open_cases.best)
    )
    is_bounded = _is_bounded(scored, (worst, best), tally, settings)
    shown = worst if is_bounded else scored
    ranges = _row_ranges(worst.score, best.score)
    metrics = {
        slug: msgspec.structs.replace(
            metric,
            provisional=scored.score.metrics[slug].provisional,
            provisional_range=ranges.get(slug),
            bounded=is_bounded,
            open_calls=tally.metrics[slug].undecided,
        )
        if slug in tally.metrics and tally.metrics[slug].undecided
        else metric
        for slug, metric in shown.score.metrics.items()
    }
    task = msgspec.structs.replace(
        shown.score, metrics=metrics, bounded=is_bounded, open_calls=tally.open_cases.cases
    )
    if task.score is None and task.status == "incomplete":
        task = _with_task_range(formula, task, worst.score, best.score)
    return ScoredTask(task, shown.blockers)


def _complete(tally: TaskTally, side: TaskTally) -> TaskTally:
    """The tally as if the undecided calls had the verdicts of one side."""
    metrics = {
        slug: _join(metric, side.metrics.get(slug)) for slug, metric in tally.metrics.items()
    }
    breaches = {
        slug: list(dict.fromkeys([*tally.breaches.get(slug, ()), *side.breaches.get(slug, ())]))
        for slug in {**tally.breaches, **side.breaches}
    }
    runs = {slug: len(cases) for slug, cases in breaches.items()}
    return msgspec.structs.replace(
        tally,
        metrics=metrics,
        breaches=breaches,
        blocked=tally.blocked | side.blocked,
        call_blocked=tally.call_blocked | side.call_blocked,
        blocked_keys=tally.blocked_keys | side.blocked_keys,
        breaching_runs={**runs, **tally.breaching_runs},
        open_cases=None,
    )


def _join(metric: MetricTally, side: MetricTally | None) -> MetricTally:
    """The sum of decided and undecided calls; unchanged if a call stays open."""
    if side is None or side.undecided or side.n < metric.undecided:
        return metric
    decided = msgspec.structs.replace(
        metric, waiting=0, failed=0, awaiting=0, open_numerator=0, open_denominator=0
    )
    return decided + side


def _is_bounded(
    scored: ScoredTask,
    ends: tuple[ScoredTask, ScoredTask],
    tally: TaskTally,
    settings: ScoreSettings,
) -> bool:
    """Whether both ends say the same, and enough calls are decided for a score."""
    required, found = settings.coverage_required, tally.open_cases
    if found is None or not required < 1 or scored.score.status != "incomplete":
        return False
    if ends[0].score.status not in ("valid", "invalid"):
        return False
    decided = (tally.evaluated - found.cases) / tally.cases
    return holds(decided, ">=", required) and _outcome(ends[0]) == _outcome(ends[1])


def _outcome(end: ScoredTask) -> object:
    """What must not depend on the undecided calls: status, ratings and gates."""
    ratings = [(slug, metric.rating) for slug, metric in end.score.metrics.items()]
    return end.score.status, ratings, end.score.reasons


def _row_ranges(worst: TaskScore, best: TaskScore) -> Mapping[str, Range]:
    """By row, the lowest and the highest value that the undecided calls allow."""
    found = {}
    for slug, metric in worst.metrics.items():
        ends = (metric.value, best.metrics[slug].value)
        if ends[0] is not None and ends[1] is not None:
            found[slug] = (min(ends[0], ends[1]), max(ends[0], ends[1]))
    return found


def _with_task_range(
    formula: TaskFormula, task: TaskScore, worst: TaskScore, best: TaskScore
) -> TaskScore:
    """The score over decided calls, and its worst and best case."""
    values = {
        slug: metric.provisional if metric.value is None else metric.value
        for slug, metric in task.metrics.items()
    }
    rows = task_score(formula.score, values)
    ends = [_score_at(end) for end in (worst, best)]
    if rows is None or task.unblocked_share is None or None in ends:
        return task
    known = [end for end in ends if end is not None]
    return msgspec.structs.replace(
        task,
        provisional=rows * task.unblocked_share,
        provisional_range=(min(known), max(known)),
    )


def _score_at(end: TaskScore) -> float | None:
    """The score at one end; 0 if a gate would be breached there."""
    if end.status == "invalid":
        return 0.0
    return end.score
