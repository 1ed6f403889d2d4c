"""Entities reported without understanding: the whole list, nothing, and what is said literally.

Keywords and topics may be reported by different strategies (C-135).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Self

from callscore.core.case import spoken_text
from callscore.core.task import FloorTally, Strategy
from callscore.metrics.text import contains, plain_apostrophes
from callscore.scorecard.floors import mean_share, name_mixture
from callscore.suites.calls.entity.identity import NO_ENTITIES, configured_keys, distinct_entities
from callscore.suites.calls.entity.reference import (
    ADHERENCE,
    KEYWORD_F1,
    TOPIC_F1,
    EntityReference,
)

WHOLE, NOTHING, LITERAL = "the whole list", "nothing reported", "what is said literally"
KINDS = ("keywords", "topics")


class _EntityReport(NamedTuple):
    """The entities that a strategy reports in one call."""

    keywords: frozenset[str]
    topics: frozenset[str]


class _ReportCounts:
    """What one strategy finds of one kind of entities."""

    def __init__(self) -> None:
        self.f1: Counter[tuple[int, int]] = Counter()
        self.reported = 0

    def add(self, expected: frozenset[str], found: frozenset[str]) -> None:
        """Count one call."""
        self.f1[_f1(expected, found)] += 1
        self.reported += len(found)

    def __iadd__(self, later: _ReportCounts) -> Self:
        """Add the counts of later calls."""
        self.f1.update(later.f1)
        self.reported += later.reported
        return self


class EntityFloor(FloorTally):
    """Counts what each strategy would find."""

    def __init__(self) -> None:
        names = (WHOLE, NOTHING, LITERAL)
        self._keywords = {name: _ReportCounts() for name in names}
        self._topics = {name: _ReportCounts() for name in names}
        self._calls = self._expecting = 0
        """Calls with a configured list, and those of them that expect an entity."""

    def add(self, reference: EntityReference) -> None:
        """Count the entities of one call."""
        listed = _configured_entities(reference)
        spoken = _spoken_entities(reference, listed.keywords | listed.topics)
        for counts, slug, expected, every in (
            (self._keywords, KEYWORD_F1, reference.keywords, listed.keywords),
            (self._topics, TOPIC_F1, reference.topics, listed.topics),
        ):
            if slug not in reference.absent:
                counts[WHOLE].add(expected, every)
                counts[NOTHING].add(expected, NO_ENTITIES)
                counts[LITERAL].add(expected, every & spoken)
        if ADHERENCE not in reference.absent:
            self._calls += 1
            self._expecting += bool(reference.keywords or reference.topics)

    def __iadd__(self, later: EntityFloor) -> Self:
        """Add the counts of later calls."""
        for own, more in ((self._keywords, later._keywords), (self._topics, later._topics)):
            for name, counts in more.items():
                own[name] += counts
        self._calls += later._calls
        self._expecting += later._expecting
        return self

    def strategies(self) -> Iterable[Strategy]:
        """Every way to report keywords with every way to report topics."""
        for of_keywords, keywords in self._keywords.items():
            for of_topics, topics in self._topics.items():
                rows = {
                    KEYWORD_F1: mean_share(keywords.f1),
                    TOPIC_F1: mean_share(topics.f1),
                    ADHERENCE: self._adherence(keywords.reported + topics.reported),
                }
                yield Strategy(name_mixture(KINDS, (of_keywords, of_topics)), rows)

    def _adherence(self, reported: int) -> float | None:
        """1 if anything is reported, as all of it is configured; else 0 where it is due    C-13"""
        if not self._calls:
            return None
        return 1.0 if reported or not self._expecting else 0.0


def _configured_entities(reference: EntityReference) -> _EntityReport:
    """The configured keywords and topics; a single list is used for both."""
    config = reference.case.config
    keywords, topics = config.get("keywords"), config.get("topics")
    if keywords is None and topics is None:
        both = reference.configured
        return _EntityReport(both, both)
    return _EntityReport(_entity_keys(keywords, reference), _entity_keys(topics, reference))


def _spoken_entities(reference: EntityReference, entities: frozenset[str]) -> frozenset[str]:
    """The entities that a search for their forms finds in the transcript, in any case.

    A trivial answer does not normalise more, which would take longer than everything else.
    """
    text = plain_apostrophes(spoken_text(reference.case.transcript).casefold())
    said = text.replace("_", " ").replace("-", " ")
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
