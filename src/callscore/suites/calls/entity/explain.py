"""The entities that counted against a reply, by their normal form."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.judging import Verdicts
from callscore.core.task import Faults
from callscore.scorecard.five_key_records import quote
from callscore.suites.calls.entity.measures import fabricated_entities, unspoken_entities
from callscore.suites.calls.entity.reference import (
    ADHERENCE,
    CROSS_LANGUAGE,
    FABRICATED,
    OF_KEYWORDS,
    OF_TOPICS,
    EntityReference,
)
from callscore.suites.calls.entity.task import EntityOutput


def faults(reference: EntityReference, output: EntityOutput, verdicts: Verdicts) -> Faults:
    """Entities missed, reported but not expected, not configured, or made up."""
    keywords, topics = output.keywords, output.topics
    unspoken = unspoken_entities(keywords, topics, reference)
    missed = (reference.keywords - keywords, reference.topics - topics)  # in both counts twice
    return {
        **_detection_faults(OF_KEYWORDS, reference.keywords, keywords),
        **_detection_faults(OF_TOPICS, reference.topics, topics),
        ADHERENCE: _describe("not configured", (keywords | topics) - reference.configured),
        CROSS_LANGUAGE: [
            name for of in missed for name in _describe("missing", of & reference.foreign)
        ],
        FABRICATED: _describe("made up", fabricated_entities(unspoken, reference)),
    }


def _detection_faults(
    slugs: Sequence[str], expected: frozenset[str], found: frozenset[str]
) -> Faults:
    precision, recall, f1 = slugs
    missing, extra = (
        _describe("missing", expected - found),
        _describe("not expected", found - expected),
    )
    return {precision: extra, recall: missing, f1: [*missing, *extra]}


def _describe(what: str, keys: frozenset[str]) -> list[str]:
    return [f"{what} {quote(key.strip())}" for key in sorted(keys)]
