"""The scorecard template of a suite, row by row, for every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from callscore.core.scorecard import FINAL
from callscore.core.spec import Band, MetricSpec, Rating, Spec

RowKind = Literal[
    "section",
    "metric",
    "figure",
    "subscore",
    "task",
    "criterion",
    "benchmarks",
    "final_a",
    "final_b",
    "cost",
    "latency",
    "rank",
    "blocker",
    "corrected",
]
"""`corrected` is below a judged value: the same value corrected by labels of people (STATS §5)."""


class TemplateRow(msgspec.Struct, frozen=True):
    """One row of the scorecard template: its label, and the key of its value."""

    kind: RowKind
    label: str
    key: str
    threshold: str = ""
    is_blocker: bool = False
    bands: tuple[Band, ...] = ()
    """Limits that a rounded value must not appear to meet (C-09)."""
    is_detail: bool = False
    """Shown on request only; not in the template of the framework."""
    remark: str = ""
    """A remark that reports print next to the value."""
    unit: str = ""
    """The unit of a figure; every other value has its own."""
    is_optional: bool = False
    """Left out if no model of a card has a value."""


PLAIN = "plain"
"""The figure with the value of a rate of claims if none were left out (C-136)."""


def template_rows(spec: Spec) -> Sequence[TemplateRow]:
    """003 Scorecard Template: sections, metrics, task scores, benchmarks, the final rows."""
    return tuple(_rows(spec))


def with_final_heading(rows: Sequence[TemplateRow], heading: str) -> Sequence[TemplateRow]:
    """The same rows, those of the Final Score under its heading on a card        C-82"""
    if heading == FINAL:
        return rows
    return tuple(
        msgspec.structs.replace(row, label=row.label.replace(FINAL, heading))
        if row.kind in ("final_a", "final_b")
        else row
        for row in rows
    )


def _figures(metric: MetricSpec) -> Mapping[str, str]:
    """The units of the figures next to a metric, by their names in the JSON   C-35, C-45, C-136"""
    return {**metric.secondary, **({PLAIN: metric.unit} if metric.limits_padding else {})}


def _rows(spec: Spec) -> Iterator[TemplateRow]:
    for task in spec.tasks:
        label = spec.scores[task].label
        section = spec.scores[task].section or f"{label.upper()} TASK METRICS"
        yield TemplateRow("section", section, task)
        for slug in spec.slugs_of(task):
            metric = spec.metrics[slug]
            printed = metric.threshold.printed if metric.threshold else ""
            yield TemplateRow(
                "metric",
                metric.label,
                slug,
                printed,
                is_blocker=metric.gate is not None,
                bands=metric.bands,
                is_detail=not metric.template_row,
                remark=metric.remark,
                is_optional=metric.optional,
            )
            for name, unit in _figures(metric).items():
                words = name.replace("_", " ")
                yield TemplateRow("figure", words, f"{slug}/{name}", is_detail=True, unit=unit)
        for part, of in spec.scores[task].parts.items():
            yield TemplateRow(
                "subscore",
                of.label or f"{part.capitalize()} Score",
                f"{task}/{part}",
                f"{100 * of.weight:.3g} % of {label}",
                is_detail=not of.template_row,
            )
        yield TemplateRow("task", f"{label} Score", task, "0.0 – 1.0")
    if spec.benchmarks.criteria:
        yield from _benchmark_rows(spec)
    yield TemplateRow("section", "FINAL", "final")
    if "a" in spec.final:
        yield TemplateRow("final_a", f"{FINAL} (with benchmarks)", "", "Option A")
        yield TemplateRow("final_b", f"{FINAL} (without benchmarks)", "", "Option B")
    else:
        yield TemplateRow("final_b", FINAL, "", "0.0 – 1.0")
    unit = spec.scores[spec.tasks[0]].unit if spec.tasks else "call"
    yield TemplateRow("cost", f"Cost per 1000 {unit}s", "", "$")
    if any(spec.scores[task].unit == "scenario" for task in spec.tasks):
        for timed in ("step", "scenario"):
            label = f"Latency of a {timed}, p50 / p95"
            yield TemplateRow("latency", label, timed, "ms", is_optional=True)
    yield TemplateRow("rank", "Cost-Adjusted Rank", "", "—")
    yield TemplateRow("blocker", "Any Blocker Triggered?", "", "Yes / No")


def _benchmark_rows(spec: Spec) -> Iterator[TemplateRow]:
    yield TemplateRow("section", "STANDARD BENCHMARKS — OPTIONAL (0 or 1)", "benchmarks")
    for slug, criterion in spec.benchmarks.criteria.items():
        passing = Band(Rating.GOOD, criterion.comparison, criterion.limit)
        yield TemplateRow("criterion", criterion.label, slug, criterion.printed, bands=(passing,))
        if criterion.limits_padding:
            key = f"{slug}/{PLAIN}"
            yield TemplateRow("figure", PLAIN, key, is_detail=True, unit=criterion.unit)
    minimum = spec.benchmarks.recommended_minimum
    yield TemplateRow("benchmarks", "Benchmark Score", "", f">= {minimum:.2f} recommended")
