"""The expected entities of one case, checked once, before any reply is scored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from callscore.core.case import Case, spoken_text
from callscore.core.errors import DataError
from callscore.metrics.text import contains, n2
from callscore.suites.calls.entity.identity import (
    NO_ENTITIES,
    Aliases,
    check_strings,
    configured_keys,
    configured_list,
    distinct_entities,
    is_text,
    key_of,
    read_aliases,
)
from callscore.suites.calls.items import NO_PARTS, check_keys, expected_list
from callscore.suites.calls.reply_parser import Structure, StructureSources, structure_of
from callscore.suites.calls.spec import Settings, load_spec

KEYWORDS, TOPICS, VALID_SET = "detected_keywords", "detected_topics", "valid_entity_set"
PARTS = (KEYWORDS, TOPICS, VALID_SET)
_PATHS = {part: f"expected_outcome.{part}" for part in PARTS}

NOT_CONFIGURED = "expected_not_configured"
ADHERENCE = "entity.config_adherence"
_NO_LANGUAGE = frozenset({"und", "mul", "mis", "zxx"})
"""Tags that name no language: undetermined, multiple, uncoded, none."""
FABRICATED = "entity.fabricated_count"
CROSS_LANGUAGE = "entity.cross_language_match_rate"
KEYWORD_PRECISION = "entity.keyword_precision"
KEYWORD_RECALL = "entity.keyword_recall"
KEYWORD_F1 = "entity.keyword_f1"
TOPIC_PRECISION = "entity.topic_precision"
TOPIC_RECALL = "entity.topic_recall"
TOPIC_F1 = "entity.topic_f1"
OF_KEYWORDS = (KEYWORD_PRECISION, KEYWORD_RECALL, KEYWORD_F1)
OF_TOPICS = (TOPIC_PRECISION, TOPIC_RECALL, TOPIC_F1)
OF_EITHER = (ADHERENCE, FABRICATED, CROSS_LANGUAGE)

MOST_NAMED = 10


class EntityReference(msgspec.Struct, frozen=True, dict=True):
    """The case, its expected entities by key, and the list they were chosen from.

    A part that the case declares absent is an empty set here, and its metrics are in
    `absent`. `as_written` is the configured list before normalisation (a copy of it needs no
    further check), `valid_set` the expected one.
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
    settings: Settings

    @cached_property
    def known_entities(self) -> frozenset[str]:
        """Not fabricated: expected in any of the three lists, or configured (C-45).

        Computed on first use: few replies name an entity that was not spoken.
        """
        valid = distinct_entities(self.valid_set, self.aliases).keys
        return self.keywords | self.topics | self.configured | valid

    @cached_property
    def n2_transcript(self) -> str:
        """The whole transcript as N2; computed on first use, for the same reason."""
        return n2(spoken_text(self.case.transcript))

    def is_spoken(self, key: str) -> bool:
        """Whether any form of the entity occurs in the transcript        C-46"""
        if not is_text(key):
            return False
        forms = [form for form, entity in self.aliases.items() if entity == key]
        return any(contains(self.n2_transcript, form) for form in (key, *forms))


def read_reference(case: Case, sources: StructureSources, settings: Settings) -> EntityReference:
    """The entities of a case; raises DataError (C-20)."""
    check_keys(case.expected_outcome, PARTS, case)
    given_keywords, given_topics = _entities(case, KEYWORDS), _entities(case, TOPICS)
    valid_set = _entities(case, VALID_SET)
    in_config = configured_list(case.config)
    as_written = valid_set if in_config is None else in_config
    configured = configured_keys(as_written)
    aliases = read_aliases(case.config, configured)
    if aliases:
        configured = distinct_entities(as_written, aliases).keys
    keywords = distinct_entities(given_keywords, aliases).keys
    topics = distinct_entities(given_topics, aliases).keys
    either = keywords | topics
    no_list = in_config is None and case.is_absent(VALID_SET)
    contradicted = not no_list and not either <= configured
    return EntityReference(
        case=case,
        structure=structure_of(case, sources),
        aliases=aliases,
        keywords=keywords,
        topics=topics,
        configured=configured,
        as_written=as_written,
        valid_set=valid_set,
        foreign=foreign_entities(either, case, aliases),
        absent=_absent_metrics(case, no_list),
        flags=(NOT_CONFIGURED,) if contradicted else (),
        settings=settings,
    )


