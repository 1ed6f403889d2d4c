"""Baselines: the values of a run in a small file to commit, as the reference of later runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.scorecard import ModelScore, Scorecard
from callscore.store.files import open_for_reading

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
