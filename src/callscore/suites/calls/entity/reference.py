"""The entities of one case as the human found them: checked once, before any answer is seen."""

from __future__ import annotations

from functools import cached_property

import msgspec

from callscore.core.case import Case
from callscore.core.transcript import spoken_text
from callscore.metrics.text import contains, n2
from callscore.suites.calls.entity.configured import (
    configured_keys,
    configured_list,
    read_aliases,
    strings,
)
from callscore.suites.calls.entity.identity import Aliases, distinct, is_text
from callscore.suites.calls.entity.languages import foreign_entities
from callscore.suites.calls.expected import documented_keys, listed, structure_of
from callscore.suites.calls.structure import Sources, Structure

KEYWORDS, TOPICS, VALID_SET = "detected_keywords", "detected_topics", "valid_entity_set"
PARTS = (KEYWORDS, TOPICS, VALID_SET)

ADHERENCE = "entity.config_adherence"
FABRICATED = "entity.fabricated_count"
CROSS_LANGUAGE = "entity.cross_language_match_rate"
OF_KEYWORDS = ("entity.keyword_precision", "entity.keyword_recall", "entity.keyword_f1")
OF_TOPICS = ("entity.topic_precision", "entity.topic_recall", "entity.topic_f1")
OF_EITHER = (ADHERENCE, FABRICATED, CROSS_LANGUAGE)


class EntityReference(msgspec.Struct, frozen=True, dict=True):
    """The case, its expected entities by key, and the list they were chosen from.

    A part that the case declares absent is an empty set here, and its metrics are in
    `absent`. `as_written` is the configured list before normalisation (a model that copies it
    needs no second look), `valid_set` the expected one.
    """

    case: Case
    structure: Structure
    aliases: Aliases
    keywords: frozenset[str]
    topics: frozenset[str]
    configured: frozenset[str]
    as_written: list[str]
    valid_set: list[str]
    foreign: frozenset[str]
    absent: frozenset[str]
    flags: tuple[str, ...]

    @cached_property
    def known(self) -> frozenset[str]:
        """What cannot be a fabrication: expected in any of the three lists, or configured (C-45).

        Made on first use: few answers name an entity that is not configured.
        """
        valid = distinct(self.valid_set, self.aliases).keys
        return self.keywords | self.topics | self.configured | valid

    @cached_property
    def spoken(self) -> str:
        """All that was said, as N2; made on first use, for the same reason."""
        return n2(spoken_text(self.case.transcript))

    def is_spoken(self, key: str) -> bool:
        """Whether the transcript holds the entity under any of its forms        C-46"""
        if not is_text(key):
            return False
        forms = [form for form, entity in self.aliases.items() if entity == key]
        return any(contains(self.spoken, form) for form in (key, *forms))


def read_reference(case: Case, sources: Sources) -> EntityReference:
    """The entities of a case; raises DataError where C-20 says so."""
    expected = case.expected_outcome
    documented_keys(expected, PARTS, case)
    parts = {
        part: strings(listed(expected, part, case, filled=False), f"expected_outcome.{part}")
        for part in PARTS
    }
    in_config = configured_list(case.config)
    as_written = parts[VALID_SET] if in_config is None else in_config
    aliases = read_aliases(case.config, configured_keys(as_written, {}))
    configured = configured_keys(as_written, aliases)
    keywords = distinct(parts[KEYWORDS], aliases).keys
    topics = distinct(parts[TOPICS], aliases).keys
    no_list = in_config is None and case.is_absent(VALID_SET)
    contradicted = not no_list and not keywords | topics <= configured
    return EntityReference(
        case=case,
        structure=structure_of(case, sources),
        aliases=aliases,
        keywords=keywords,
        topics=topics,
        configured=configured,
        as_written=as_written,
        valid_set=parts[VALID_SET],
        foreign=foreign_entities(keywords | topics, case, aliases),
        absent=_absent_metrics(case, no_list),
        flags=("expected_not_configured",) if contradicted else (),
    )


def _absent_metrics(case: Case, no_list: bool) -> frozenset[str]:
    """The metrics that a case without these parts does not take part in        C-127"""
    if not case.expected_parts:
        return frozenset()
    no_keywords, no_topics = case.is_absent(KEYWORDS), case.is_absent(TOPICS)
    absent = {
        *(OF_KEYWORDS if no_keywords else ()),
        *(OF_TOPICS if no_topics else ()),
        *(OF_EITHER if no_keywords and no_topics else ()),
        *((ADHERENCE,) if no_list else ()),
    }
    return frozenset(absent)
