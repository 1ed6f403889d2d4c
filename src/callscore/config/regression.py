"""The gate `no_regression`: at most a margin worse than the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from callscore.config.baseline import Baseline, BaselineModel
from callscore.config.file import GateEntry
from callscore.core.checks import CheckResult
from callscore.core.scorecard import Scorecard
from callscore.core.signature import changes_between
from callscore.core.spec import TOLERANCE
from callscore.stats.bca import bca_interval
from callscore.stats.rates import upper_limit
from callscore.stats.resampling import RESAMPLES, SEED, Replicates, resample_weights
from callscore.suites import registry

LEVEL = 0.90
"""Level of the two-sided interval whose lower limit is one-sided 95 %."""
LOWER_IS_BETTER = ("percent", "count")
"""Units of error rates and error counts."""


class Now(NamedTuple):
    """The value of a model in this run."""

    model: str
    value: float | None
    blocked: str = ""
    """The gates that the model breached, if that is why there is no value."""
    left_out: str = ""
    """What the value lacks, such as cases or verdicts."""


class BaselineRuns(NamedTuple):
    """The baselines of an eval file by their name in it, and this run call by call."""

    baselines: Mapping[str, Baseline] = {}
    per_call: Callable[[], Mapping[str, BaselineModel]] = dict


NO_BASELINE = BaselineRuns()


def is_better_low(card: Scorecard, of: str) -> bool:
    """Whether less is better: costs, blockers, error rates and error counts."""
    task = of.partition(".")[0]
    units = {
        model.tasks[task].metrics[of].unit
        for model in card.models
        if task in model.tasks and of in model.tasks[task].metrics
    }
    return of in ("cost", "blockers") or bool(units & set(LOWER_IS_BETTER))


def regression_check(card: Scorecard, gate: GateEntry, now: Now, runs: BaselineRuns) -> CheckResult:
    """Whether a value is at most the margin worse than that of the baseline."""
    name = f"{gate.of} (no regression)"
    why = _why_missed(card, gate, now, runs)
    if isinstance(why, _Undecided):
        return CheckResult(now.model, name, "undecided", why.text)
    missed, text = why
    if not missed and now.left_out:
        return CheckResult(now.model, name, "undecided", now.left_out)
    return CheckResult(now.model, name, "failed" if missed else "passed", text)


def _address(of: str) -> str:
    """The place of a value in a baseline; a number of document 001 has that of its row."""
    return registry.scenario_suite().headlines.get(of, of) if "." in of else of


class _Undecided(NamedTuple):
    text: str


def _why_missed(
    card: Scorecard, gate: GateEntry, now: Now, runs: BaselineRuns
) -> tuple[bool, str] | _Undecided:
    rule = gate.no_regression
    assert rule is not None  # checked by the caller
    baseline = runs.baselines.get(rule.baseline)
    if baseline is None:
        return _Undecided(f"has no baseline yet: `callscore baseline set` writes {rule.baseline}")
    baseline_model = _baseline_model(baseline, rule.against, now.model)
    if isinstance(baseline_model, str):
        return _Undecided(baseline_model)
    if changed := changes_between(baseline.signature, card.signature):
        parts = "; ".join(map(str, changed))
        return _Undecided(f"cannot be compared with the baseline, which has another {parts}")
    before = baseline_model.values.get(_address(gate.of))
    if before is None:
        return _Undecided("has no value in the baseline")
    if now.value is None:
        return (True, f"is invalid ({now.blocked})") if now.blocked else _Undecided("has no value")
    sign = -1.0 if is_better_low(card, gate.of) else 1.0
    text = f"is {now.value:.4g}, was {before:.4g}, may lose {rule.margin:g}"
    if sign * (before - now.value) > rule.margin + TOLERANCE:
        return True, text
    return _surely(gate, now.model, baseline_model, runs, text) if gate.sure else (False, text)


def _surely(
    gate: GateEntry, model: str, baseline_model: BaselineModel, runs: BaselineRuns, text: str
) -> tuple[bool, str] | _Undecided:
    """Whether the lower limit of the paired difference, one-sided 95 %, is above −margin."""
    assert gate.no_regression is not None
    current, of = runs.per_call().get(model), _address(gate.of)
    pairs = paired_differences(baseline_model, current, of) if current is not None else []
    if len(pairs) < 2:
        return _Undecided(f"has no calls in common with the baseline to be sure about {gate.of}")
    low = lower_limit(pairs)
    shown = (
        f"{text}; on {len(pairs)} common calls it surely loses no more than {max(0.0, -low):.4g}"
    )
    return low < -gate.no_regression.margin - TOLERANCE, shown


def paired_differences(before: BaselineModel, now: BaselineModel, of: str) -> list[float]:
    """now − before on the calls that both have"""
    if of not in before.per_call or of not in now.per_call:
        return []
    old, new = (
        {
            call: value
            for call, value in zip(side.calls, side.per_call[of], strict=True)
            if value is not None
        }
        for side in (before, now)
    )
    return [new[call] - old[call] for call in old if call in new]


def lower_limit(differences: list[float]) -> float:
    """The lower limit of the 90 % BCa interval of the mean: one-sided 95 %        STATS §2

    If all calls differ by the same amount, minus what unseen calls could change.
    """
    import numpy as np

    values = np.array(differences)
    n, total = len(values), math.fsum(differences)
    resampled = np.concatenate(
        [values @ weights / n for weights in resample_weights(n, SEED, RESAMPLES)]
    )
    found = bca_interval(Replicates(total / n, resampled, (total - values) / (n - 1)), level=LEVEL)
    if found is None or found.method == "all_equal":
        return total / n - upper_limit(0, n)
    return found.low


def _baseline_model(baseline: Baseline, against: str | None, model: str) -> BaselineModel | str:
    """The model of a baseline to compare with, or why there is none."""
    models = baseline.models
    if against is not None:
        return models.get(against, f"has no baseline: {against!r} is not among its models")
    if model in models:
        return models[model]
    if len(models) == 1:
        return next(iter(models.values()))
    return "has no baseline of this name; name the one to compare with (`against`)"
