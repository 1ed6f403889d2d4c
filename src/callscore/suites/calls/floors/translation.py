"""The source copied as translation; facts and judged metrics get the most lenient value.

The source contains the facts of the call, so all of them count as preserved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from callscore.metrics.text import contains, n2, plain_apostrophes, search_form
from callscore.scorecard.formula import TaskFormula
from callscore.suites.calls.floors.tally import FloorTally, Strategy, mean_share, share
from callscore.suites.calls.items import is_empty
from callscore.suites.calls.translation.judge_questions import (
    CRITICAL_FACTS,
    FLUENCY,
    MEANING,
    PROPER_NOUNS,
)
from callscore.suites.calls.translation.reference import NOUNS, TERMS, TranslationReference
from callscore.suites.calls.translation.sentence_match import SourceSentence, is_near
from callscore.suites.calls.translation.terms import TermTranslation

LONGEST_SHORT = 64
"""Longer sources that equal their translation are near it too, unless they have few letters."""
COMPLETENESS, DOMAIN_TERMS = "translation.completeness", "translation.domain_terms"


class TranslationFloor(FloorTally):
    """Counts what is right in a copy of the source."""

    def __init__(self) -> None:
        self._sentences: Counter[tuple[int, int]] = Counter()
        """Calls by (sentences that may be copied, all sentences)."""
        self._terms: list[int] = [0, 0]
        self._calls_with_terms = 0
        self._nouns: Counter[tuple[int, int]] = Counter()

    def add(self, reference: TranslationReference) -> None:
        """Count one call."""
        if not reference.sentences:
            return
        translated = sum(map(may_copy, reference.sentences.values()))
        self._sentences[translated, len(reference.sentences)] += 1
        if TERMS in reference.terms:
            kept, total = _count_kept(TERMS, reference)
            self._calls_with_terms += 1
            self._terms[0] += kept
            self._terms[1] += total
        if NOUNS in reference.terms:
            kept, total = _count_kept(NOUNS, reference)
            self._nouns[(kept, total) if total else (1, 1)] += 1

    def strategies(self, formula: TaskFormula) -> Iterable[Strategy]:
        """The only strategy."""
        calls = self._sentences.total()
        terms = share(*self._terms)
        rows = {
            COMPLETENESS: mean_share(self._sentences),
            MEANING: mean_share(self._sentences),
            FLUENCY: share(sum(n for (done, _), n in self._sentences.items() if done), calls),
            DOMAIN_TERMS: terms if terms is not None else 1.0 if self._calls_with_terms else None,
            PROPER_NOUNS: mean_share(self._nouns),
            CRITICAL_FACTS: 1.0 if calls else None,
        }
        return [Strategy("the source copied", rows, {DOMAIN_TERMS: terms})]


def may_copy(sentence: SourceSentence) -> bool:
    """Whether the source counts as a translation of itself        C-66"""
    source, human = sentence.source, sentence.translation
    if source == human or is_near(source, human):
        return True
    if is_empty(source):
        return False
    is_long = len(source) > LONGEST_SHORT
    return not any(map(str.isalpha, source)) or (not is_long and n2(source) == n2(human))


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
