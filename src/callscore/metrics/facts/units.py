"""The meaning of a word next to a number: a month, a currency, a unit, a power of ten (C-76)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Mapping
from typing import Final, TypeVar

import msgspec

Meaning = TypeVar("Meaning")
Units = tuple[str, ...]

LOOK_BACK: Final = 10
MOST_CACHED: Final = 4096
_NEED_A_CAPITAL: Final = frozenset({"may", "march"})
_ENDS_A_CLAUSE: Final = frozenset(",;:!?)")  # no currency is written like this
_SIGNS_OF_MOMENTS: Final = frozenset("年년月월시点點时時")
_INDIC: Final = "\u0900"
"""From here on, scripts have words with combining marks, which are not letters."""


class PrecedingWord(msgspec.Struct, frozen=True, gc=False):
    """The possible meanings of a word before a number."""

    month: int | None
    currencies: Units
    currency: str
    """The part of the word that names the currencies."""


NOTHING: Final = PrecedingWord(None, (), "")


class FollowingWord(msgspec.Struct, frozen=True, gc=False):
    """The possible meanings of a word after a number."""

    is_of_moment: bool
    """Whether the number may belong to a time or a date."""
    units: Units
    tens: int
    """The power of ten of the word; 0 if it is none."""
    opens_pair: bool
    """Whether a unit or power of ten of two words begins with it."""


class MeaningCache(dict[str, Meaning]):
    """A cache of word meanings: most numbers have the same few neighbours."""

    def __init__(self, meaning: Callable[[str], Meaning]) -> None:
        self._meaning = meaning

    def __missing__(self, word: str) -> Meaning:
        if len(self) >= MOST_CACHED:
            self.clear()
        meaning = self[word] = self._meaning(word)
        return meaning


def words_before(text: str, start: int) -> list[str]:
    """The word before a number, and all before it, as far back as a currency may be"""
    return text[start - LOOK_BACK if start > LOOK_BACK else 0 : start].rsplit(None, 1)


def find_word(table: Container[str], word: str) -> str | None:
    """The word as in the table: exactly, else ignoring case, else without its full stop"""
    if word in table:
        return word
    folded = word.casefold().rstrip(".")
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    return folded if folded in table else None


def month_of(months: Mapping[str, int], word: str) -> int | None:
    """The month that the word names; "may" and "march" are other words as well"""
    name = find_word(months, word)
    if name is None or (name in _NEED_A_CAPITAL and word.islower()):
        return None
    return months[name]


def preceding_word(
    months: Mapping[str, int], units: Mapping[str, Units], word: str
) -> PrecedingWord:
    """A word before a number in a language with these tables"""
    month = month_of(months, word)
    word = word.lstrip("([{\"'“«/").rstrip(".")
    if word and word[-1] not in _ENDS_A_CLAUSE:
        for name in (word,) if word[-1].isalpha() else (word, word[-3:], word[-2:], word[-1]):
            meant = units.get(find_word(units, name) or "", ())
            if meant and meant[0].isupper():
                return PrecedingWord(month, meant, name)
    return PrecedingWord(month, (), "") if month else NOTHING


def following_word(
    moments: Container[str],
    units: Mapping[str, Units],
    scales: Mapping[str, int],
    openings: Container[str],
    word: str,
) -> FollowingWord:
    """A word, or a pair, after a number in a language with these tables"""
    name = find_word(units, word) or find_word(scales, word) or ""
    meant = units.get(name, ())
    return FollowingWord(
        _is_of_moment(moments, word),
        meant,
        0 if meant else scales.get(name, 0),
        find_word(openings, word) is not None,
    )


def _is_of_moment(moments: Container[str], word: str) -> bool:
    """Everything except a plain word may be; a percent sign never is"""
    is_plain = word.isalpha() or (word > _INDIC and "%" not in word) or word == "%"
    return not is_plain or word[0] in _SIGNS_OF_MOMENTS or find_word(moments, word) is not None
