"""Questions about a translation for judge and embedder, and how their verdicts count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.items import CANNOT_TELL, is_confirmed
from callscore.suites.calls.translation.sentence_match import (
    ModelSentence,
    ModelTranslation,
    SentenceState,
)
from callscore.suites.calls.translation.terms import (
    LocatedTerm,
    has_term,
    may_be_inflected,
    missing_forms,
)

MEANING, FLUENCY = "translation.meaning", "translation.fluency"
PROPER_NOUNS, CRITICAL_FACTS = "translation.proper_nouns", "translation.critical_facts"

ANCHORS: Mapping[str, float] = {
    "native": 1.0,
    "minor": 0.75,
    "noticeable": 0.5,
    "significant": 0.25,
    "incomprehensible": 0.0,
}
"""The framework's five anchors of fluency; no other value is accepted (C-69)."""
IDENTICAL, NATIVE = 1.0, ANCHORS["native"]
"""The similarity and the fluency of the human's own words (C-67, C-69)."""

FACT_WORDS = ("preserved", "altered", "omitted", CANNOT_TELL)
OUTCOME_WORDS = ("outcome", "no_outcome", CANNOT_TELL)
"""Offered once per case, for a question about the reference (C-74)."""
OUTCOME_PREFIX = "outcome:"
"""The items of such questions begin with it."""

OFFERED: Mapping[str, tuple[str, ...]] = {
    MEANING: (),
    FLUENCY: (*ANCHORS, CANNOT_TELL),
    PROPER_NOUNS: ("same_name", "different_name", CANNOT_TELL),
    CRITICAL_FACTS: FACT_WORDS,
}
VALUES: Mapping[str, tuple[float, ...]] = {FLUENCY: tuple(ANCHORS.values())}


def similarity(sentence: ModelSentence, verdicts: Verdicts) -> float | None:
    """1 for the human's own words, 0 for no translation, else the lowest cosine        C-67"""
    if sentence.state is SentenceState.SAME:
        return IDENTICAL
    if sentence.state is not SentenceState.OTHER:
        return 0.0
    if not verdicts:
        return None
    cosines = [verdict.value for verdict in verdicts.get(Item(MEANING, sentence.expected.id), ())]
    return min((c for c in cosines if c is not None and math.isfinite(c)), default=None)


def fluency(sentence: ModelSentence, verdicts: Verdicts, flags: set[str]) -> float | None:
    """The lowest anchor of a translated sentence; the human's own words are native        C-69

    An abstention is not an anchor: the sentence still awaits one.
    """
    if sentence.state is SentenceState.SAME:
        return NATIVE
    if not verdicts:
        return None
    anchors = []
    for verdict in verdicts.get(Item(FLUENCY, sentence.expected.id), ()):
        if verdict.verdict == CANNOT_TELL:
            flags.add("abstained")
        elif verdict.verdict is not None and verdict.verdict in ANCHORS:
            anchors.append(ANCHORS[verdict.verdict])
        elif verdict.value is not None and verdict.value in VALUES[FLUENCY]:
            anchors.append(verdict.value)
    return min(anchors, default=None)


def is_same_name(
    noun: LocatedTerm, translation: ModelTranslation, verdicts: Verdicts, flags: set[str]
) -> bool:
    """Whether code finds the name or a judge accepts it; without a judge it must be found   C-72"""
    if has_term(noun, translation):
        return True
    accepted = is_confirmed(verdicts, Item(PROPER_NOUNS, noun.name), "same_name", flags)
    if accepted is None and may_be_inflected(noun, translation):
        flags.add("maybe_inflected")
    return bool(accepted)


def sentence_questions(translation: ModelTranslation) -> Iterable[Question]:
    """Ask for a similarity and an anchor for every sentence that differs from the reference."""
    for key, sentence in translation.by_id.items():
        if sentence.state is SentenceState.OTHER:
            text, reference = sentence.text, sentence.expected.translation
            yield Question(MEANING, key, text, reference, OFFERED[MEANING])
            yield Question(FLUENCY, key, text, reference, OFFERED[FLUENCY])


def name_questions(
    nouns: Sequence[LocatedTerm], translation: ModelTranslation
) -> Iterable[Question]:
    """Ask about every name that may be inflected; one that is missing needs no judge."""
    for noun in nouns:
        if not has_term(noun, translation) and may_be_inflected(noun, translation):
            form, sentence = missing_forms(noun, translation)[0]
            yield Question(PROPER_NOUNS, noun.name, sentence, form, OFFERED[PROPER_NOUNS])
