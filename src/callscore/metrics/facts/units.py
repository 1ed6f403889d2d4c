"""The meaning of a word next to a number: a month, a currency, a unit, a power of ten (C-76)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Mapping
from typing import Final, TypeVar

import msgspec

Meaning = TypeVar("Meaning")
Units = tuple[str, ...]

LOOK_BACK: Final = 10
"""The most characters between a currency and its number, the currency included."""
MOST_CACHED: Final = 4096
_CAPITALISED_MONTHS: Final = frozenset({"may", "march"})
"""Months only with a capital: in lower case they are other words."""
_CLAUSE_ENDS: Final = frozenset(",;:!?)")
"""No currency ends with one of these."""
_MOMENT_SIGNS: Final = frozenset("年년月월시点點时時")
_INDIC: Final = "\u0900"
"""From here on, scripts have words with combining marks, which are not letters."""


class PrecedingWord(msgspec.Struct, frozen=True, gc=False):
    """The possible meanings of a word before a number."""

    month: int | None
    currencies: Units
    currency: str
    """The part of the word that names the currencies."""


NO_MEANING: Final = PrecedingWord(None, (), "")


class FollowingWord(msgspec.Struct, frozen=True, gc=False):
    """The possible meanings of a word after a number."""

    may_be_moment: bool
    """Whether the number may belong to a time or a date."""
    units: Units
    tens: int
    """The power of ten that the word names, or 0."""
    opens_pair: bool
    """Whether a unit or a power of ten of two words begins with it."""


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
    """The word before a number, preceded by the rest of the text in which a currency may be."""
    return text[start - LOOK_BACK if start > LOOK_BACK else 0 : start].rsplit(None, 1)


def find_word(table: Container[str], word: str) -> str | None:
    """The word as the table has it: exactly, or without case and final full stop; else None."""
    if word in table:
        return word
    folded = word.casefold().rstrip(".")
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    return folded if folded in table else None


def month_of(months: Mapping[str, int], word: str) -> int | None:
    """The number of the month that the word names; None if it names none."""
    name = find_word(months, word)
    if name is None or (name in _CAPITALISED_MONTHS and word.islower()):
        return None
    return months[name]


def preceding_word(
    months: Mapping[str, int], units: Mapping[str, Units], word: str
) -> PrecedingWord:
    """The meanings of a word before a number, in a language with these tables."""
    month = month_of(months, word)
    word = word.lstrip("([{\"'“«/").rstrip(".")
    if word and word[-1] not in _CLAUSE_ENDS:
        for name in (word,) if word[-1].isalpha() else (word, word[-3:], word[-2:], word[-1]):
            currencies = units.get(find_word(units, name) or "", ())
            if currencies and currencies[0].isupper():
                return PrecedingWord(month, currencies, name)
    return PrecedingWord(month, (), "") if month else NO_MEANING


def following_word(
    moments: Container[str],
    units: Mapping[str, Units],
    scales: Mapping[str, int],
    openings: Container[str],
    word: str,
) -> FollowingWord:
    """The meanings of a word, or a pair, after a number, in a language with these tables."""
    name = find_word(units, word) or find_word(scales, word) or ""
    named_units = units.get(name, ())
    return FollowingWord(
        _may_be_moment(moments, word),
        named_units,
        0 if named_units else scales.get(name, 0),
        find_word(openings, word) is not None,
    )


def _may_be_moment(moments: Container[str], word: str) -> bool:
    """Whether it may belong to a time or a date: not a percent sign, nor most plain words."""
    is_plain = word.isalpha() or (word > _INDIC and "%" not in word) or word == "%"
    return not is_plain or word[0] in _MOMENT_SIGNS or find_word(moments, word) is not None
