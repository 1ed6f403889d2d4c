"""What a card says about the errors of its judge: rows without labels, and corrected values

STATS §5
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from callscore.core.judging import Judging
from callscore.core.scorecard import (
    Corrected,
    MetricScore,
    ModelScore,
    Scorecard,
    TaskScore,
)
from callscore.core.verdict_rules import VerdictRules
from callscore.evaluate.case_steps import JudgedItems
from callscore.evaluate.labels import LabelSummary
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.report.numbers import show, show_interval
from callscore.scorecard.formula import ActiveGate
from callscore.scorecard.tally import TaskTally
from callscore.stats.label_corrections import LEAST_CALLS
from callscore.suites.registry import Catalog


def mark_judged(
    models: Sequence[ModelScore],
    judged: Mapping[str, Mapping[str, JudgedItems]],
    catalog: Catalog,
) -> list[ModelScore]:
    """Mark every row that rests on verdicts of a judging model as uncalibrated.

    Labels that correct a row remove the mark.
    """
    return [
        _mark_model(model, frozenset(judged[model.model]), catalog)
        if model.model in judged
        else model
        for model in models
    ]


def _mark_model(model: ModelScore, judged: frozenset[str], catalog: Catalog) -> ModelScore:
    tasks = {
        name: _mark_task(task, judged, catalog.suite_of(name).verdict_rules)
        for name, task in model.tasks.items()
    }
    return msgspec.structs.replace(model, tasks=tasks)


def _mark_task(task: TaskScore, judged: frozenset[str], rules: VerdictRules) -> TaskScore:
    metrics = {
        slug: msgspec.structs.replace(metric, uncalibrated=True)
        if _is_official(metric) and not judged.isdisjoint(rules.sources_of(slug))
        else metric
        for slug, metric in task.metrics.items()
    }
    return msgspec.structs.replace(task, metrics=metrics)


def _is_official(metric: MetricScore) -> bool:
    return metric.value is not None and not metric.approximate


def with_label_notes(card: Scorecard, labels: LabelSummary) -> Scorecard:
    """The card with notes on its labels, first of all notes: the corrected Finals in words, rows
    that the judge does not help with, and unused labels.
    """
    notes = [note for model in card.models for note in _model_notes(model)]
    if not notes:
        notes.append(
            f"the labels correct no row: at least {LEAST_CALLS} calls of a judged row are needed"
        )
    if labels.unused:
        notes.append(
            f"labels that were not used: {labels.unused}; they name a model or a run without an "
            "output, a metric of another task, or an item that does not exist"
        )
    return msgspec.structs.replace(card, notes=[*notes, *card.notes])


def _model_notes(model: ModelScore) -> Iterator[str]:
    final = model.final
    if final.corrected is not None and final.score is not None:
        yield f"{model.model}, Final: {_in_words(final.score, final.ci95, final.corrected)}"
    for task in model.tasks.values():
        for slug, metric in task.metrics.items():
            corrected = metric.corrected
            if corrected is None or metric.value is None:
                continue
            if corrected.helps is False:
                yield (
                    f"{model.model}, {slug}: the judge does not help to correct this row: its "
                    f"correlation with people is at most 1/√(n − 2) on {corrected.calls} calls"
                )


def _in_words(
    value: float,
    ci95: tuple[float, float] | None,
    corrected: Corrected,
) -> str:
    """`0.910 [0.880–0.930] as judged; 0.880 [0.830–0.920] corrected by 120 human labels`"""
    judged = f"{show(value)}{_limits(ci95)} as judged"
    return (
        f"{judged}; {show(corrected.value)}{_limits(corrected.ci95)} corrected by "
        f"{corrected.labels} human labels"
    )


def _limits(ci95: tuple[float, float] | None) -> str:
    return "" if ci95 is None else f" {show_interval(ci95)}"


def with_audit(
    card: Scorecard, judging: Judging, result: ScoringResult, catalog: Catalog
) -> Scorecard:
    """The card with the gates that are kept only if the first judge is right."""
    at_risk = [
        sentence for model in card.models for sentence in _gates_at_risk(model, result, catalog)
    ]
    judging = msgspec.structs.replace(judging, at_risk=at_risk)
    return msgspec.structs.replace(card, judging=judging)


def _gates_at_risk(model: ModelScore, result: ScoringResult, catalog: Catalog) -> Iterator[str]:
    judged = result.judged.get(model.model, {})
    for name, task in model.tasks.items():
        rules = catalog.suite_of(name).verdict_rules
        for gate in catalog.formula(name).gates:
            items = _joined(judged, rules.sources_of(gate.slug))
            tally = result.tallies[model.model][name]
            value = _value_by_second(gate, task.metrics[gate.slug], items, tally)
            if value is not None and gate.rule.is_breached(value):
                audit, unit = items.audit, task.metrics[gate.slug].unit
                yield (
                    f"{model.model}: if the second judge is right, {gate.slug} is about "
                    f"{show(value, unit)}, beyond its limit {gate.rule.limit:g}: the first one is "
                    f"more lenient on {audit.lenient} of {audit.items} audited items"
                )


def _value_by_second(
    gate: ActiveGate, metric: MetricScore, items: JudgedItems, tally: TaskTally
) -> float | None:
    """value − (lenient − strict) / audited items × judged items / all items        STATS §5

    None if nothing was audited, or the gate is not that of a rate, or is breached anyway.
    """
    audit, all_items = items.audit, tally.metrics[gate.slug].denominator
    if gate.rule.kind != "rate" or metric.value is None or not audit.items or not all_items:
        return None
    if gate.rule.is_breached(metric.value):
        return None
    share = (audit.lenient - audit.strict) / audit.items * min(1.0, items.items / all_items)
    return metric.value + (100.0 * share if metric.unit == "percent" else -share)


def _joined(judged: Mapping[str, JudgedItems], sources: Collection[str]) -> JudgedItems:
    found = JudgedItems(0)
    for metric, items in judged.items():
        if metric in sources:
            found += items
    return found