def refuse_blocked(reference: EntityReference) -> None:
    """Raise if a perfect reply would be blocked: by entities missing in the list     C-131"""
    if NOT_CONFIGURED not in reference.flags:
        return
    configured = reference.configured
    total = len(reference.keywords) + len(reference.topics)
    outside = {
        KEYWORDS: sorted(reference.keywords - configured),
        TOPICS: sorted(reference.topics - configured),
    }
    gate = load_spec().metrics[ADHERENCE].gate
    assert gate is not None  # the framework makes it a blocker
    if ADHERENCE in reference.absent or not gate.is_breached(
        1 - sum(map(len, outside.values())) / total
    ):
        return
    part = KEYWORDS if outside[KEYWORDS] else TOPICS
    raise DataError(
        f"{', '.join(map(repr, outside[part]))} is not in the configured list, which contains "
        f"{_shorten(configured)}: a perfect answer would be blocked; expected entities of the list",
        field=f"expected_outcome.{part}",
    )


def _shorten(names: frozenset[str]) -> str:
    named = ", ".join(map(repr, sorted(names)[:MOST_NAMED]))
    return f"{named}, …" if len(names) > MOST_NAMED else named or "nothing"


def _entities(case: Case, part: str) -> list[str]:
    items = expected_list(case.expected_outcome, part, case, filled=False)
    return check_strings(items, _PATHS[part])


def _absent_metrics(case: Case, no_list: bool) -> frozenset[str]:
    """The metrics that do not apply to a case without these parts        C-127"""
    if not case.expected_parts:
        return NO_PARTS
    no_keywords, no_topics = case.is_absent(KEYWORDS), case.is_absent(TOPICS)
    absent = {
        *(OF_KEYWORDS if no_keywords else ()),
        *(OF_TOPICS if no_topics else ()),
        *(OF_EITHER if no_keywords and no_topics else ()),
        *((ADHERENCE,) if no_list else ()),
    }
    return frozenset(absent)


def primary_language(tag: str) -> str:
    """The language of a BCP 47 tag, lower case: `en` of `en-US`; empty if unknown."""
    language = tag.strip().replace("_", "-").partition("-")[0].lower()
    known = language.isascii() and language.isalpha() and len(language) in (2, 3)
    return language if known and language not in _NO_LANGUAGE else ""


def foreign_entities(expected: frozenset[str], case: Case, aliases: Aliases) -> frozenset[str]:
    """The expected entities whose configured form is not in the transcript's language     C-48

    Empty if either language is unknown: such a case is not cross-language.
    """
    given = case.config.get("entity_language")
    if given is None:
        return NO_ENTITIES
    spoken = _transcript_language(case)
    if isinstance(given, Mapping):
        languages = {
            key_of(entity, aliases): _language(tag, f"config.entity_language[{entity!r}]")
            for entity, tag in given.items()
        }
    else:
        languages = dict.fromkeys(expected, _language(given, "config.entity_language"))
    if not spoken:
        return NO_ENTITIES
    return frozenset(key for key in expected if languages.get(key, "") not in ("", spoken))


def _transcript_language(case: Case) -> str:
    source = case.config.get("source_language")
    given = "" if source is None else _language(source, "config.source_language")
    return primary_language(case.lang or "") or given


def _language(tag: object, field: str) -> str:
    if not isinstance(tag, str):
        raise DataError("expected a language tag as a string", field=field)
    return primary_language(tag)
