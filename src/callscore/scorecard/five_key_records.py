"""The framework's five-key record for every metric of a reply, scored by code (C-100)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, Reply
from callscore.core.framework import WHOLE
from callscore.core.judging import Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.core.spec import Spec
from callscore.core.strict_json import Parsed, read_object
from callscore.core.suite import RecordPart, Suite
from callscore.core.task import Faults
from callscore.metrics.text import item_id
from callscore.scorecard.explain import summarise_items

LONGEST_SHOWN = 1000
VERDICTS_SHOWN = 3


STRUCTURE = ".structure"
_LEADING_ID = re.compile(r'"(?:[^"\\]|\\.)*"')


class Record(msgspec.Struct, frozen=True):
    """One metric of one reply: its case, model and run, and the five keys of the framework."""

    case_id: str
    model: str
    run: int
    metric: str
    score: float | None
    expected_outcome_reference: str
    model_output_observed: str
    reason: str


class Grounds(NamedTuple):
    """What a measure depends on: verdicts, and what counted against the reply."""

    verdicts: Sequence[Verdict]
    faults: Sequence[str]


class ModelReply(msgspec.Struct, frozen=True):
    """The reply of one run of a model."""

    model: str
    run: int
    reply: Reply


def records_of(
    suite: Suite,
    case: Case,
    author: ModelReply,
    measures: Mapping[str, Measure],
    verdicts: Verdicts,
    faults: Faults,
) -> Iterator[Record]:
    """A record for every measure, in the order of the measures."""
    observed = _observed_output(author.reply)
    for slug, measure in measures.items():
        against = faults.get(slug, ())
        given = list(_verdicts_on(suite.verdict_rules.sources_of(slug), verdicts))
        whole = next((v for v in given if v.item == WHOLE), None)
        fields = [] if whole is not None else _most_informative(given)
        expected = _cited_values(case.expected_outcome, [v.expected_outcome_field for v in fields])
        found = _cited_values(observed, [v.model_output_field for v in fields])
        part = suite.record_part(slug, case.task)
        if whole is not None:
            expected, found = whole.text, whole.quote
        yield Record(
            case_id=case.id,
            model=author.model,
            run=author.run,
            metric=slug,
            score=_score(suite.spec, slug, measure),
            expected_outcome_reference=expected
            or _relevant_part(case.expected_outcome, slug, part, against),
            model_output_observed=found or _relevant_part(observed, slug, part, against),
            reason=_reason(suite.spec, slug, measure, Grounds(given, against)),
        )


def _verdicts_on(wanted: frozenset[str], verdicts: Verdicts) -> Iterator[Verdict]:
    return (v for item, given in verdicts.items() if item.metric in wanted for v in given)


def _cited_values(value: Any, fields: Sequence[str]) -> str:
    """The values of the fields that verdicts cite, each after its path."""
    found = {path: _value_at(value, path) for path in fields if path}
    return _shorten("; ".join(f"{path}: {_as_text(held)}" for path, held in found.items()))


def _relevant_part(value: Any, slug: str, part: RecordPart, faults: Sequence[str]) -> str:
    """The part of an outcome that a metric is about; of a list only the faulty entries."""
    if slug.endswith(STRUCTURE):
        return _shorten(", ".join(dict.fromkeys(_keys(value))) if _is_tree(value) else value)
    held = _part_at(value, part.path)
    if not part.keys or not isinstance(held, list):
        return _shorten(held)
    entries = [entry for entry in held if isinstance(entry, Mapping)]
    named = {msgspec.json.decode(m.group()) for fault in faults if (m := _LEADING_ID.match(fault))}
    chosen = [entry for entry in entries if item_id(entry.get(part.keys[0])) in named] or entries
    return _shorten([{key: entry[key] for key in part.keys if key in entry} for entry in chosen])


def _is_tree(value: Any) -> bool:
    return isinstance(value, (Mapping, list))


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a document's keys, the entries of a list as one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{path}{key}"
            yield from _keys(inner, f"{path}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{path.removesuffix('.')}[].")


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


def _part_at(value: Any, path: str) -> Any:
    for key in path.split(".") if path and isinstance(value, Mapping) else ():
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


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


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _shorten(value: Any) -> str:
    text = _as_text(value)
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
