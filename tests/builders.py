"""Small cases and outputs, and a function that scores them through the public API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import callscore
from callscore.core.scorecard import Scorecard, TaskScore

Json = dict[str, Any]


def question(
    question_id: str = "Q1",
    score: object = 5,
    max_score: object = 5,
    kind: str = "PASS_FAIL",
    reason: object = "Agent said 'Good morning' at 00:12",
) -> Json:
    """A QA question with its score."""
    return {
        "question_id": question_id,
        "score": score,
        "max_score": max_score,
        "type": kind,
        "reason": reason,
    }


def qa_case(questions: Sequence[Json], case_id: str = "c1", **extra: Any) -> Json:
    """A QA case; the expected form has these questions."""
    return {
        "id": case_id,
        "task": "qa",
        "transcript": [{"id": 1, "speaker": "agent", "text": "Good morning", "start": 12.0}],
        "config": {},
        "expected_outcome": {"questions": list(questions)},
        **extra,
    }


def entity_case(
    keywords: Sequence[Any],
    topics: Sequence[Any] = (),
    configured: Sequence[str] = (),
    case_id: str = "c1",
    **extra: Any,
) -> Json:
    """An entity case with these expected entities."""
    return {
        "id": case_id,
        "task": "entity",
        "transcript": extra.pop("transcript", "Customer: I want a refund, please"),
        "config": {"entities": list(configured), **extra.pop("config", {})},
        "expected_outcome": {
            "detected_keywords": list(keywords),
            "detected_topics": list(topics),
            "valid_entity_set": list(configured),
        },
        **extra,
    }


def entity_output(keywords: Sequence[Any], topics: Sequence[Any] = ()) -> Json:
    """The output of a model that detected these entities."""
    return {
        "detected_keywords": list(keywords),
        "detected_topics": list(topics),
        "valid_entity_set": [],
    }


def text_outcome(**changes: Any) -> Json:
    """A complete outcome of the task text with 20 labelled sentences; `changes` replace parts."""
    outcome: Json = {
        "sentiment": [
            {"sentence_id": i, "text": f"sentence {i}", "label": "neutral"} for i in range(1, 21)
        ],
        "summary": {
            "call_purpose": "Customer requesting refund for duplicate charge",
            "highlights": ["Duplicate charge confirmed", "Refund of $49 initiated"],
            "call_extracted_info": {"customer_name": "Ana", "resolution": "Refund approved"},
        },
        "emotion": {"anger": 60, "neutral": 40},
    }
    return outcome | changes


def text_case(outcome: Json | None = None, case_id: str = "c1", **extra: Any) -> Json:
    """A case of the task text with this expected outcome."""
    return {
        "id": case_id,
        "task": "text",
        "transcript": "Customer: I was charged twice",
        "config": {},
        "expected_outcome": outcome if outcome is not None else text_outcome(),
        **extra,
    }


def translation_outcome(source: str, translated: str) -> Json:
    """An outcome of the task translation with one sentence."""
    return {
        "full_translation": translated,
        "sentence_translations": [
            {"source_id": 1, "source_text": source, "translated_text": translated}
        ],
        "domain_terms_handled": [],
        "named_entities_handled": [],
    }


def translation_case(source: str, expected: str, target: str = "es") -> Json:
    """A case of the task translation with one English sentence."""
    return {
        "id": "c1",
        "task": "translation",
        "transcript": f"Agent: {source}",
        "lang": "en",
        "config": {"source_language": "en", "target_language": target},
        "expected_outcome": translation_outcome(source, expected),
    }


def output(case_id: str, value: object, model: str = "m", **extra: Any) -> Json:
    """One line of an outputs file."""
    return {"case_id": case_id, "model": model, "output": value, **extra}


def form(*questions: Json) -> Json:
    """A model's filled-in QA form."""
    return {"questions": list(questions)}


class ScoreResult:
    """A scorecard with its case results; the methods read the first model."""

    def __init__(self, card: Scorecard, results: Sequence[Json]) -> None:
        self.card = card
        self.results = results
        self.model = card.models[0]

    def task(self, name: str = "qa") -> TaskScore:
        return self.model.tasks[name]

    def value(self, slug: str) -> float | None:
        return self.task(slug.partition(".")[0]).metrics[slug].value

    def rating(self, slug: str) -> str | None:
        return self.task(slug.partition(".")[0]).metrics[slug].rating


def score(
    cases: Iterable[Json],
    outputs: Iterable[Mapping[str, Any]],
    folder: Path,
    verdicts: Iterable[Mapping[str, Any]] = (),
    **options: Any,
) -> ScoreResult:
    """Score through the public API, and read the case results; intervals only if asked for."""
    results = folder / "results.jsonl"
    settings = {"intervals": False, "results": results, **options}
    card = callscore.score(cases, outputs, verdicts=verdicts, **settings)
    lines = results.read_text(encoding="utf-8").splitlines()
    return ScoreResult(card, [json.loads(line) for line in lines])


def evidence_verdicts(
    case_id: str, *question_ids: str, verdict: str = "as_described"
) -> list[Json]:
    """Verdicts on the reasons of these questions."""
    return [
        {
            "case_id": case_id,
            "model": "m",
            "metric": "qa.evidence_backed_reasoning",
            "item": question_id,
            "verdict": verdict,
        }
        for question_id in question_ids
    ]
