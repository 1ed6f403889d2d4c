"""Entities reported without understanding: the whole list, nothing, and what is said literally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from callscore.core.case import spoken_text
from callscore.metrics.text import contains
from callscore.scorecard.formula import TaskFormula
from callscore.suites.calls.entity.entity_list import configured_keys
from callscore.suites.calls.entity.identity import NO_ENTITIES, distinct_entities
from callscore.suites.calls.entity.reference import (
    ADHERENCE,
    KEYWORD_F1,
    TOPIC_F1,
    EntityReference,
)
from callscore.suites.calls.floors.tally import FloorTally, Strategy, mean_share, share

WHOLE, NOTHING, LITERAL = "the whole list", "nothing reported", "what is said literally"


class _EntityReport(NamedTuple):
    """The entities that a strategy reports in one call."""

    keywords: frozenset[str]
    topics: frozenset[str]


class _StrategyCounts:
    """The counts of one strategy."""

    def __init__(self) -> None:
        self.f1: dict[str, Counter[tuple[int, int]]] = {KEYWORD_F1: Counter(), TOPIC_F1: Counter()}
        self.configured = self.reported = 0
        self.silent = self.calls = 0

    def add(self, reference: EntityReference, given: _EntityReport) -> None:
        """Count one call."""
        absent = reference.absent
        for slug, expected, found in (
            (KEYWORD_F1, reference.keywords, given.keywords),
            (TOPIC_F1, reference.topics, given.topics),
        ):
            if slug not in absent:
                self.f1[slug][_f1(expected, found)] += 1
        if ADHERENCE in absent:
            return
        self.calls += 1
        self.configured += len(given.keywords & reference.configured)
        self.configured += len(given.topics & reference.configured)
        number = len(given.keywords) + len(given.topics)
        self.reported += number
        self.silent += not number and bool(reference.keywords or reference.topics)

    def strategy(self, name: str) -> Strategy:
        """The rows over all calls."""
        rows = {slug: mean_share(counts) for slug, counts in self.f1.items()}
        adherence = share(self.configured, self.reported)
        if adherence is None and self.calls:
            rows[ADHERENCE] = 0.0 if self.silent else 1.0
        else:
            rows[ADHERENCE] = adherence
        return Strategy(name, rows, {ADHERENCE: adherence})


class EntityFloor(FloorTally):
    """Counts what each strategy would find."""

    def __init__(self) -> None:
        self._strategies = {name: _StrategyCounts() for name in (WHOLE, NOTHING, LITERAL)}

    def add(self, reference: EntityReference) -> None:
        """Count the entities of one call."""
        listed = _configured_entities(reference)
        self._strategies[WHOLE].add(reference, listed)
        self._strategies[NOTHING].add(reference, _EntityReport(NO_ENTITIES, NO_ENTITIES))
        spoken = _spoken_entities(reference, listed.keywords | listed.topics)
        self._strategies[LITERAL].add(
            reference, _EntityReport(listed.keywords & spoken, listed.topics & spoken)
        )

    def strategies(self, formula: TaskFormula) -> Iterable[Strategy]:
        """The rows of each strategy."""
        return [way.strategy(name) for name, way in self._strategies.items()]


def _configured_entities(reference: EntityReference) -> _EntityReport:
    """The configured keywords and topics; a single list is used for both."""
    config = reference.case.config
    keywords, topics = config.get("keywords"), config.get("topics")
    if keywords is None and topics is None:
        both = reference.configured
        found = _EntityReport(both, both)
    else:
        found = _EntityReport(_entity_keys(keywords, reference), _entity_keys(topics, reference))
    is_absent = reference.case.is_absent
    return _EntityReport(
        NO_ENTITIES if is_absent("detected_keywords") else found.keywords,
        NO_ENTITIES if is_absent("detected_topics") else found.topics,
    )


def _spoken_entities(reference: EntityReference, entities: frozenset[str]) -> frozenset[str]:
    """The entities that a search for their forms finds in the transcript, in any case.

    A trivial answer does not normalise, which would take longer than everything else.
    """
    said = spoken_text(reference.case.transcript).casefold()
    found = [key for key in entities if contains(said, key)]
    found += [key for form, key in reference.aliases.items() if contains(said, form)]
    return entities.intersection(found)


def _entity_keys(forms: list[str] | None, reference: EntityReference) -> frozenset[str]:
    if not forms:
        return NO_ENTITIES
    if not reference.aliases:
        return configured_keys(forms)
    return distinct_entities(forms, reference.aliases).keys


def _f1(expected: frozenset[str], found: frozenset[str]) -> tuple[int, int]:
    """2 TP / (|expected| + |found|) as a fraction; 1 if both are empty        C-13"""
    both = len(expected) + len(found)
    return (2 * len(expected & found), both) if both else (1, 1)
