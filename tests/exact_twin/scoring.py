"""Score an answer, and combine the results of a model into a column of the scorecard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from exact_twin.exact import MALFORMED, TOLERANCE, Exact, Json, Values, Words, share
from exact_twin.framework import (
    COUNTS,
    GATES,
    PERCENT_TWINS,
    POOLED,
    RATINGS,
    SUBSCORES,
    WEIGHTS,
    slugs_of,
)
from exact_twin.qa_and_entity import entity, qa
from exact_twin.structure import complies, read
from exact_twin.text import text
from exact_twin.translation import translation

MEASURES: Mapping[str, Callable[[Json, Json, Words], Values]] = {
    "qa": qa,
    "entity": entity,
    "text": text,
    "translation": translation,
}


class Settings(NamedTuple):
    """The settings that the twin supports."""

    tolerance: Fraction = Fraction(0)
    all_gates: bool = True


class Result(NamedTuple):
    """The score of one answer."""

    values: Values
    status: str
    score: Fraction | None
    ungated: Fraction | None
    reasons: list[str]
    call_breaches: list[str]


def case_result(case: Json, raw: Any, words: Words, settings: Settings) -> Result:
    """Apply the formulas and all gates to one call (C-02)."""
    task = case["task"]
    answer = read(raw)
    if complies(case, answer):
        values = MEASURES[task](case, answer, words)
        values[f"{task}.structure"] = share(1, 1)
    else:
        values = _malformed(case)
    breached = [
        slug
        for slug in slugs_of(task)
        if slug in GATES
        and (settings.all_gates or GATES[slug].in_formula)
        and (value := values[slug].value) is not None
        and not values[slug].is_vacuous
        and GATES[slug].is_breached(value)
    ]
    ungated = weighted(WEIGHTS[task], {slug: exact.value for slug, exact in values.items()})
    if breached:
        of_call = [slug for slug in breached if GATES[slug].is_per_call]
        return Result(values, "invalid", None, ungated, breached, of_call)
    if ungated is None:
        missing = [slug for slug in WEIGHTS[task] if values[slug].value is None]
        return Result(values, "incomplete", None, None, missing, [])
    return Result(values, "valid", ungated, ungated, [], [])


def _malformed(case: Json) -> Values:
    """Structure 0 and no other value; parts that the case leaves out stay absent."""
    task = case["task"]
    blank = MEASURES[task](case, case["expected_outcome"], {})
    values = {slug: MALFORMED if exact.why != "absent" else exact for slug, exact in blank.items()}
    return values | {f"{task}.structure": share(0, 1)}


def weighted(
    weights: Mapping[str, Fraction], values: Mapping[str, Fraction | None]
) -> Fraction | None:
    """Σ weight × value; None if a value with a weight is missing."""
    total = Fraction(0)
    for name, weight in weights.items():
        value = values.get(name)
        if weight and value is None:
            return None
        total += weight * (value or 0)
    return total


class Metric(NamedTuple):
    """One metric over all calls."""

    value: Fraction | None
    macro: Fraction | None
    micro: Fraction | None
    gate_value: Fraction | None
    provisional: Fraction | None
    rating: str | None
    meets_threshold: bool | None
    n: int
    is_estimate: bool


class Column(NamedTuple):
    """One task of one model."""

    status: str
    score: Fraction | None
    ungated: Fraction | None
    zeroed: Fraction | None
    unblocked: Fraction | None
    reasons: list[str]
    n: int
    cases: int
    is_official: bool
    blocked: int
    subscores: dict[str, Fraction | None]
    metrics: dict[str, Metric]


class Case(NamedTuple):
    """All runs of one case by one model (none if it was not run), and the number of errors."""

    id: str
    runs: Sequence[Result]
    errors: int


def column(task: str, cases: Sequence[Case], settings: Settings) -> Column:
    """The formula over the rows of all calls, times the share of unblocked calls (C-03)."""
    answered = [case for case in cases if case.runs]
    blocked = [c for c in answered if any(run.call_breaches for run in c.runs)]
    pools = {slug: _pool(slug, answered) for slug in slugs_of(task)}
    over = bool(answered) and _is_over(len(blocked), len(answered), settings.tolerance)
    breached = [
        slug
        for slug in slugs_of(task)
        if slug in GATES and (settings.all_gates or GATES[slug].in_formula)
        if _is_breached(slug, pools[slug], answered, over)
    ]
    metrics = {slug: _metric(slug, pools[slug], breached, settings) for slug in pools}
    values = {slug: metric.value for slug, metric in metrics.items()}
    of_rows = weighted(WEIGHTS[task], values) if answered else None
    errors = sum(bool(case.errors) and not case.runs for case in cases)
    not_run = sum(not case.runs and not case.errors for case in cases)
    is_complete = of_rows is not None and not errors and not not_run
    status = "valid" if is_complete else "incomplete"
    if not answered:
        status = "error" if errors else "not_run"
    reasons = breached
    if breached:
        status = "invalid"
    elif status == "incomplete" and of_rows is None:
        reasons = [slug for slug in WEIGHTS[task] if values[slug] is None]
    is_estimate = any(metrics[slug].is_estimate for slug in WEIGHTS[task])
    parts = SUBSCORES if task == "text" else {}
    unblocked = Fraction(len(answered) - len(blocked), len(answered)) if answered else None
    product = None if of_rows is None or unblocked is None else of_rows * unblocked
    readable = values[f"{task}.structure"]
    breached_calls = sum(any(run.status == "invalid" for run in c.runs) for c in answered)
    passed = len(answered) - breached_calls
    zeroed = Fraction(0) if not passed else of_rows and of_rows * Fraction(passed, len(answered))
    return Column(
        status=status,
        score=product if status == "valid" else None,
        ungated=None if of_rows is None or readable is None else of_rows * readable,
        zeroed=zeroed if status == "invalid" else None,
        unblocked=unblocked,
        reasons=reasons,
        n=len(answered),
        cases=len(cases),
        is_official=status == "valid" and not is_estimate,
        blocked=breached_calls,
        subscores={name: weighted(weights, values) for name, weights in parts.items()},
        metrics=metrics,
    )


def _is_over(part: int, whole: int, tolerance: Fraction) -> bool:
    return Fraction(part, whole) > tolerance + TOLERANCE


class Pool(NamedTuple):
    """The case values of one metric, over the readable calls."""

    decided: list[Exact]
    highest: Fraction
    is_open: bool
    """Whether a call lacks a verdict (C-137)."""
    is_estimate: bool


def _pool(slug: str, cases: Sequence[Case]) -> Pool:
    decided: list[Exact] = []
    seen = [run.values[slug] for case in cases for run in case.runs]
    for case in cases:
        runs = [run.values[slug] for run in case.runs]
        values = [exact for exact in runs if exact.value is not None]
        if not values or any(exact.why == "waiting" for exact in runs):
            continue
        share_of_run = Fraction(1, len(values))
        decided.append(
            Exact(
                share_of_run * sum((run.value or Fraction(0) for run in values), Fraction(0)),
                share_of_run * sum((run.numerator for run in values), Fraction(0)),
                share_of_run * sum((run.denominator for run in values), Fraction(0)),
                is_estimate=any(run.is_estimate for run in values),
            )
        )
    return Pool(
        decided,
        max((exact.value for exact in seen if exact.value is not None), default=Fraction(0)),
        any(exact.why == "waiting" for exact in seen),
        any(exact.is_estimate for exact in decided),
    )


def _mean(values: Sequence[Exact]) -> Fraction | None:
    if not values:
        return None
    return sum((exact.value or Fraction(0) for exact in values), Fraction(0)) / len(values)


def _micro(values: Sequence[Exact]) -> Fraction | None:
    below = sum((exact.denominator for exact in values), Fraction(0))
    return sum((exact.numerator for exact in values), Fraction(0)) / below if below else None


def _combine_calls(slug: str, values: Sequence[Exact]) -> Fraction | None:
    """The total of counts, the pooled share if there is a rate gate, else the mean (C-06)."""
    if not values:
        return None
    if slug in COUNTS:
        return sum((exact.value or Fraction(0) for exact in values), Fraction(0))
    if PERCENT_TWINS.get(slug, slug) not in POOLED:
        return _mean(values)
    counted = [exact for exact in values if not exact.is_vacuous]
    if not counted:
        without_counts = [exact.value for exact in values]
        return without_counts[0] if len(set(without_counts)) == 1 else Fraction(0)
    above = sum((exact.numerator for exact in counted), Fraction(0))
    below = sum((exact.denominator for exact in counted), Fraction(0))
    if _is_percent(slug):
        return 100 * above / (below or 1)
    return max(Fraction(0), above / below) if below else Fraction(0)


def _is_percent(slug: str) -> bool:
    return slug in PERCENT_TWINS or slug == "qa.false_pass_rate"


def _is_breached(slug: str, pool: Pool, cases: Sequence[Case], over_tolerance: bool) -> bool:
    if GATES[slug].is_per_call:
        has_breach = any(slug in run.call_breaches for case in cases for run in case.runs)
        return has_breach and over_tolerance
    value = _gate_value(slug, pool)
    return value is not None and GATES[slug].is_breached(value)


def _gate_value(slug: str, pool: Pool) -> Fraction | None:
    """The value of the row, if something was counted and nothing is open (C-06, C-137)."""
    if pool.is_open or all(exact.is_vacuous for exact in pool.decided):
        return None
    return _combine_calls(slug, pool.decided)


def _metric(slug: str, pool: Pool, breached: Sequence[str], settings: Settings) -> Metric:
    value = None if pool.is_open else _combine_calls(slug, pool.decided)
    has_means = slug not in COUNTS and not pool.is_open
    micro = _micro(pool.decided) if has_means else None
    owner = PERCENT_TWINS.get(slug, slug)
    threshold = RATINGS[slug].threshold
    counted = sum(not exact.is_vacuous for exact in pool.decided)
    rating = _rating(slug, pool.highest if slug in COUNTS else value, value, breached, settings)
    meets = None if value is None or threshold is None else threshold(value)
    return Metric(
        value=value,
        macro=_mean(pool.decided) if has_means else None,
        micro=100 * micro if micro is not None and _is_percent(slug) else micro,
        gate_value=_gate_value(slug, pool) if owner in POOLED else None,
        provisional=_combine_calls(slug, pool.decided) if pool.is_open else None,
        rating=rating,
        meets_threshold=meets and rating not in ("Fail", "Blocker"),
        n=counted if owner in POOLED and counted else len(pool.decided),
        is_estimate=pool.is_estimate,
    )


def _rating(
    slug: str,
    judged: Fraction | None,
    value: Fraction | None,
    breached: Sequence[str],
    settings: Settings,
) -> str | None:
    """The first band from the top; only a breached gate gives Blocker (C-03, C-10 … C-12)."""
    owner = PERCENT_TWINS.get(slug, slug)
    if value is None or judged is None:
        return None
    if owner in breached:
        return "Blocker"
    table = RATINGS[slug]
    rating = next((name for name, holds in table.bands if holds(judged)), table.rest)
    is_active = owner in GATES and (settings.all_gates or GATES[owner].in_formula)
    return "Fail" if rating == "Blocker" and is_active else rating
