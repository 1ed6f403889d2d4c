"""The source written twice in place of a translation.

Twice, because a single copy counts as no translation (C-66). The source contains the facts of the
call, so all of them count as preserved. Meaning and fluency are the model's own if it was judged;
otherwise meaning is the share of the human's words that the source has, and fluency is 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from callscore.core.task import FloorTally, Strategy
from callscore.metrics.text import contains, plain_apostrophes, search_form
from callscore.scorecard.floors import mean_share, share
from callscore.suites.calls.translation.judge_questions import (
    CRITICAL_FACTS,
    FLUENCY,
    MEANING,
    PROPER_NOUNS,
)
from callscore.suites.calls.translation.reference import NOUNS, TERMS, TranslationReference
from callscore.suites.calls.translation.sentence_match import SourceSentence
from callscore.suites.calls.translation.terms import TermTranslation

COMPLETENESS, DOMAIN_TERMS = "translation.completeness", "translation.domain_terms"


class TranslationFloor(FloorTally):
    """Counts what is right in a copy of the source."""

    judged = frozenset({MEANING, FLUENCY})

    def __init__(self) -> None:
        self._overlaps: list[float] = []
        """By call, the mean overlap of a sentence."""
        self._terms: list[int] = [0, 0]
        self._calls_with_terms = 0
        self._nouns: Counter[tuple[int, int]] = Counter()

    def add(self, reference: TranslationReference) -> None:
        """Count one call."""
        if not reference.sentences:
            return
        overlaps = [word_overlap(sentence) for sentence in reference.sentences.values()]
        self._overlaps.append(math.fsum(overlaps) / len(overlaps))
        if TERMS in reference.terms:
            kept, total = _count_kept(TERMS, reference)
            self._calls_with_terms += 1
            self._terms[0] += kept
            self._terms[1] += total
        if NOUNS in reference.terms:
            kept, total = _count_kept(NOUNS, reference)
            self._nouns[(kept, total) if total else (1, 1)] += 1

    def __iadd__(self, later: TranslationFloor) -> Self:
        """Add the counts of later calls."""
        self._overlaps += later._overlaps
        self._terms = [own + more for own, more in zip(self._terms, later._terms, strict=True)]
        self._calls_with_terms += later._calls_with_terms
        self._nouns.update(later._nouns)
        return self

    def strategies(self) -> Iterable[Strategy]:
        """The only strategy."""
        calls = len(self._overlaps)
        terms = share(*self._terms)
        certain = 1.0 if calls else None
        rows = {
            COMPLETENESS: certain,
            MEANING: share(math.fsum(self._overlaps), calls),
            FLUENCY: certain,
            DOMAIN_TERMS: terms if terms is not None else 1.0 if self._calls_with_terms else None,
            PROPER_NOUNS: mean_share(self._nouns),
            CRITICAL_FACTS: certain,
        }
        return [Strategy("the source written twice", rows)]


def word_overlap(sentence: SourceSentence) -> float:
    """The share of the human's words that the source has as well; 1 if the human has none"""
    if sentence.source == sentence.translation:
        return 1.0
    human = set(sentence.translation.casefold().split())
    shared = human.intersection(sentence.source.casefold().split())
    return len(shared) / len(human) if human else 1.0


def _count_kept(part: str, reference: TranslationReference) -> tuple[int, int]:
    """How many terms, or names, a copy renders as people did, and their number      C-70, C-72"""
    terms: Sequence[TermTranslation] = reference.terms[part]
    if not terms:
        return 0, 0
    sentences = [
        (plain_apostrophes(one.source), plain_apostrophes(one.translation))
        for one in reference.sentences.values()
    ]
    is_noun = part == NOUNS
    if is_noun:
        sentences = [(source.casefold(), human.casefold()) for source, human in sentences]
    lost = {
        term.name
        for term in terms
        if not _is_kept(search_form(term.form, ignore_case=is_noun), sentences)
    }
    total = len({term.name for term in terms})
    return total - len(lost), total


def _is_kept(form: str, sentences: Sequence[tuple[str, str]]) -> bool:
    """Whether every sentence whose human translation has the form has it in the source too."""
    containing = [pair for pair in sentences if form in pair[1]]
    if not containing:
        is_copied = all(source == human for source, human in sentences)
        return is_copied or any(contains(source, form) for source, _ in sentences)
    as_words = [source for source, human in containing if contains(human, form)]
    if as_words:
        return all(contains(source, form) for source in as_words)
    return all(form in source for source, _ in containing)
