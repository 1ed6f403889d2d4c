"""Several models on the same scenarios, side by side in one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from callscore.metrics.rounding import half_up
from callscore.report.columns import columns
from callscore.report.numbers import show_money

Json = Mapping[str, Any]
_KEYS = ("Average", "Plan", "FC", "Call Rejection Classification Accuracy")
HEADINGS = ("model", "Average", "Plan", "FC", "call/reject", "progress", "tokens", "cost")


def side_by_side(documents: Mapping[str, Json]) -> list[str]:
    """One row a model, in order of Average; nothing if there are no two to compare."""
    if len(documents) < 2:
        return []
    rows = sorted(documents.items(), key=lambda entry: (-_average(entry[1]), entry[0]))
    reading = next(iter(documents.values()))["x_extension"]["mode"]
    return [
        "",
        f"Models side by side, {reading} reading",
        *columns(HEADINGS, [_row(model, document) for model, document in rows]),
    ]


def _average(document: Json) -> float:
    found = _headline(document)["Average"]
    return -1.0 if found is None else found


def _headline(document: Json) -> Json:
    mean: Json | None = document.get("mean")
    return mean if mean is not None else document["overall_statistics"]["key_metrics"]


def _results(document: Json) -> Sequence[Json]:
    """The results of every language."""
    return list(document["languages"].values()) if "languages" in document else [document]


def _row(model: str, document: Json) -> list[str]:
    numbers = _headline(document)
    extensions = [result["x_extension"] for result in _results(document)]
    rates = [extension.get("runs", {}).get("progress_rate") for extension in extensions]
    used = [extension.get("usage") for extension in extensions]
    return [model, *(_score(numbers[key]) for key in _KEYS), _mean(rates), *_usage(used)]


def _score(value: float | None) -> str:
    return "n/a" if value is None else half_up(value, 4)


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return _score(fmean(known) if len(known) == len(values) else None)


def _usage(used: Sequence[Json | None]) -> tuple[str, str]:
    known = [usage for usage in used if usage is not None]
    if len(known) < len(used):
        return "unknown", "unknown"
    tokens = [usage[key] for usage in known for key in ("input_tokens", "output_tokens")]
    costs = [usage["cost_usd"] for usage in known]
    return (
        "unknown" if None in tokens else f"{sum(tokens):,}",
        "unknown" if None in costs else show_money(math.fsum(costs)),
    )
