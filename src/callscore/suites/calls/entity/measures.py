"""Entity measures (003 Task 2). Formulas only; weights, bands and gates live in spec.toml."""

from __future__ import annotations

from callscore.core.measure import Measure, count, ratio, undefined, vacuous
from callscore.metrics import classification
from callscore.metrics.classification import Counts
from callscore.suites.calls.entity.identity import NO_ENTITIES
from callscore.suites.calls.entity.reference import EntityReference

NOTHING_TO_FIND = vacuous(1.0)
NOTHING_REPORTED = vacuous(1.0)
SILENT = vacuous(0.0)
NOTHING_FABRICATED = count(0)
NOT_CROSS_LANGUAGE = undefined("no expected entity is known to be in another language")


def detection_precision(c: Counts) -> Measure:
    """TP / (TP + FP); 1 if nothing was expected or found      003 Entity Metrics 1, 4, C-13"""
    return classification.precision(c) if c.tp or c.fp or c.fn else NOTHING_TO_FIND


def detection_recall(c: Counts) -> Measure:
    """TP / (TP + FN); 1 if nothing was expected or found      003 Entity Metrics 2, 5, C-13"""
    return classification.recall(c) if c.tp or c.fp or c.fn else NOTHING_TO_FIND


def detection_f1(c: Counts) -> Measure:
    """2 P R / (P + R); 1 if nothing was expected or found     003 Entity Metrics 3, 6, C-13"""
    return classification.f1(c) if c.tp or c.fp or c.fn else NOTHING_TO_FIND


def config_adherence(
    keywords: frozenset[str], topics: frozenset[str], reference: EntityReference
) -> Measure:
    """configured / (|keywords| + |topics|) of those reported        003 Entity Metric 7, C-44

    A reply that reports nothing scores 0 if something is expected (C-13).
    """
    total = len(keywords) + len(topics)
    if total == 0:
        return SILENT if reference.keywords or reference.topics else NOTHING_REPORTED
    configured = reference.configured
    return ratio(len(keywords & configured) + len(topics & configured), total)


def unspoken_entities(
    keywords: frozenset[str], topics: frozenset[str], reference: EntityReference
) -> frozenset[str]:
    """reported − expected keywords − expected topics − spoken, configured or not        C-45

    A value that is not a string equals nothing expected and is never spoken.
    """
    if keywords <= reference.keywords and topics <= reference.topics:
        return NO_ENTITIES
    unknown = (keywords | topics) - reference.keywords - reference.topics
    return frozenset(key for key in unknown if not reference.is_spoken(key))


def fabricated_entities(unspoken: frozenset[str], reference: EntityReference) -> frozenset[str]:
    """unspoken − configured − valid_entity_set        003 Fabricated Entity Count, C-45

    With `entity.fabricated: formula`, all that are unspoken.
    """
    if not unspoken or reference.settings.entity_fabricated == "formula":
        return unspoken
    return unspoken - reference.known_entities


def fabricated_count(fabricated: frozenset[str]) -> Measure:
    """|distinct fabricated entities of the call|        003 Fabricated Entity Count, C-47"""
    return count(len(fabricated)) if fabricated else NOTHING_FABRICATED


def cross_language_match_rate(
    keywords: frozenset[str], topics: frozenset[str], reference: EntityReference
) -> Measure:
    """matched / expected, of entities configured in another language        C-48 (ours)"""
    if not reference.foreign:
        return NOT_CROSS_LANGUAGE
    foreign_keywords = reference.keywords & reference.foreign
    foreign_topics = reference.topics & reference.foreign
    expected = len(foreign_keywords) + len(foreign_topics)
    return ratio(len(foreign_keywords & keywords) + len(foreign_topics & topics), expected)
