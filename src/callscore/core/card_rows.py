"""The column of one model as flat rows, for tables and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from callscore.core.scorecard import ModelScore

Documents = Mapping[str, Any] | msgspec.UnsetType
"""By model, the result of its scenarios as document 001; unset without scenarios."""


def rows_of(model: ModelScore) -> Iterator[dict[str, Any]]:
    """One flat dict per value of a model; all have the same keys."""
    for name, task in model.tasks.items():
        of_task = {"n": task.n, "status": task.status, "why": "; ".join(task.reasons) or None}
        yield _row(model, name, "score", value=task.score, ci95=task.ci95, **of_task)
        for part, sub in task.subscores.items():
            own = {"value": sub.score, "ci95": sub.ci95, "n": sub.n, "status": sub.status}
            yield _row(model, name, part, **own)
        for slug, metric in task.metrics.items():
            own = {key: getattr(metric, key) for key in _OF_A_METRIC}
            yield _row(model, name, slug, **own)
    bench = model.benchmarks
    for slug, criterion in bench.criteria.items():
        own = {key: getattr(criterion, key) for key in _OF_A_CRITERION}
        yield _row(model, "benchmarks", slug, **own)
    yield _row(
        model, "benchmarks", "score", value=bench.score, ci95=bench.ci95, status=bench.status
    )
    final, cost = model.final, model.cost
    yield _row(model, "final", "score", value=final.score, ci95=final.ci95, status=final.status)
    of_cost = {"value": cost.per_1000_calls, "ci95": cost.ci95, "unit": cost.currency}
    yield _row(model, "cost", "per_1000_calls", **of_cost)


_OF_A_METRIC = ("value", "ci95", "unit", "rating", "meets_threshold", "n", "approximate", "why")
_OF_A_CRITERION = ("value", "ci95", "unit", "n", "approximate", "why")
_COLUMNS = ("value", "unit", "rating", "meets_threshold", "n", "status", "approximate", "why")


def _row(model: ModelScore, task: str, metric: str, **own: Any) -> dict[str, Any]:
    """A row with all columns; those that do not apply are None."""
    low, high = own.get("ci95") or (None, None)
    return {
        "model": model.model,
        "task": task,
        "metric": metric,
        "low": low,
        "high": high,
        **{column: own.get(column) for column in _COLUMNS},
    }


def document_of(documents: Documents, model: str | None) -> dict[str, Any]:
    """The document of a model, by default of the only one; raises KeyError if there is none."""
    found = {} if isinstance(documents, msgspec.UnsetType) else documents
    if model is None and len(found) == 1:
        model = next(iter(found))
    if model is None or model not in found:
        known = ", ".join(found) or "none, as no scenarios were scored"
        raise KeyError(f"no document of model {model!r}; expected one of: {known}")
    document: dict[str, Any] = found[model]
    return document
