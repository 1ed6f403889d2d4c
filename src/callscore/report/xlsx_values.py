"""The values in a workbook: numbers of template rows, blocked calls, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from callscore.core.scorecard import ModelScore, Scorecard
from callscore.core.template import TemplateRow
from callscore.report.figures import figure_of
from callscore.report.source import ReportSource

Setting = tuple[str, float | int | str | bool | None]


def row_value(model: ModelScore, row: TemplateRow) -> tuple[float, str] | None:
    """Return the official value of a row and its unit; None if there is none."""
    if row.kind == "metric":
        task = model.tasks.get(row.key.partition(".")[0])
        metric = task.metrics.get(row.key) if task is not None else None
        return None if metric is None or metric.value is None else (metric.value, metric.unit)
    if row.kind == "figure":
        found = figure_of(model, row)
        return None if found is None or found.value is None else (found.value, row.unit)
    if row.kind == "subscore":
        name, _, part = row.key.partition("/")
        subscore = model.tasks[name].subscores.get(part) if name in model.tasks else None
        return _fraction(subscore.score if subscore is not None else None)
    if row.kind == "task":
        return _fraction(model.tasks[row.key].score if row.key in model.tasks else None)
    if row.kind == "cost":
        cost = model.cost.per_1000_calls
        return None if cost is None else (cost, "usd")
    if row.kind in ("final_a", "final_b"):
        return _fraction(model.final.a if row.kind == "final_a" else model.final.b)
    return None


def _fraction(value: float | None) -> tuple[float, str] | None:
    return None if value is None else (value, "fraction")


def blocked_calls(card: Scorecard) -> Iterator[tuple[str, str, str, float, float, bool, str]]:
    """Yield model, task, metric, value, limit, whether it gates, and case of every blocked call."""
    for model in card.models:
        for blocker in model.blockers:
            for case_id in blocker.cases or ("",):
                yield (
                    model.model,
                    blocker.task,
                    blocker.metric,
                    blocker.value,
                    blocker.limit,
                    blocker.gating,
                    case_id,
                )


def setting_rows(source: ReportSource) -> Iterator[Setting]:
    """Yield what is needed to repeat the scores: signature, run, files, models, settings."""
    card, provenance = source.card, source.provenance
    yield "title", source.title
    yield "framework", card.framework
    yield "signature", card.signature
    yield "contains estimates", card.estimate
    for note in (*card.notes, *source.absent):
        yield "note", note
    yield from _flatten("run", msgspec.to_builtins(provenance.run))
    for file in provenance.files:
        yield f"{file.role} {file.name}", f"sha256:{file.sha256} ({file.bytes} bytes)"
    for spec in provenance.models:
        yield from _flatten(f"model {spec.name}", msgspec.to_builtins(spec))
    for spec in provenance.judge:
        yield from _flatten(f"judge {spec.name}", msgspec.to_builtins(spec))
    yield from _flatten("judging", msgspec.to_builtins(card.judging))
    for name in ("weights", "workload", "cost_per_1000", "settings", "versions"):
        yield from _flatten(name, msgspec.to_builtins(getattr(provenance, name)))


def _flatten(name: str, value: object) -> Iterator[Setting]:
    """Yield `name.key` and value of nested mappings; empty values are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(f"{name}.{key}", inner)
    elif isinstance(value, list | tuple):
        if value:
            yield name, msgspec.json.encode(value).decode()
    elif isinstance(value, str | int | float):
        yield name, value
