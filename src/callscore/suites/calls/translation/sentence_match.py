"""Classifies each sentence of a reply: the human's own words, another wording, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, cached_property

import msgspec

from callscore.core.spec import holds
from callscore.metrics.text import n1, n2, plain_apostrophes
from callscore.suites.calls.items import PLACEHOLDERS, is_empty

NEARLY_EQUAL, CLEARLY_MORE, FEWEST_LETTERS = 0.9, 0.1, 12
"""When a text is a near copy of the source (C-66)."""
ROUGHLY = 0.6
"""Texts whose lengths, or raw letters, are less similar are not nearly equal under N2."""

_PLACEHOLDER_STARTS = PLACEHOLDERS | {form.partition(" ")[0] for form in PLACEHOLDERS}


class SourceSentence(msgspec.Struct, frozen=True, dict=True):
    """One sentence of the source and its human translation."""

    id: str
    source: str
    translation: str

    @cached_property
    def n1_text(self) -> str:
        """The human translation as N1."""
        return n1(self.translation)

    @cached_property
    def search_text(self) -> str:
        """The human translation, prepared for searching        C-71"""
        return plain_apostrophes(self.n1_text)


class SentenceState(Enum):
    """What a reply has for a sentence; the first two count as translated."""

    SAME = "the human's own words"
    OTHER = "another wording"
    COPIED = "the source again"
    NONE = "nothing"


class ModelSentence(msgspec.Struct, frozen=True, gc=False):
    """The text of a reply for one source sentence; `n1_text` may be empty if it is the human's."""

    expected: SourceSentence
    state: SentenceState
    text: str = ""
    n1_text: str = ""

    @property
    def is_translated(self) -> bool:
        """Whether there is a translation        C-65, C-66"""
        return self.state is SentenceState.SAME or self.state is SentenceState.OTHER


class ModelTranslation(msgspec.Struct, frozen=True, dict=True):
    """The translation of a reply: a sentence per source sentence, in the order of the reference."""

    by_id: Mapping[str, ModelSentence]
    is_reference: bool
    """Whether every sentence is the human's own."""

    @property
    def text(self) -> str:
        """The text of the reply, one sentence per line."""
        return "\n".join([sentence.text.replace("\n", " ") for sentence in self.by_id.values()])

    @cached_property
    def search_text(self) -> str:
        """The text of the reply, prepared for searching        C-71"""
        forms = [
            sentence.expected.n1_text if sentence.state is SentenceState.SAME else sentence.n1_text
            for sentence in self.by_id.values()
        ]
        return plain_apostrophes(" ".join(filter(None, forms)))

    @cached_property
    def folded_text(self) -> str:
        """The text of the reply, prepared for searching and case-folded        C-72"""
        return self.search_text.casefold()


def classify_sentence(sentence: SourceSentence, text: str) -> ModelSentence:
    """Compare one returned text with the human's        C-65, C-66, C-67"""
    if text == sentence.translation:
        return ModelSentence(sentence, SentenceState.SAME, text)
    written = n1(text)
    if written == sentence.n1_text:
        return ModelSentence(sentence, SentenceState.SAME, text, written)
    return ModelSentence(sentence, _classify(sentence, written), text, written)


def _classify(sentence: SourceSentence, written: str) -> SentenceState:
    start = n2(written.partition(" ")[0])
    may_be_empty = not start[:1].isalnum() or start in _PLACEHOLDER_STARTS
    if may_be_empty and _says_nothing(sentence, written):
        return SentenceState.NONE
    return SentenceState.COPIED if _is_copied(sentence, written, start) else SentenceState.OTHER


def _says_nothing(sentence: SourceSentence, written: str) -> bool:
    """Empty or a placeholder, although the human translation is not        C-59, C-65"""
    return not written or (is_empty(written) and not is_empty(sentence.translation))


def _is_copied(sentence: SourceSentence, written: str, start: str) -> bool:
    """A copy or near copy of the source (N2), with letters that the human changed        C-66

    If the human translation is nearly the source too, the source is already in the target language
    and may be copied.
    """
    if _is_exact_copy(sentence, written, start):
        return not is_near(sentence.source, sentence.translation)
    return _is_near_copy(sentence, written)


def _is_exact_copy(sentence: SourceSentence, written: str, start: str) -> bool:
    """The first words are compared first, which is enough for most texts."""
    words = sentence.source.split(None, 1)
    source_start = n2(words[0]) if words else ""
    if not (start.startswith(source_start) or source_start.startswith(start)):
        return False
    form = n2(sentence.source)
    return (
        n2(written) == form
        and n2(sentence.translation) != form
        and any(map(str.isalpha, sentence.source))
    )


def _is_near_copy(sentence: SourceSentence, written: str) -> bool:
    """Similarity to the source ≥ 0.9, the human's ≥ 0.1 lower, 12 letters or more        C-66"""
    copied = near_similarity(sentence.source, written)
    if not copied:
        return False
    human = text_similarity(sentence.source, sentence.translation)
    return human < NEARLY_EQUAL and holds(copied - human, ">=", CLEARLY_MORE)


def is_near(source: str, text: str) -> bool:
    """Whether a text is nearly a source of 12 letters or more        C-66"""
    return near_similarity(source, text) > 0


def near_similarity(source: str, text: str) -> float:
    """The similarity of a text to a source of 12 letters or more if it is at least 0.9, else 0.

    Nearly every text differs before anything is normalised.
    """
    one, other = len(source), len(text)
    if one < FEWEST_LETTERS or one < ROUGHLY * other or other < ROUGHLY * one:
        return 0.0
    if _is_other_script(source, text) or not _is_roughly_alike(source, text):
        return 0.0
    if sum(map(str.isalpha, source)) < FEWEST_LETTERS:
        return 0.0
    found = text_similarity(source, text)
    return found if holds(found, ">=", NEARLY_EQUAL) else 0.0


def _is_other_script(source: str, text: str) -> bool:
    """Whether most letters of a text are not ASCII while the source is: another script."""
    if text.isascii() or not source.isascii():
        return False
    return 2 * sum(map(source.lower().__contains__, text.casefold())) < len(text)


def _is_roughly_alike(source: str, text: str) -> bool:
    return _ratio()(source.casefold(), text.casefold(), score_cutoff=100 * ROUGHLY) > 0


def text_similarity(one: str, other: str) -> float:
    """1 − insertions and deletions / letters of both, under N2        C-66"""
    return _ratio()(n2(one), n2(other)) / 100


@cache
def _ratio() -> Callable[..., float]:
    """Imported on first use: it takes a tenth of the start-up time, and many runs never need it."""
    from rapidfuzz.fuzz import ratio

    return ratio
