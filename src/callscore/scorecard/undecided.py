"""Task scores while some calls are undecided: between their worst and their best case   C-137

The rows stay without a value. If the setting `coverage.required` is below 1, enough calls are
decided, and both ends have the same ratings and gates, the worst case is the score.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callscore.core.scorecard import TaskScore
from callscore.core.spec import ScoreSettings, holds
from callscore.scorecard.formula import TaskFormula, task_score
from callscore.scorecard.metric_tally import MetricTally
from callscore.scorecard.model_score import ScoredTask, score_task
from callscore.scorecard.tally import TaskTally

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
