"""One row of a model: value, rating, threshold and counts of a metric (C-06, C-11, C-16).

The row of a task with strata, such as languages, is the mean of the strata (C-120).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import plain_share
from callscore.core.scorecard import MetricScore
from callscore.core.spec import MetricSpec, Rating, holds, rate
from callscore.scorecard.formula import TaskFormula, formula_value
from callscore.scorecard.metric_tally import MetricTally, Padding, to_count
from callscore.scorecard.tally import TaskTally
from callscore.stats.intervals import clopper_pearson


def merge_strata(strata: Mapping[str, TaskTally]) -> TaskTally:
    """The tally of all strata, with rows that are means of the strata; a single one is returned."""
    tallies = list(strata.values())
    total = tallies[0]
    for tally in tallies[1:]:
        total = total + tally
    if len(tallies) > 1:
        total.strata = strata
        if total.contributions is not None:
            total.contributions = whole = total.contributions.whole()
            whole.strata = {
                name: tally.contributions.whole()
                for name, tally in strata.items()
                if tally.contributions is not None
            }
    return total


def mean_of_strata(spec: MetricSpec, found: Sequence[MetricScore]) -> MetricScore:
    """Σ values / strata; none if a stratum has none        C-120"""
    values = [value for each in found if (value := formula_value(spec, each)) is not None]
    n = sum(each.n for each in found)
    if len(values) < len(found) or not n:
        without = next((each for each in found if formula_value(spec, each) is None), found[0])
        return msgspec.structs.replace(without, value=None, macro=None, micro=None, n=n)
    mean = math.fsum(values) / len(values)
    return msgspec.structs.replace(
        found[0],
        value=mean,
        why=None,
        macro=mean,
        micro=None,
        n=n,
        approximate=any(each.approximate for each in found),
    )


AWAITED = {
    "judge": "await a verdict",
    "embedder": "await a similarity",
    "code": "could not be measured",
}


def gate_value(spec: MetricSpec, tally: MetricTally) -> float | None:
    """The value that a rate gate tests: that of the row; None if it decides nothing      C-03

    It decides nothing while replies await verdicts, if it is an estimate, or if there was nothing
    to count.
    """
    if tally.undecided or tally.estimated or not (tally.denominator or tally.numerator):
        return None
    return _pooled_share(spec, tally)


def metric_row(
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
    is_rated = value is not None
    if owner in breached and is_rated:
        rating = Rating.BLOCKER
    elif tally.estimated or tally.unrated:
        is_rated = False  # no band and no tick rests on an estimate (C-68, C-125)
    shows_resolution = spec.shows_resolution and value is not None
    padding = None
    if spec.limits_padding and value is not None:
        padding = _padding_of(spec, tally, value)
    macro, micro = _macro_and_micro(spec, tally)
    return MetricScore(
        value=value,
        why=why,
        unit=spec.unit,
        rating=rating.value if rating and is_rated else None,
        meets_threshold=_meets_threshold(spec, value, rating) if is_rated else None,
        macro=macro,
        micro=micro,
        n=tally.n - tally.vacuous if spec.pooled and tally.n > tally.vacuous else tally.n,
        ci95=_interval(tally) if shows_resolution else None,
        approximate=tally.approximate > 0,
        vacuous=value is not None and tally.vacuous >= tally.n,
        gate_value=gate_value(spec, tally) if is_rate else None,
        max_per_call=to_count(tally.highest) if spec.unit == "count" and tally.n else None,
        bands=_bands(slug, tally, task) if spec.unit == "count" else None,
        severity=_severity(spec, value) if is_rated and rating is Rating.BLOCKER else None,
        secondary=_secondary(slug, spec, task) if spec.secondary else None,
        resolution=100 / tally.denominator if shows_resolution else None,
        provisional=_provisional_value(spec, tally) if tally.undecided else None,
        failed=tally.failed,
        awaiting=tally.awaiting,
        facts=round(tally.denominator) if spec.counts_facts and value is not None else None,
        plain=None if padding is None else padding.plain,
        claims_left_out=None if padding is None else padding.left_out,
        decides=spec.decides,
    )


def _padding_of(spec: MetricSpec, tally: MetricTally, value: float) -> Padding:
    """The value over all claims, and how many are left out of the official one        C-136"""
    left_out, counts = tally.left_out, (tally.numerator, tally.denominator)
    plain = plain_share(*counts, left_out, spec.unit) if left_out else value
    return Padding(plain, to_count(left_out))


def _interval(tally: MetricTally) -> tuple[float, float] | None:
    """100 × Clopper–Pearson of the pooled counts; none for a single call        C-36"""
    if tally.n < 2:
        return None
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
        return 1.0 if tally.total == tally.n else 0.0
    return 100 * share if spec.unit == "percent" else max(0.0, share)


def _provisional_value(spec: MetricSpec, tally: MetricTally) -> float | None:
    """The value over decided items, as some are undecided        C-75, C-137"""
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


def _macro_and_micro(spec: MetricSpec, tally: MetricTally) -> tuple[float | None, float | None]:
    """mean over calls; Σ numerators / Σ denominators        C-06"""
    if spec.unit == "count" or tally.undecided:
        return None, None
    macro = tally.total / tally.n if tally.n else None
    if not tally.denominator:
        return macro, None
    share = tally.numerator / tally.denominator
    return macro, 100 * share if spec.unit == "percent" else share


def _rating(spec: MetricSpec, value: float | None) -> Rating | None:
    if value is None:
        return None
    return rate(value, spec.bands, spec.otherwise_of_means or spec.otherwise)


def _meets_threshold(spec: MetricSpec, value: float | None, rating: Rating | None) -> bool | None:
    """Whether the printed threshold is met, and the rating is neither Fail nor Blocker      C-16"""
    if value is None or spec.threshold is None:
        return None
    if rating in (Rating.FAIL, Rating.BLOCKER):
        return False
    return holds(value, spec.threshold.comparison, spec.threshold.limit)


def _bands(slug: str, tally: MetricTally, task: TaskTally) -> Mapping[str, int]:
    """How many calls fall into each band of a count (C-06)."""
    blocked = len(task.breaches.get(slug, ()))
    return {
        "good": tally.n - tally.positive,
        "warning": tally.positive - blocked,
        "blocker": blocked,
    }


def _severity(spec: MetricSpec, value: float | None) -> str | None:
    """How bad a blocking value is."""
    if value is None:
        return None
    for severity in spec.severities:
        if holds(value, severity.comparison, severity.limit):
            return severity.name
    return None


def _secondary(slug: str, spec: MetricSpec, task: TaskTally) -> Mapping[str, float | None]:
    """Secondary figures of a metric: pooled percentages, plain sums of counts."""
    figures: dict[str, float | None] = {}
    for name, unit in spec.secondary.items():
        tally = task.metrics.get(f"{slug}/{name}") or MetricTally()
        if unit == "count":
            figures[name] = to_count(tally.total)
        else:
            figures[name] = 100 * tally.numerator / tally.denominator if tally.n else None
    return figures
