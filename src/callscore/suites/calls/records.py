"""The framework's five-key record for every metric of an answer, scored by code (C-100)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Reply
from callscore.core.judging import Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.suites.calls.approximation import RELIES_ON
from callscore.suites.calls.entity.faults import faults as entity_faults
from callscore.suites.calls.faults import Faults, named, of_shape
from callscore.suites.calls.qa.faults import faults as qa_faults
from callscore.suites.calls.reading import Parsed, read_object
from callscore.suites.calls.spec import load
from callscore.suites.calls.text.faults import faults as text_faults
from callscore.suites.calls.translation.faults import faults as translation_faults

LONGEST_SHOWN = 1000
VERDICTS_SHOWN = 3
_SENTENCES, _SUMMARY = "sentence_translations", "summary"
SHOWN: Mapping[str, str] = {
    "entity.keyword_precision": "detected_keywords",
    "entity.keyword_recall": "detected_keywords",
    "entity.keyword_f1": "detected_keywords",
    "entity.topic_precision": "detected_topics",
    "entity.topic_recall": "detected_topics",
    "entity.topic_f1": "detected_topics",
    "text.sentiment_accuracy": "sentiment",
    "text.sentiment_macro_f1": "sentiment",
    "text.missing_labels": "sentiment",
    "text.call_intent": f"{_SUMMARY}.call_purpose",
    "text.highlight_recall": f"{_SUMMARY}.highlights",
    "text.highlight_correctness": f"{_SUMMARY}.highlights",
    "text.field_presence": f"{_SUMMARY}.call_extracted_info",
    "text.fabrication_free": _SUMMARY,
    "text.hallucination_rate": _SUMMARY,
    "text.dominant_emotion": "emotion",
    "translation.completeness": _SENTENCES,
    "translation.meaning": _SENTENCES,
    "translation.fluency": _SENTENCES,
    "translation.domain_terms": "domain_terms_handled",
    "translation.proper_nouns": "named_entities_handled",
    "translation.critical_facts": _SENTENCES,
    "translation.drift": _SENTENCES,
}
"""The field that a metric is about; the whole answer where none is named."""

FAULTS: Mapping[str, Callable[[Any, Any, Verdicts], Faults]] = {
    "qa": qa_faults,
    "entity": entity_faults,
    "text": text_faults,
    "translation": translation_faults,
}


class Record(msgspec.Struct, frozen=True):
    """One metric of one answer: whose it is, and the five keys of the framework."""

    case_id: str
    model: str
    run: int
    metric: str
    score: float | None
    expected_outcome_reference: str
    model_output_observed: str
    reason: str


class Author(msgspec.Struct, frozen=True):
    """Whose answer it is, and the answer as it came."""

    model: str
    run: int
    reply: Reply


def faults_of(task: str, reference: Any, output: Any, verdicts: Verdicts) -> Faults:
    """What counted against an answer, by metric; nothing for tasks of another suite."""
    if task not in FAULTS:
        return {}
    if isinstance(output, Malformed):
        return of_shape(task, output)
    return FAULTS[task](reference, output, verdicts)


def records_of(
    case: Case,
    author: Author,
    measures: Mapping[str, Measure],
    verdicts: Verdicts,
    faults: Faults,
) -> Iterator[Record]:
    """A record for every measure, in the order of the measures."""
    observed = _observed(author.reply)
    for slug, measure in measures.items():
        path = SHOWN.get(slug, "")
        yield Record(
            case_id=case.id,
            model=author.model,
            run=author.run,
            metric=slug,
            score=_score(slug, measure),
            expected_outcome_reference=_cut(_at(case.expected_outcome, path)),
            model_output_observed=_cut(_at(observed, path)),
            reason=_reason(slug, measure, verdicts, faults.get(slug, ())),
        )


def _score(slug: str, measure: Measure) -> float | None:
    """Continuous for task metrics, 0 or 1 for benchmarks, as the framework's judge prompt asks."""
    criterion = load().benchmarks.criteria.get(slug)
    if criterion is None or measure.value is None:
        return measure.value
    return int(criterion.passes(measure.value))


def _observed(reply: Reply) -> Any:
    """The answer as JSON, else as the text that came."""
    parsed = read_object(reply, "fenced")
    if isinstance(parsed, Parsed):
        return parsed.value
    return reply.text if isinstance(reply.text, str) else reply.text.decode(errors="replace")


def _at(value: Any, path: str) -> Any:
    for key in path.split(".") if path and isinstance(value, Mapping) else ():
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _reason(slug: str, measure: Measure, verdicts: Verdicts, faults: Sequence[str]) -> str:
    if measure.value is None:
        return measure.reason() or ""
    parts = []
    if _is_count(slug):
        parts.append(f"{measure.value:g}")
    elif measure.denominator:
        parts.append(f"{measure.numerator:g} of {measure.denominator:g}")
    if faults:
        parts.append(f"against it: {named(faults)}")
    if measure.vacuous:
        parts.append("nothing to measure, by convention")
    if measure.approximate:
        parts.append("approximate")
    wanted = RELIES_ON.get(slug, {slug})
    told = [v for item, given in verdicts.items() if item.metric in wanted for v in given]
    parts += [_told(verdict) for verdict in _telling(told)]
    return "; ".join(parts) or "by code"


def _is_count(slug: str) -> bool:
    metric = load().metrics.get(slug)
    return metric is not None and metric.unit == "count"


def _telling(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """The few that say most: those with a quote first."""
    return sorted(verdicts, key=lambda verdict: not verdict.quote)[:VERDICTS_SHOWN]


def _told(verdict: Verdict) -> str:
    answer = verdict.verdict if verdict.verdict is not None else f"{verdict.value:.3f}"
    quote = f' "{verdict.quote}"' if verdict.quote else ""
    source = f" ({verdict.source})" if verdict.source else ""
    return f"{verdict.item}: {answer}{quote}{source}"
