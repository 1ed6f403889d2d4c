"""Baselines: the values of a run in a small file to commit, and the gate `no_regression`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.config.file import GateEntry
from callscore.core.errors import ConfigError
from callscore.core.scorecard import CheckResult, ModelScore, Scorecard
from callscore.core.signature import changes_between
from callscore.core.spec import TOLERANCE
from callscore.core.task import SCENARIO
from callscore.report.decision_statements import sampled_unit
from callscore.report.numbers import show_count
from callscore.stats.claim_limits import mean_limits
from callscore.stats.intervals import Interval
from callscore.stats.power import more_calls_for_claim
from callscore.store.files import open_for_reading
from callscore.suites import registry

DEFAULT_FILE = "callscore-baseline.json"
FORMAT = 1
DIGITS = 7
"""Digits of the contributions of single calls, used for the interval of a difference only."""


class BaselineModel(msgspec.Struct, frozen=True):
    """One model of a baseline."""

    values: Mapping[str, float]
    """By `final`, task, metric, `task/part` or `cost`, if it has a value."""
    calls: Sequence[str] = ()
    """Keys of the calls, in the order of `per_call`: hashes that reveal nothing."""
    per_call: Mapping[str, Sequence[float | None]] = {}
    """None for a call that a score is not about."""


class Baseline(msgspec.Struct, frozen=True):
    """The values of a run that later runs are compared with."""

    callscore_baseline: int
    framework: str
    signature: str
    models: Mapping[str, BaselineModel]


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file; raises ConfigError if it is not one."""
    if not path.exists():
        raise ConfigError(f"{path}: no such baseline; `callscore baseline set RUN` writes one")
    with open_for_reading(path) as file:
        raw = file.read()
    try:
        found = msgspec.json.decode(raw, type=Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a baseline of Callscore: {error}") from None
    if found.callscore_baseline != FORMAT:
        raise ConfigError(
            f"{path}: baseline of format {found.callscore_baseline}; expected {FORMAT}: "
            "set it again with this version"
        )
    for name, model in found.models.items():
        if any(len(values) != len(model.calls) for values in model.per_call.values()):
            raise ConfigError(f"{path}: model {name!r}: expected one number per call in per_call")
    return found


def baseline_of(
    card: Scorecard, models: Sequence[str], per_call: Mapping[str, BaselineModel]
) -> Baseline:
    """A baseline from the scores of some models on a card."""
    return Baseline(
        callscore_baseline=FORMAT,
        framework=card.framework,
        signature=card.signature,
        models={
            model.model: BaselineModel(
                values=values_of(model),
                calls=per_call[model.model].calls if model.model in per_call else (),
                per_call=per_call[model.model].per_call if model.model in per_call else {},
            )
            for model in card.models
            if model.model in models
        },
    )


def values_of(model: ModelScore) -> dict[str, float]:
    """Every value that a gate can check, by name."""
    found: dict[str, Any] = {"final": model.final.score, "cost": model.cost.per_1000_calls}
    for name, task in model.tasks.items():
        found[name] = task.score
        found |= {slug: metric.value for slug, metric in task.metrics.items()}
        found |= {f"{name}/{part}": of.score for part, of in task.subscores.items()}
    return {name: value for name, value in found.items() if value is not None}


def baseline_json(baseline: Baseline) -> bytes:
    """The file: one line per list of numbers, for small diffs."""
    models = []
    for name, model in baseline.models.items():
        parts = [f'   "values": {_json(model.values)}', f'   "calls": {_json(model.calls)}']
        per_call = {
            of: [None if v is None else float(f"{v:.{DIGITS}g}") for v in values]
            for of, values in model.per_call.items()
        }
        lines = [f"    {_json(of)}: {_json(values)}" for of, values in per_call.items()]
        parts.append('   "per_call": {\n' + ",\n".join(lines) + "\n   }" if lines else "")
        models.append(f"  {_json(name)}: {{\n" + ",\n".join(filter(None, parts)) + "\n  }")
    head = "".join(
        f" {_json(key)}: {_json(getattr(baseline, key))},\n"
        for key in ("callscore_baseline", "framework", "signature")
    )
    text = "{\n" + head + ' "models": {\n' + ",\n".join(models) + "\n }\n}\n"
    return text.encode()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


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
    if not gate.sure:
        return False, text
    return _surely(gate, now.model, baseline_model, runs, text, gated_unit(card, gate.of))


def _surely(
    gate: GateEntry,
    model: str,
    baseline_model: BaselineModel,
    runs: BaselineRuns,
    text: str,
    unit: str,
) -> tuple[bool, str] | _Undecided:
    """Whether the claim limits of the paired difference are above or below −margin    STATS §2

    Between them it is undecided: equal answers never fail.
    """
    assert gate.no_regression is not None
    current, of = runs.per_call().get(model), _address(gate.of)
    pairs = paired_differences(baseline_model, current, of) if current is not None else {}
    limits = limits_of_difference(pairs)
    if limits is None:
        return _Undecided(f"has no {unit}s in common with the baseline to be sure about {gate.of}")
    margin, n = gate.no_regression.margin, len(pairs)
    shown = f"{text}; on {show_count(n, f'common {unit}')}"
    if limits.high < -margin - TOLERANCE:
        return True, f"{shown} it surely loses more than {-limits.high:.4g}"
    loss = f"it surely loses no more than {max(0.0, -limits.low):.4g} (one-sided 95 %)"
    if limits.low >= -margin - TOLERANCE:
        return False, f"{shown} {loss}"
    value = math.fsum(pairs.values()) / n
    needed = more_calls_for_claim(n, value - limits.low, value + margin, value + 1)
    return _Undecided(f"{shown} {loss}; {describe_calls_needed(needed, n, unit)}")


def describe_calls_needed(needed: int | None, calls: int, unit: str) -> str:
    """Return `about 149 calls like these 50 would show it`        STATS §2"""
    if needed is None:
        return f"no number of {unit}s is promised: it may be no better than its limit"
    return f"about {needed:,} {unit}s like these {calls:,} would show it"


def gated_unit(card: Scorecard, of: str) -> str:
    """What a gated value is a mean over: calls, or scenarios."""
    is_of_scenarios = _address(of).partition(".")[0] == SCENARIO
    return "scenario" if is_of_scenarios else sampled_unit(card)


def paired_differences(before: BaselineModel, now: BaselineModel, of: str) -> dict[str, float]:
    """now − before by call, on the calls that both have"""
    if of not in before.per_call or of not in now.per_call:
        return {}
    old, new = (
        {
            call: value
            for call, value in zip(side.calls, side.per_call[of], strict=True)
            if value is not None
        }
        for side in (before, now)
    )
    return {call: new[call] - old[call] for call in old if call in new}


def limits_of_difference(differences: Mapping[str, float]) -> Interval | None:
    """The claim limits of the mean difference, each one-sided at 95 %        STATS §2

    The imaginary call differs by −1 or +1, or by as much as the call that differs most.
    """
    import numpy as np

    if not differences:
        return None
    values = np.array(list(differences.values()))
    keys = np.array([int(call, 16) for call in differences], np.uint64)
    value_range = min(-1.0, float(values.min())), max(1.0, float(values.max()))
    return mean_limits(values, keys, value_range)


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
