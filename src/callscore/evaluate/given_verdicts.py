"""Verdicts from files on the replies to one case, checked."""

from __future__ import annotations

from collections.abc import Iterable

from callscore.core.framework import WHOLE
from callscore.core.judging import Item, Verdict
from callscore.evaluate.scorer import GivenVerdicts
from callscore.store.files import Line
from callscore.store.verdict_records import VerdictRecord, read_verdict
from callscore.suites.registry import rules_for


def checked_metric(record: VerdictRecord) -> str | None:
    """The slug of a verdict's metric; None if code computes the metric."""
    if record.item == WHOLE:
        return rules_for(record.metric).checked_whole(record.metric, record.value)
    return rules_for(record.metric).checked(record.metric, record.verdict, record.value)


def verdicts_on(lines: Iterable[Line]) -> GivenVerdicts:
    """The verdicts in these lines, by model and run, then by item."""
    found: dict[tuple[str | None, int], dict[Item, list[Verdict]]] = {}
    for line in lines:
        record = read_verdict(line)
        metric = checked_metric(record)
        assert metric is not None  # only such lines are in the index
        verdict = Verdict(
            metric=metric,
            item=str(record.item),
            verdict=record.verdict,
            value=record.value,
            text=record.text,
            quote=record.quote,
            source=record.source,
            by=record.by,
            approximate=record.approximate,
            expected_outcome_field=record.expected_outcome_field,
            model_output_field=record.model_output_field,
            note=record.note,
        )
        items = found.setdefault((record.model, record.run), {})
        items.setdefault(Item(metric, verdict.item), []).append(verdict)
    return found
