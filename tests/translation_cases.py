"""Short constructors for translation cases, and functions that measure answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Reply
from callscore.core.judging import Item, Verdict, Verdicts
from callscore.core.spec import rate
from callscore.core.task import Measured
from callscore.suites.calls.spec import load_spec, make_settings
from callscore.suites.calls.translation.task import TranslationTask

TASK = TranslationTask(make_settings())
Pairs = Mapping[str, str]


def outcome(
    sentences: Sequence[Any],
    *,
    sources: Sequence[str] | None = None,
    terms: Pairs | None = None,
    nouns: Pairs | None = None,
    full: Any = None,
) -> dict[str, Any]:
    """An outcome in the documented form; the default source of sentence N is "source N"."""
    if sources is None:
        sources = [f"source {number}" for number in range(1, len(sentences) + 1)]
    return {
        "full_translation": "\n".join(map(str, sentences)) if full is None else full,
        "sentence_translations": [
            {"source_id": number, "source_text": source, "translated_text": text}
            for number, (source, text) in enumerate(zip(sources, sentences, strict=True), start=1)
        ],
        "domain_terms_handled": [{"term": t, "handled_as": h} for t, h in (terms or {}).items()],
        "named_entities_handled": [
            {"entity": e, "handled_as": h} for e, h in (nouns or {}).items()
        ],
    }


def translation_case(
    expected: Mapping[str, Any],
    *,
    lang: str = "hi",
    facts: Any = None,
    parts: Mapping[str, Any] | None = None,
    **more: Any,
) -> Case:
    """A case of one call; without `facts`, critical facts come from the reference."""
    config: dict[str, Any] = {"source_language": "en", "target_language": lang}
    if facts is not None:
        config["critical_facts"] = facts
    items = expected.get("sentence_translations")
    items = items if isinstance(items, list) else []
    sources = [item.get("source_text") for item in items if isinstance(item, dict)]
    transcript = "\n".join(f"Agent: {source}" for source in sources)
    return Case("c1", "translation", transcript, config, expected, expected_parts=parts, **more)


def measure_answer(case: Case, answer: object, verdicts: Sequence[Verdict] = ()) -> Measured:
    """Parse and measure an answer as a run does."""
    reference = TASK.reference(case)
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer)
    return TASK.measure(reference, TASK.read(reference, Reply(text)), group_by_item(verdicts))


def group_by_item(verdicts: Sequence[Verdict]) -> Verdicts:
    """Group verdicts by item, as a task receives them."""
    found: dict[Item, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(Item(verdict.metric, verdict.item), []).append(verdict)
    return found


def value(
    case: Case, answer: object, metric: str, verdicts: Sequence[Verdict] = ()
) -> float | None:
    """The value of a metric, which is named without `translation.`"""
    return measure_answer(case, answer, verdicts).measures[f"translation.{metric}"].value


def rating(metric: str, found: float | None) -> str | None:
    """The band of a value."""
    spec = load_spec().metrics[f"translation.{metric}"]
    assert found is not None
    band = rate(found, spec.bands, spec.otherwise)
    return band.value if band else None


def word(metric: str, item: str, verdict: str) -> Verdict:
    """A verdict of a judge."""
    return Verdict(f"translation.{metric}", item, verdict)


def number(metric: str, item: str, value: float) -> Verdict:
    """A verdict with a number."""
    return Verdict(f"translation.{metric}", item, value=value)


def cosine(item: str, similarity: float) -> Verdict:
    """A similarity of an embedder."""
    return number("meaning", item, similarity)


def open_questions(case: Case, answer: object) -> list[tuple[str, str]]:
    """What judge and embedder must decide: metric (without `translation.`) and item."""
    reference = TASK.reference(case)
    output = TASK.read(reference, Reply(msgspec.json.encode(answer)))
    assert not isinstance(output, Malformed)
    questions = TASK.ask(reference, output)
    return [(question.metric.partition(".")[2], question.item) for question in questions]
