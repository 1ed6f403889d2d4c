"""What the sentences of a decision rest on: numbers as words, and what keeps a model out   C-138"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from callscore.core.scorecard import FINAL, Blocker, Decide, MetricScore, ModelScore, Scorecard
from callscore.core.signature import parts_of
from callscore.core.spec import MetricSpec, Spec, holds
from callscore.report.cells import show_score_interval
from callscore.report.decision_statements import sampled_unit
from callscore.report.names import marked_name, marked_names, origins_of
from callscore.report.numbers import show, show_count, show_interval, show_money
from callscore.report.safe_text import plain
from callscore.scorecard.decision import (
    FAIL,
    ModelDifference,
    calls_of,
    corrected_breaches,
    difference,
    failing_rows,
    final_floor,
    is_below_floor,
    not_above_floor,
)
from callscore.stats.intervals import binomial_interval


class CardFacts:
    """The numbers of a card as words."""

    def __init__(self, card: Scorecard, spec: Spec, decide: Decide) -> None:
        self.card, self.spec, self.decide = card, spec, decide
        self.unit = sampled_unit(card)
        self.origins = origins_of(card.models)
        names = {model.model for model in card.models}
        self.ranking = [line for line in card.ranking if line.model in names]
        heading = plain(card.final_heading, 80)
        self.heading = "Final" if heading == FINAL else heading

    @property
    def call_gate_tolerance(self) -> float:
        """The share of calls that may breach a call gate; the signature names it if it is set."""
        settings = parts_of(self.card.signature).get("settings", "")
        found = re.search(r"\bcall_gate_tolerance=([0-9]+(?:\.[0-9]+)?)", settings)
        return float(found[1]) if found else 0.0

    def name(self, model: str) -> str:
        """The marked name of a model."""
        return marked_name(model, self.origins)

    def names(self, models: Sequence[str]) -> str:
        """The marked names of several models."""
        return marked_names(models, self.origins)

    def cost(self, model: str) -> float | None:
        """The cost of 1000 calls."""
        return self.card.model(model).cost.per_1000_calls

    def price(self, *models: str, joint: str = " and ") -> str:
        """Return `$1.20 per 1000 calls`, of several models each different price once."""
        costs = [self.cost(model) for model in models]
        known = [show_money(cost) for cost in costs if cost is not None]
        if len(known) < len(costs):
            return "price unknown"
        return f"{joint.join(dict.fromkeys(known))} per 1000 {self.unit}s"

    def score(self, model: str) -> str:
        """Return `0.912 [0.880–0.940]`, corrected if labels correct it        STATS §5"""
        final = self.card.model(model).final
        if final.corrected is None:
            return f"{show(final.score or 0.0)} {show_score_interval(final)}".strip()
        interval = final.corrected.ci95
        limits = "" if interval is None else f" {show_interval(interval)}"
        return f"{show(final.corrected.value)}{limits}"

    def labels(self, model: str) -> str:
        """Return `corrected by 120 labels`; empty if they do not correct the Final."""
        corrected = self.card.model(model).final.corrected
        return "" if corrected is None else f"corrected by {show_count(corrected.labels, 'label')}"

    def above(self, one: str, other: str) -> ModelDifference:
        """How far one model is above another."""
        return difference(self.card, one, other)

    def these_calls(self, model: str) -> str:
        """Return `these 50 calls`."""
        calls = calls_of(self.card.model(model))
        return f"this one {self.unit}" if calls == 1 else f"these {calls:,} {self.unit}s"


NOT_CERTAIN = "not certain: "


def describe_obstacles(
    model: ModelScore, spec: Spec, *, tolerance: float = 0.0, allow_fail: bool = False
) -> str:
    """Return the first obstacle of a model with its numbers, and how many there are besides.

    `tolerance` is the share of calls that may breach a call gate.
    """
    blockers = [_describe_blocker(blocker, model, spec, tolerance) for blocker in model.blockers]
    blockers += [_describe_correction(slug, model, spec) for slug in corrected_breaches(model)]
    failing = [] if allow_fail else failing_rows(model)
    rows = [_describe_row(slug, metric, spec) for slug, metric in failing]
    floor = list(_describe_floor(model, spec))
    first, *_ = [*blockers, *rows, *floor, ""]
    more = []
    if len(blockers) > 1:
        more.append(show_count(len(blockers) - 1, "more blocker"))
    if rows and blockers:
        more.append(f"{show_count(len(rows), 'row')} rated {FAIL}")
    elif len(rows) > 1:
        more.append(f"{show_count(len(rows) - 1, 'more row')} rated {FAIL}")
    if floor and (blockers or rows):
        more.append("below its floor")
    return "; ".join([first, *more])


def _describe_blocker(blocker: Blocker, model: ModelScore, spec: Spec, tolerance: float) -> str:
    """Return `QA, Compliance False Pass Rate: 16.88 % [9.30–27.10], limit 3 %`."""
    metric, task = spec.metrics.get(blocker.metric), model.tasks.get(blocker.task)
    if metric is None or task is None:  # of a package that is not installed
        return f"{blocker.metric}: {blocker.value:.4g}, limit {blocker.limit:g}"
    name = f"{_task(blocker.task, spec)}, {metric.label}"
    if metric.gate is not None and metric.gate.kind == "call":
        share = _share_of_calls(len(blocker.cases), task.n)
        return f"{name}: {share}, {_limit(100 * tolerance, 'percent')}"
    row = task.metrics.get(blocker.metric)
    interval = None if row is None else row.ci95
    is_sure = interval is None or not _includes(interval, blocker.limit, metric)
    shown = f"{show(blocker.value, metric.unit)}{_interval(interval, metric.unit)}"
    text = f"{name}: {shown}, {_limit(blocker.limit, metric.unit)}"
    return text if is_sure else NOT_CERTAIN + text


def _describe_correction(slug: str, model: ModelScore, spec: Spec) -> str:
    """Return a row that keeps its gate as judged, and breaches it as people judge    STATS §5"""
    task, rule = slug.partition(".")[0], spec.metrics.get(slug)
    metric = next(of.metrics[slug] for of in model.tasks.values() if slug in of.metrics)
    fixed = metric.corrected
    assert fixed is not None  # only such rows are corrected
    name = f"{_task(task, spec)}, {slug if rule is None else rule.label}"
    limit = "" if rule is None or rule.gate is None else f", {_limit(rule.gate.limit, metric.unit)}"
    shown = f"{show(fixed.value, metric.unit)}{_interval(fixed.ci95, metric.unit)}"
    return f"{name}: {shown} corrected by {show_count(fixed.labels, 'label')}{limit}"


def _share_of_calls(breaching: int, calls: int) -> str:
    """Return `1 of 300 calls, 0.33 % [0.0–1.8]`; one call alone has no interval."""
    number = f"{breaching} of {show_count(calls, 'call')}"
    if calls < 2:
        return number
    low, high = (100 * end for end in binomial_interval(breaching, calls))
    return f"{number}, {show(100 * breaching / calls, 'percent')} [{low:.1f}–{high:.1f}]"


def _describe_row(slug: str, metric: MetricScore, spec: Spec) -> str:
    """Return `QA, Question Score Accuracy: 0.847 [0.790–0.900], limit 0.9`."""
    rule, fixed = spec.metrics.get(slug), metric.corrected
    value, ci95 = (metric.value or 0.0, metric.ci95) if fixed is None else (fixed.value, fixed.ci95)
    if rule is None:
        return f"{slug}: {show(value, metric.unit)}"
    shown = f"{show(value, metric.unit)}{_interval(ci95, metric.unit)}"
    text = f"{_task(slug.partition('.')[0], spec)}, {rule.label}: {shown}"
    limit = _fail_limit(rule)
    if limit is None:
        return f"{text}, rated {FAIL}"
    text += f", {_limit(limit, metric.unit)}"
    if ci95 is not None and any(_is_rated_better(rule, end) for end in ci95):
        return NOT_CERTAIN + text
    return text


def _describe_floor(model: ModelScore, spec: Spec) -> Iterator[str]:
    floor, final = final_floor(model), model.final.score
    if floor is not None and final is not None and is_below_floor(model):
        yield f"Final {show(final)}, below the {show(floor)} of an answer that reads nothing"
    for name, margin in not_above_floor(model):
        of = f"the {show(margin.floor)} of an answer that reads nothing"
        yield f"{_number_label(name, spec)} {show(margin.value)}, not above {of}"


def _number_label(name: str, spec: Spec) -> str:
    """The label of a metric, or of a part of a task score."""
    if name in spec.metrics:
        return spec.metrics[name].label
    parts = (score.parts[name].label for score in spec.scores.values() if name in score.parts)
    return next(parts, name)


def _task(task: str, spec: Spec) -> str:
    return spec.scores[task].label if task in spec.scores else task


def _limit(limit: float, unit: str) -> str:
    return f"limit {limit:g}{' %' if unit == 'percent' else ''}"


def _interval(interval: Sequence[float] | None, unit: str) -> str:
    return "" if interval is None else f" {show_interval((interval[0], interval[1]), unit)}"


def _includes(interval: tuple[float, float], limit: float, metric: MetricSpec) -> bool:
    """Whether a value within the interval would not breach the gate."""
    gate = metric.gate
    return gate is not None and not all(holds(end, gate.comparison, limit) for end in interval)


def _fail_limit(rule: MetricSpec) -> float | None:
    """The limit of the last rating above Fail."""
    limits = [band.limit for band in rule.bands if band.rating.value != FAIL]
    return limits[-1] if limits else None


def _is_rated_better(rule: MetricSpec, value: float) -> bool:
    return any(band.holds(value) for band in rule.bands if band.rating.value != FAIL)
