"""The framework's five-key record for every metric of a reply, scored by code (C-100)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, Reply
from callscore.core.framework import WHOLE, FiveKeyRecord
from callscore.core.judging import Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.core.spec import Spec
from callscore.core.strict_json import Parsed, read_object
from callscore.core.suite import Suite
from callscore.core.task import Faults, Task
from callscore.scorecard.explain import summarise_items
from callscore.scorecard.record_part import Outcomes, relevant_parts

LONGEST_SHOWN = 1000
VERDICTS_SHOWN = 3


class Grounds(NamedTuple):
    """What a measure depends on: verdicts, and what counted against the reply."""

    verdicts: Sequence[Verdict]
    faults: Sequence[str]


class ModelReply(msgspec.Struct, frozen=True):
    """The reply of one run of a model to a case."""

    case: Case
    model: str
    run: int
    reply: Reply


def records_of(
    suite: Suite,
    task: Task[Any, Any],
    author: ModelReply,
    measures: Mapping[str, Measure],
    verdicts: Verdicts,
    faults: Faults,
) -> Iterator[FiveKeyRecord]:
    """A record for every measure, in the order of the measures."""
    case = author.case
    observed = _observed_output(author.reply)
    outcomes = Outcomes(case.expected_outcome, observed)
    for slug, measure in measures.items():
        against = faults.get(slug, ())
        given = list(_verdicts_on(suite.verdict_rules.sources_of(slug), verdicts))
        whole = next((v for v in given if v.item == WHOLE), None)
        fields = [] if whole is not None else _most_informative(given)
        expected = _cited_values(case.expected_outcome, [v.expected_outcome_field for v in fields])
        found = _cited_values(observed, [v.model_output_field for v in fields])
        part = task.record_part(slug)
        if whole is not None:
            expected, found = whole.text, whole.quote
        relevant = relevant_parts(outcomes, slug, part, against)
        yield FiveKeyRecord(
            case_id=case.id,
            model=author.model,
            run=author.run,
            slug=slug,
            metric=_name(suite.spec, slug),
            score=_score(suite.spec, slug, measure),
            expected_outcome_reference=expected or _shorten(relevant.expected),
            model_output_observed=found or _shorten(relevant.observed),
            reason=_reason(suite.spec, slug, measure, Grounds(given, against)),
        )


def _verdicts_on(wanted: frozenset[str], verdicts: Verdicts) -> Iterator[Verdict]:
    return (v for item, given in verdicts.items() if item.metric in wanted for v in given)


def _cited_values(value: Any, fields: Sequence[str]) -> str:
    """The values of the fields that verdicts cite, each after its path."""
    found = {path: _value_at(value, path) for path in fields if path}
    return _shorten("; ".join(f"{path}: {_to_text(held)}" for path, held in found.items()))


def _name(spec: Spec, slug: str) -> str:
    """The name of a metric or a benchmark        C-15, C-100"""
    named = spec.metrics.get(slug) or spec.benchmarks.criteria.get(slug)
    return named.label if named is not None else slug


def _score(spec: Spec, slug: str, measure: Measure) -> float | None:
    """Continuous for task metrics, 0 or 1 for benchmarks, as the framework's judge prompt asks."""
    criterion = spec.benchmarks.criteria.get(slug)
    if criterion is None or measure.value is None:
        return measure.value
    return int(criterion.passes(measure.value))


def _observed_output(reply: Reply) -> Any:
    """The reply as JSON, else as text."""
    parsed = read_object(reply, "fenced")
    if isinstance(parsed, Parsed):
        return parsed.value
    return reply.text if isinstance(reply.text, str) else reply.text.decode(errors="replace")


_STEP = re.compile(r"[^.\[\]]+")


def _value_at(value: Any, path: str) -> Any:
    """The value at a path with keys and indexes (`summary.highlights[0]`)."""
    for step in _STEP.findall(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _shorten(value: Any) -> str:
    text = _to_text(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _reason(spec: Spec, slug: str, measure: Measure, grounds: Grounds) -> str:
    verdicts, faults = grounds
    if measure.value is None:
        return measure.reason() or ""
    if whole := [verdict.note for verdict in verdicts if verdict.item == WHOLE]:
        return whole[0]
    parts = []
    if _is_count(spec, slug):
        parts.append(f"{measure.value:g}")
    elif measure.denominator:
        parts.append(f"{measure.numerator:g} of {measure.denominator:g}")
    if faults:
        parts.append(f"against it: {summarise_items(faults)}")
    if measure.vacuous:
        parts.append("nothing to measure, by convention")
    if measure.approximate:
        parts.append("approximate")
    parts += [_describe_verdict(verdict) for verdict in _most_informative(verdicts)]
    return "; ".join(parts) or "by code"


def _is_count(spec: Spec, slug: str) -> bool:
    metric = spec.metrics.get(slug)
    return metric is not None and metric.unit == "count"


def _most_informative(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """The most informative verdicts: those with a quote first."""
    return sorted(verdicts, key=lambda verdict: not verdict.quote)[:VERDICTS_SHOWN]


def _describe_verdict(verdict: Verdict) -> str:
    answer = verdict.verdict if verdict.verdict is not None else f"{verdict.value:.3f}"
    quote = f' "{verdict.quote}"' if verdict.quote else ""
    source = f" ({verdict.source})" if verdict.source else ""
    return f"{verdict.item}: {answer}{quote}{source}"
