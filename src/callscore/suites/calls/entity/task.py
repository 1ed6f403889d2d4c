"""The Entity task: prompt · read · ask · measure (003 Task 2). It needs no judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import ABSENT, MALFORMED, Measure, count
from callscore.core.task import FloorTally, Measured
from callscore.metrics.classification import counts
from callscore.suites.calls import spec
from callscore.suites.calls.call_task import CallTask
from callscore.suites.calls.entity import measures as formulas
from callscore.suites.calls.entity.identity import configured_list, distinct_entities
from callscore.suites.calls.entity.reference import (
    ADHERENCE,
    CROSS_LANGUAGE,
    FABRICATED,
    KEYWORD_F1,
    KEYWORD_PRECISION,
    KEYWORD_RECALL,
    KEYWORDS,
    NOT_CONFIGURED,
    TOPIC_F1,
    TOPIC_PRECISION,
    TOPIC_RECALL,
    TOPICS,
    VALID_SET,
    EntityReference,
    read_reference,
    refuse_blocked,
)
from callscore.suites.calls.prompt import build_prompt, distinct_texts, reply_form
from callscore.suites.calls.reply_parser import StructureSources, parse_reply, structure_of
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.structure import COMPLIES, DIFFERS

STRUCTURE = "entity.structure"
UNSPOKEN = f"{FABRICATED}/unspoken_entities"
NONE_UNSPOKEN: Mapping[str, Measure] = {UNSPOKEN: count(0)}
FEWEST_COPIED = 3
"""A list of fewer entities may well occur as a whole."""
OFFERED: Mapping[str, tuple[str, ...]] = {}
"""No metric of this task asks a judge."""


class EntityOutput(msgspec.Struct, frozen=True, gc=False):
    """The distinct entities that the model reported, by key.

    Its own valid_entity_set is dropped, as it is not scored (C-43).
    """

    keywords: frozenset[str]
    topics: frozenset[str]
    flags: Sequence[str]


class EntityTask(CallTask[EntityReference, EntityOutput]):
    """Detects configured keywords and topics."""

    name = "entity"

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sources = StructureSources(
            {}, open_maps=settings.open_maps, form=reply_form("entity")
        )

    def reference(self, case: Case) -> EntityReference:
        """The expected entities, checked: the configured list must have them   C-20, C-131"""
        reference = read_reference(case, self._sources, self.settings)
        refuse_blocked(reference)
        return reference

    def may_contradict(self, case: Case, reference: EntityReference) -> bool:
        """Whether an expected entity is not in the configured list."""
        return NOT_CONFIGURED in reference.flags

    def prompt(self, case: Case) -> Prompt:
        """The configured list and the transcript."""
        asked: dict[str, Any] = {}
        if configured_list(case.config) is None:
            asked["entities"] = distinct_texts(case.expected_outcome.get(VALID_SET))
        return build_prompt(case, asked, structure_of(case, self._sources))

    def read(self, reference: EntityReference, reply: Reply) -> EntityOutput | Malformed:
        """The model's entities, or why they cannot be scored."""
        parsed = parse_reply(reply, reference.structure, self.settings.parse)
        if isinstance(parsed, Malformed):
            return parsed
        keywords = distinct_entities(
            _reported_entities(KEYWORDS, parsed.value, reference), reference.aliases
        )
        topics = distinct_entities(
            _reported_entities(TOPICS, parsed.value, reference), reference.aliases
        )
        flags = keywords.flags | topics.flags
        if parsed.flags or reference.flags:
            flags = flags.union(parsed.flags, reference.flags)
        if _valid_set_differs(parsed.value, reference):
            flags |= {"valid_entity_set_differs"}
        if _is_copied_list(keywords.keys | topics.keys, reference):
            flags |= {"copied_list"}
        return EntityOutput(keywords.keys, topics.keys, sorted(flags) if flags else [])

    def ask(self, reference: EntityReference, output: EntityOutput) -> Sequence[Question]:
        """No questions: set arithmetic needs no judge."""
        return []

    def floor(self) -> FloorTally:
        """Scores of trivial answers        C-135"""
        from callscore.suites.calls.entity.floors import EntityFloor

        return EntityFloor()

    def measure(
        self, reference: EntityReference, output: EntityOutput | Malformed, verdicts: Verdicts
    ) -> Measured:
        """All Entity measures of one reply."""
        if isinstance(output, Malformed):
            return _malformed_measures(reference, output)
        keywords, topics = output.keywords, output.topics
        unspoken = formulas.unspoken_entities(keywords, topics, reference)
        of_keywords = counts(reference.keywords, keywords)
        of_topics = counts(reference.topics, topics)
        measures = {
            KEYWORD_PRECISION: formulas.detection_precision(of_keywords),
            KEYWORD_RECALL: formulas.detection_recall(of_keywords),
            KEYWORD_F1: formulas.detection_f1(of_keywords),
            TOPIC_PRECISION: formulas.detection_precision(of_topics),
            TOPIC_RECALL: formulas.detection_recall(of_topics),
            TOPIC_F1: formulas.detection_f1(of_topics),
            ADHERENCE: formulas.config_adherence(keywords, topics, reference),
            CROSS_LANGUAGE: formulas.cross_language_match_rate(keywords, topics, reference),
            FABRICATED: formulas.fabricated_count(
                formulas.fabricated_entities(unspoken, reference)
            ),
            STRUCTURE: COMPLIES,
        }
        for slug in reference.absent:
            measures[slug] = ABSENT
        secondary = {UNSPOKEN: count(len(unspoken))} if unspoken else NONE_UNSPOKEN
        return Measured(measures, output.flags, secondary)


def _reported_entities(
    part: str, answer: Mapping[str, Any], reference: EntityReference
) -> list[Any]:
    """A list of the reply; empty if the case declares it absent (C-127)."""
    case = reference.case
    return [] if case.expected_parts and case.is_absent(part) else answer[part]


def _valid_set_differs(answer: Mapping[str, Any], reference: EntityReference) -> bool:
    """Whether the model's own list differs from the configured one: only a warning (C-43)."""
    if reference.case.is_absent(VALID_SET):
        return False
    given = answer[VALID_SET]
    if given == reference.as_written:
        return False
    return distinct_entities(given, reference.aliases).keys != reference.configured


def _is_copied_list(reported: frozenset[str], reference: EntityReference) -> bool:
    """Whether the whole configured list is reported as detected, though it was not expected."""
    configured = reference.configured
    return (
        len(configured) >= FEWEST_COPIED
        and configured <= reported
        and not configured <= reference.keywords | reference.topics
    )


def _malformed_measures(reference: EntityReference, output: Malformed) -> Measured:
    measures = dict.fromkeys(spec.metric_names().by_task["entity"], MALFORMED)
    measures.update(dict.fromkeys(reference.absent, ABSENT))
    measures[STRUCTURE] = DIFFERS
    return Measured(measures, [output.cause, *reference.flags])
