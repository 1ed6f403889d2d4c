"""What the audit by a second judge means for the gates of a card        STATS §5"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from callscore.core.scorecard import MetricScore, ModelScore, Scorecard
from callscore.evaluate.case_steps import JudgedItems
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.report.numbers import show
from callscore.scorecard.formula import ActiveGate
from callscore.scorecard.tally import TaskTally
from callscore.suites.registry import Catalog


def with_audit(card: Scorecard, result: ScoringResult, catalog: Catalog) -> Scorecard:
    """The card with the gates that are kept only if the first judge is right."""
    if card.judging is None or not card.judging.audited:
        return card
    at_risk = [
        sentence for model in card.models for sentence in _gates_at_risk(model, result, catalog)
    ]
    judging = msgspec.structs.replace(card.judging, at_risk=at_risk)
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
