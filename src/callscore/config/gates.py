"""Gates of a run: conditions for exit code 0 (1 if one fails, 3 if one is undecided)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callscore.config.baseline import (
    NO_BASELINE,
    BaselineRuns,
    Now,
    describe_calls_needed,
    gated_unit,
    regression_check,
)
from callscore.config.file import GateEntry
from callscore.core.errors import GateFailed, Inconclusive
from callscore.core.measure import ClaimLimits
from callscore.core.scorecard import (
    CheckResult,
    Cost,
    FinalScore,
    MetricScore,
    ModelScore,
    Scorecard,
    TaskScore,
)
from callscore.core.spec import TOLERANCE
from callscore.core.task import SCENARIO
from callscore.stats.power import more_calls_for_claim
from callscore.suites import registry

FINAL = "final"
COST = "cost"
"""Dollars per 1000 calls."""
LATENCIES = {
    f"latency.{of}_{share}": f"{of}_{share}"
    for of in ("step", "scenario")
    for share in ("p50", "p95")
}
"""By the name of a gate, the field of a latency in milliseconds (C-141)."""
BLOCKERS = "blockers"
"""The number of official blockers."""


def known_gates() -> tuple[str, ...]:
    """Everything that a gate may check."""
    specs = [suite.spec for suite in registry.all_suites()]
    tasks = [task for spec in specs for task in spec.tasks]
    metrics = [slug for spec in specs for slug in spec.metrics]
    headlines = registry.scenario_suite().headlines
    return (FINAL, COST, BLOCKERS, *tasks, *metrics, *headlines, *LATENCIES)


def is_of_scenarios(gate: GateEntry) -> bool:
    """Whether a gate checks a score that only scenarios have."""
    is_row = gate.of.partition(".")[0] == SCENARIO
    return is_row or gate.of in LATENCIES or _is_headline(gate.of)


def is_of_calls(gate: GateEntry) -> bool:
    """Whether a gate checks a score that only calls have."""
    return gate.of not in (FINAL, COST, BLOCKERS) and not is_of_scenarios(gate)


def _is_headline(of: str) -> bool:
    """Whether this is a number of document 001, which is a part of a task score on the card."""
    return of in registry.scenario_suite().headlines


def entry_problem(gate: GateEntry) -> str:
    """What is wrong with an entry, independent of what it checks."""
    limits = [limit for limit in (gate.at_least, gate.at_most) if limit is not None]
    rule = gate.no_regression
    if not limits and rule is None:
        return "expected at_least, at_most or no_regression"
    if limits and rule is not None:
        return "expected either limits or no_regression; write two entries"
    if not all(map(math.isfinite, limits)):
        return "expected a finite limit"
    if rule is not None and not 0 <= rule.margin < math.inf:
        return f"no_regression.margin {rule.margin}; expected a number of at least 0"
    if rule is not None and gate.of == BLOCKERS:
        return f"no_regression cannot be put on {gate.of}; expected final, cost, a task or a metric"
    if gate.of in LATENCIES and (rule is not None or gate.sure):
        return f"{gate.of} has no interval; expected at_most without sure"
    if gate.sure and gate.of == BLOCKERS:
        return "blockers are counted, so `sure` has no meaning for them"
    return ""


class SureLimits(NamedTuple):
    """The limits of a value, each one-sided at 95 %, and the calls behind them        STATS §2"""

    low: float
    high: float
    calls: int
    value_range: tuple[float, float] | None = (0.0, 1.0)
    """The lowest and highest value that a call can have; None if there is no such value."""


class _Found(NamedTuple):
    """The values of a model that gates check."""

    model: str
    value: float | None
    blocked: str = ""
    """The gates that the model breached, if that is why there is no value (C-01)."""
    left_out: str = ""
    """What the value lacks, such as cases or verdicts; empty if nothing."""
    is_lower_bound: bool = False
    limits: SureLimits | None = None
    """The limits of the value."""


def gate_checks(
    card: Scorecard | None,
    gates: Sequence[GateEntry],
    coverage: float = 1.0,
    baselines: BaselineRuns = NO_BASELINE,
) -> list[CheckResult]:
    """Check every gate for each of its models.

    A blocked score fails every gate on it; a metric over too few cases (`coverage` is the share
    that must have been evaluated), or without answers that no judge decided, can miss a gate but
    not pass it.
    """
    checks: list[CheckResult] = []
    models = card.models if card is not None else ()
    for gate in gates:
        if gate.of in LATENCIES:
            found_of_all = _of_latency(models, gate.of)
        elif _is_headline(gate.of):
            found_of_all = _of_scenarios(models, gate.of)
        else:
            found_of_all = _of_calls(models, gate.of, coverage)
        mine = [found for found in found_of_all if gate.model in (None, found.model)]
        if gate.no_regression is not None and card is not None:
            checks += [regression_check(card, gate, _now(found), baselines) for found in mine]
        else:
            unit = "call" if card is None else gated_unit(card, gate.of)
            checks += [_check(found, gate, unit) for found in mine]
    return checks


def raise_unless_passed(checks: Sequence[CheckResult]) -> None:
    """Raise GateFailed if a check failed, Inconclusive if none failed but one is undecided."""
    for status, error, head in (
        ("failed", GateFailed, "gate failed"),
        ("undecided", Inconclusive, "gates undecided"),
    ):
        found = [f"{c.model}: {c.name} {c.message}" for c in checks if c.status == status]
        if found:
            raise error(f"{head}: " + "; ".join(found))


def _now(found: _Found) -> Now:
    return Now(found.model, found.value, found.blocked, found.left_out)


def _check(found: _Found, gate: GateEntry, unit: str) -> CheckResult:
    if why := _why_missed(found, gate):
        return CheckResult(found.model, gate.of, "failed", why)
    if why := _why_undecided(found, gate, unit):
        return CheckResult(found.model, gate.of, "undecided", why)
    assert found.value is not None  # without a value it is undecided
    return CheckResult(found.model, gate.of, "passed", f"is {found.value:.4g}, {_expected(gate)}")


def _why_missed(found: _Found, gate: GateEntry) -> str:
    if found.value is None:
        return f"is invalid ({found.blocked}), {_expected(gate)}" if found.blocked else ""
    is_low = not _passes(found.value, gate) and not found.is_lower_bound
    is_missed = is_low or not _fails(found.value, gate)
    return f"is {_show(found.value, gate)}, {_expected(gate)}" if is_missed else ""


def _why_undecided(found: _Found, gate: GateEntry, unit: str) -> str:
    """Why a gate that does not fail does not pass either."""
    if found.value is None:
        return "has no value"
    least = found.limits.low if gate.sure and found.limits is not None else found.value
    if found.is_lower_bound and (gate.at_most is not None or not _passes(least, gate)):
        shown = _show(least, gate)
        return f"is at least {shown}, the rest is not decided; {_expected(gate)}"
    if gate.sure and found.limits is None:
        return "has no interval, so nothing about it is sure"
    return _why_unsure(found, gate, unit) or found.left_out


def _why_unsure(found: _Found, gate: GateEntry, unit: str) -> str:
    """Why the data do not show that a value meets its gate, and how many calls would  STATS §2"""
    limits = found.limits
    if not gate.sure or found.value is None or limits is None:
        return ""
    if gate.at_least is not None and not _passes(limits.low, gate):
        where, end, at = f"lower limit {_show(limits.low, gate)}", limits.low, gate.at_least
    elif gate.at_most is not None and not _fails(limits.high, gate):
        where, end, at = f"upper limit {_show(limits.high, gate)}", limits.high, gate.at_most
    else:
        return ""
    return (
        f"is {found.value:.4g}, but not surely: {where} (one-sided 95 %), {_expected(gate)}; "
        f"{_needed(found.value, end, at, limits, unit)}"
    )


def _needed(value: float, end: float, at: float, limits: SureLimits, unit: str) -> str:
    """How many calls would show that the value meets its gate."""
    if limits.value_range is None:
        return f"more {unit}s are needed"
    low, high = limits.value_range
    worst, width = (low if end < value else high), high - low
    return describe_calls_needed(
        more_calls_for_claim(
            limits.calls,
            abs(value - end) / width,
            abs(value - at) / width,
            abs(value - worst) / width,
        ),
        limits.calls,
        unit,
    )


def _of_calls(models: Sequence[ModelScore], of: str, coverage: float) -> Iterator[_Found]:
    for model in models:
        yield _Found(
            model.model,
            _value(model, of),
            _blocked(model, of),
            _left_out(model, of, coverage),
            limits=_limits(model, of),
        )


def _of_latency(models: Sequence[ModelScore], of: str) -> Iterator[_Found]:
    """A latency of scenarios; none if no times were measured        C-141"""
    for model in models:
        found = getattr(model.latency, LATENCIES[of], None)
        yield _Found(model.model, found)


def _of_scenarios(models: Sequence[ModelScore], of: str) -> Iterator[_Found]:
    """A headline number of document 001: a task score, or a part of it."""
    task, _, part = registry.scenario_suite().headlines[of].partition("/")
    for model in models:
        score = model.tasks.get(task)
        if score is None:
            continue
        found = score.subscores.get(part)
        value, limits = score.ungated_score, score.ungated_claim95
        if part:  # without a value if no scenario has this part (C-142)
            value, limits = (None, None) if found is None else (found.score, found.claim95)
        rests = f"rests on {score.n} of {score.cases} scenarios"
        yield _Found(
            model.model,
            value,
            left_out="" if _covers(score, _required(task, 1.0)) else rests,
            is_lower_bound=any(score.metrics[slug].approximate for slug in _rows_of(task, part)),
            limits=None if limits is None else SureLimits(*limits, score.calls),
        )


def _required(task: str, share: float) -> float:
    """The share of the cases of a task that must be evaluated: its own, or that of the setting."""
    suite = registry.suite_of(task)
    of_task = suite.spec.scores[task].coverage if suite is not None else None
    return share if of_task is None else of_task


def _rows_of(task: str, part: str) -> Iterator[str]:
    """The metrics in the formula of a task, or of one part of it."""
    suite = registry.suite_of(task)
    assert suite is not None  # a headline is about a task of a suite
    for name, of in suite.spec.scores[task].formula.items():
        if part in ("", name):
            yield from of.weights


def _value(model: ModelScore, of: str) -> float | None:
    if of in (FINAL, COST):
        return model.final.score if of == FINAL else model.cost.per_1000_calls
    if of == BLOCKERS:
        return sum(blocker.gating for blocker in model.blockers)
    if "." not in of:
        score = model.tasks.get(of)
        return score.score if score is not None else None
    found = model.metric(of)
    return found.value if found is not None else None


def _blocked(model: ModelScore, of: str) -> str:
    found = model.final if of == FINAL else model.tasks.get(of)
    return ", ".join(found.reasons) if found is not None and found.status == "invalid" else ""


def _limits(model: ModelScore, of: str) -> SureLimits | None:
    """The claim limits of a value; of a cost or a count, which have no worst value, its interval"""
    metric = model.metric(of)
    if metric is not None:
        return _limits_of_metric(metric)
    if of == COST:
        return _limits_of_cost(model.cost)
    scored = model.final if of == FINAL else model.tasks.get(of.partition(".")[0])
    limits = None if scored is None else _claim(scored)
    return None if scored is None or limits is None else SureLimits(*limits, scored.calls)


def _claim(scored: MetricScore | TaskScore | FinalScore) -> ClaimLimits | None:
    """The claim limits of a value; as people would judge it, if labels correct it    STATS §5"""
    return scored.claim95 if scored.corrected is None else scored.corrected.claim


def _limits_of_metric(metric: MetricScore) -> SureLimits | None:
    if metric.unit == "count":
        return None if metric.ci95 is None else SureLimits(*metric.ci95, metric.n, None)
    value_range = (0.0, 100.0) if metric.unit == "percent" else (0.0, 1.0)
    calls = metric.n if metric.claim is None else metric.claim.n
    limits = _claim(metric)
    return None if limits is None else SureLimits(*limits, calls, value_range)


def _limits_of_cost(cost: Cost) -> SureLimits | None:
    price = cost.per_1000_calls
    if cost.status in ("given", "zero") and price is not None:
        return SureLimits(price, price, 0, None)
    return None if cost.ci95 is None else SureLimits(*cost.ci95, 0, None)


def _left_out(model: ModelScore, of: str, share: float) -> str:
    if of == BLOCKERS:
        undecided = [slug for task in model.tasks.values() for slug in task.undecided_gates]
        return f"has {', '.join(undecided)} undecided" if undecided else ""
    if of == FINAL:
        weighed = [model.tasks[name] for name in model.final.weights if name in model.tasks]
        undecided = [slug for task in weighed for slug in task.undecided_gates]
        return f"rests on estimates, {_undecided(undecided)}" if undecided else ""
    name = of.partition(".")[0]
    task = model.tasks.get(name)
    if task is None:
        return ""
    if not _covers(task, _required(name, share)):
        return f"rests on {task.n} of {task.cases} cases"
    if of in model.tasks and task.undecided_gates:
        return f"rests on estimates, {_undecided(task.undecided_gates)}"
    metric = task.metrics.get(of)
    if metric is not None and of in task.undecided_gates:
        return "is an estimate of what only a judge can tell"
    return ""


def _undecided(gates: Sequence[str]) -> str:
    return f"which decide nothing about {', '.join(gates)}"


def _covers(task: TaskScore, share: float) -> bool:
    return task.coverage is not None and task.coverage >= share - TOLERANCE


def _passes(value: float, gate: GateEntry) -> bool:
    return gate.at_least is None or value >= gate.at_least - TOLERANCE


def _fails(value: float, gate: GateEntry) -> bool:
    return gate.at_most is None or value <= gate.at_most + TOLERANCE


def _show(value: float, gate: GateEntry) -> str:
    """With four digits, or more if needed to show that the value misses its gate."""
    shown = [f"{value:.{digits}g}" for digits in range(4, 18)]
    seen = (s for s in shown if not (_passes(float(s), gate) and _fails(float(s), gate)))
    return next(seen, shown[0])


def _expected(gate: GateEntry) -> str:
    parts = []
    if gate.at_least is not None:
        parts.append(f"at least {gate.at_least:g}")
    if gate.at_most is not None:
        parts.append(f"at most {gate.at_most:g}")
    return "expected " + " and ".join(parts)
