"""The framework's five-key record for every metric of a reply, scored by code (C-100).

A record quotes the part of the reference and of the reply that its metric is about, and what
counted against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, Malformed, Reply
from callscore.core.judging import Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.core.spec import Spec
from callscore.core.strict_json import Parsed, read_object
from callscore.core.suite import Suite
from callscore.core.task import Faults, RecordPart, Task
from callscore.core.verdict_rules import WHOLE, FiveKeyRecord
from callscore.metrics.text import item_id, n2
from callscore.scorecard.formula import STRUCTURE

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""An unfinished text goes to the end: looking for its end from every mark would take the square."""


class Outcomes(NamedTuple):
    """An expected outcome and what the model produced: whole, or the part of a metric."""

    expected: Any
    observed: Any


def relevant_parts(
    outcomes: Outcomes, slug: str, part: RecordPart, faults: Sequence[str]
) -> Outcomes:
    """The fields that a metric is about; of a list or map, the entries that faults name."""
    if slug.endswith(STRUCTURE):
        return Outcomes(*map(_structure, outcomes))
    expected = _fields(outcomes.expected, part.expected_paths or part.paths)
    observed = _fields(outcomes.observed, part.paths)
    if faults and part.faults_only:
        return Outcomes(expected, [next(_quotations(fault), fault) for fault in faults])
    if part.keys and isinstance(expected, list) and isinstance(observed, list):
        ids = _ids_of_faults(part, [*expected, *observed], faults)
        return Outcomes(_entries(expected, part, ids), _entries(observed, part, ids))
    named = {n2(text) for fault in faults for text in _quotations(fault)}
    return Outcomes(_named(expected, named), _named(observed, named))


def _structure(outcome: Any) -> Any:
    """The paths of the keys; an outcome that is not JSON as it is."""
    if isinstance(outcome, (Mapping, list)):
        return ", ".join(dict.fromkeys(_keys(outcome)))
    return outcome


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """The paths of a document's keys, the entries of a list as one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{path}{key}"
            yield from _keys(inner, f"{path}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{path.removesuffix('.')}[].")


def _fields(outcome: Any, paths: Sequence[str]) -> Any:
    """The value at a path; of several, a map from the path to the value."""
    if not paths or not isinstance(outcome, Mapping):
        return outcome
    found = {path: _at(outcome, path) for path in paths}
    return found if len(found) > 1 else next(iter(found.values()))


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _quotations(fault: str) -> Iterator[str]:
    """The texts in quotation marks."""
    for match in _QUOTED.finditer(fault):
        with suppress(msgspec.DecodeError):  # a task of another package may quote otherwise
            yield msgspec.json.decode(match.group(), type=str)


def _ids_of_faults(part: RecordPart, entries: Sequence[Any], faults: Sequence[str]) -> set[str]:
    """The ids that faults begin with, else those of the entries that have the quoted texts."""
    ids = [item_id(entry.get(part.keys[0])) for entry in entries if isinstance(entry, Mapping)]
    known = set(ids)
    led = {next(_quotations(fault), "") for fault in faults if _QUOTED.match(fault)} & known
    if led:
        return led
    quoted = [text for fault in faults for text in _quotations(fault) if text]
    return {
        item_id(entry.get(part.keys[0]))
        for entry in entries
        if isinstance(entry, Mapping)
        and any(text in str(entry.get(key)) for key in part.keys[1:] for text in quoted)
    }


def _entries(held: Sequence[Any], part: RecordPart, ids: set[str]) -> list[Any]:
    """The entries with these ids, or all if there are none, each with the keys of the part."""
    entries = [entry for entry in held if isinstance(entry, Mapping)]
    if ids:
        entries = [entry for entry in entries if item_id(entry.get(part.keys[0])) in ids]
    return [{key: entry[key] for key in part.keys if key in entry} for entry in entries]


def _named(held: Any, named: set[str]) -> Any:
    """What faults name in a list of texts or a map, in N2; all of it if they name nothing."""
    if isinstance(held, list):
        return [text for text in held if isinstance(text, str) and n2(text) in named] or held
    if not isinstance(held, Mapping):
        return held
    if any(isinstance(inner, list) for inner in held.values()):
        found = {key: _only_named(inner, named) for key, inner in held.items()}
        return {key: inner for key, inner in found.items() if inner} or held
    return {key: inner for key, inner in held.items() if n2(key) in named} or held


def _only_named(held: Any, named: set[str]) -> list[str]:
    texts = held if isinstance(held, list) else ()
    return [text for text in texts if isinstance(text, str) and n2(text) in named]


MOST_NAMED = 5
LONGEST_NAMED = 100


def quote(text: str) -> str:
    """Untrusted text as a JSON string, cut if it is long."""
    cut = text if len(text) <= LONGEST_NAMED else text[:LONGEST_NAMED] + "…"
    return msgspec.json.encode(cut).decode()


def summarise_items(items: Sequence[str]) -> str:
    """The first items, and how many more there are."""
    rest = len(items) - MOST_NAMED
    return ", ".join(items[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def malformed_reason(task: str, output: Malformed) -> Faults:
    """Why a reply is malformed."""
    why = f"{output.cause} {quote(output.detail)}" if output.detail else output.cause
    return {f"{task}.structure": (why,)}


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
