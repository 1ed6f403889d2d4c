"""What an answer makes of each sentence: the human's own words, another wording, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, cached_property

import msgspec

from callscore.core.rating import holds
from callscore.metrics.text import n1, n2
from callscore.suites.calls.placeholders import PLACEHOLDERS, is_empty

NEARLY_EQUAL, CLEARLY_MORE, FEWEST_LETTERS = 0.9, 0.1, 12
"""What makes a text the source again, though not letter for letter (C-66)."""
ROUGHLY = 0.6
"""Texts whose lengths, or letters as written, are less alike are not nearly equal under N2."""

_PLACEHOLDER_STARTS = PLACEHOLDERS | {form.partition(" ")[0] for form in PLACEHOLDERS}


class Sentence(msgspec.Struct, frozen=True, dict=True):
    """One sentence of the source and its human translation."""

    id: str
    source: str
    translation: str

    @cached_property
    def written(self) -> str:
        """The human translation as N1."""
        return n1(self.translation)


class State(Enum):
    """What became of a sentence; each but the last two counts as translated."""

    SAME = "the human's own words"
    OTHER = "another wording"
    COPIED = "the source again"
    NONE = "nothing"


class Rendering(msgspec.Struct, frozen=True, gc=False):
    """One sentence as an answer gives it, with its N1 where it is not the human's own."""

    sentence: Sentence
    state: State
    text: str = ""
    written: str = ""

    @property
    def is_translated(self) -> bool:
        """Whether there is a translation at all        C-65, C-66"""
        return self.state is State.SAME or self.state is State.OTHER


class Rendered(msgspec.Struct, frozen=True, dict=True):
    """A whole answer, one rendering for every expected sentence, in the reference's order."""

    by_id: Mapping[str, Rendering]
    is_reference: bool
    """Whether every sentence is the human's own."""

    @property
    def text(self) -> str:
        """All that the answer says, one sentence a line."""
        return "\n".join([rendering.text.replace("\n", " ") for rendering in self.by_id.values()])

    @cached_property
    def written(self) -> str:
        """All that the answer says, as N1."""
        forms = [
            rendering.sentence.written if rendering.state is State.SAME else rendering.written
            for rendering in self.by_id.values()
        ]
        return " ".join(filter(None, forms))

    @cached_property
    def folded(self) -> str:
        """All that the answer says, where case does not matter."""
        return self.written.casefold()


def render(sentence: Sentence, text: str) -> Rendering:
    """One returned text and the human's        C-65, C-66, C-67"""
    if text == sentence.translation:
        return Rendering(sentence, State.SAME, text)
    written = n1(text)
    if written == sentence.written:
        return Rendering(sentence, State.SAME, text, written)
    return Rendering(sentence, _state(sentence, written), text, written)


def _state(sentence: Sentence, written: str) -> State:
    start = n2(written.partition(" ")[0])
    may_be_empty = not start[:1].isalnum() or start in _PLACEHOLDER_STARTS
    if may_be_empty and _says_nothing(sentence, written):
        return State.NONE
    return State.COPIED if _is_copied(sentence, written, start) else State.OTHER


def _says_nothing(sentence: Sentence, written: str) -> bool:
    """Empty or a placeholder, where the human has something to say        C-59, C-65"""
    return not written or (is_empty(written) and not is_empty(sentence.translation))


def _is_copied(sentence: Sentence, written: str, start: str) -> bool:
    """The source again (N2), or nearly, though it has letters and the human changed it        C-66

    Where the human's translation is nearly the source, too, the source is in the target language
    already, and may be copied.
    """
    if _is_exact_copy(sentence, written, start):
        return not is_near(sentence.source, sentence.translation)
    return _is_near_copy(sentence, written)


def _is_exact_copy(sentence: Sentence, written: str, start: str) -> bool:
    """The first words are compared before the whole: two texts that differ there differ."""
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


def _is_near_copy(sentence: Sentence, written: str) -> bool:
    """Likeness to the source ≥ 0.9, and the human's ≥ 0.1 below, of 12 letters or more      C-66"""
    copied = near_likeness(sentence.source, written)
    if not copied:
        return False
    human = likeness(sentence.source, sentence.translation)
    return human < NEARLY_EQUAL and holds(copied - human, ">=", CLEARLY_MORE)


def is_near(source: str, text: str) -> bool:
    """Whether a text is nearly a source of 12 letters or more        C-66"""
    return near_likeness(source, text) > 0


def near_likeness(source: str, text: str) -> float:
    """The likeness of a text to a source of 12 letters or more where it is 0.9 or more, else 0.

    Nearly every text differs as written, before anything is normalised.
    """
    one, other = len(source), len(text)
    if one < FEWEST_LETTERS or one < ROUGHLY * other or other < ROUGHLY * one:
        return 0.0
    if _is_in_other_letters(source, text) or not _roughly_alike(source, text):
        return 0.0
    if sum(map(str.isalpha, source)) < FEWEST_LETTERS:
        return 0.0
    found = likeness(source, text)
    return found if holds(found, ">=", NEARLY_EQUAL) else 0.0


def _is_in_other_letters(source: str, text: str) -> bool:
    """Whether most letters of a text are none of an ASCII source: another script, at a glance."""
    if text.isascii() or not source.isascii():
        return False
    return 2 * sum(map(source.lower().__contains__, text.casefold())) < len(text)


def _roughly_alike(source: str, text: str) -> bool:
    return _ratio()(source.casefold(), text.casefold(), score_cutoff=100 * ROUGHLY) > 0


def likeness(one: str, other: str) -> float:
    """1 − insertions and deletions / letters of both, under N2        C-66"""
    return _ratio()(n2(one), n2(other)) / 100


@cache
def _ratio() -> Callable[..., float]:
    """Imported at the first use: it takes a tenth of the start, and many runs do without."""
    from rapidfuzz.fuzz import ratio

    return ratio
