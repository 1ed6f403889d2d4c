"""What a word beside a number means: a month, a currency, a unit, a power of ten        C-76."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Mapping
from typing import Final, TypeVar

import msgspec

Meaning = TypeVar("Meaning")
Units = tuple[str, ...]

LOOK_BACK: Final = 10
MOST_REMEMBERED: Final = 4096
_NEED_A_CAPITAL: Final = frozenset({"may", "march"})
_ENDS_A_CLAUSE: Final = frozenset(",;:!?)")  # no currency is written so
_SIGNS_OF_MOMENTS: Final = frozenset("年년月월시点點时時")
_INDIC: Final = "\u0900"
"""From here on scripts write words with marks, which are no letters."""


class Before(msgspec.Struct, frozen=True, gc=False):
    """What a word before a number may mean; it may be nothing of this."""

    month: int | None
    currencies: Units
    currency: str
    """What of the word names the currencies."""


NOTHING: Final = Before(None, (), "")


class After(msgspec.Struct, frozen=True, gc=False):
    """What a word after a number may mean; it may be nothing of this."""

    is_of_moment: bool
    """Whether the number may be of a time or a date."""
    units: Units
    tens: int
    """The power of ten that the number is to be multiplied by; 0 where the word is none."""
    opens_pair: bool
    """Whether a unit or power of ten of two words begins with it."""


class Remembered(dict[str, Meaning]):
    """What words mean, each worked out once: few words stand beside most of the numbers."""

    def __init__(self, meaning: Callable[[str], Meaning]) -> None:
        self._meaning = meaning

    def __missing__(self, word: str) -> Meaning:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        meaning = self[word] = self._meaning(word)
        return meaning


def words_before(text: str, start: int) -> list[str]:
    """The word before a number, and all before it, as far back as a currency may stand"""
    return text[start - LOOK_BACK if start > LOOK_BACK else 0 : start].rsplit(None, 1)


def known(table: Container[str], word: str) -> str | None:
    """The word as the table has it: as it stands, else without case, else without its stop"""
    if word in table:
        return word
    folded = word.casefold().rstrip(".")
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    return folded if folded in table else None


def month_of(months: Mapping[str, int], word: str) -> int | None:
    """Which month the word names; "may" and "march" are other words as well"""
    name = known(months, word)
    if name is None or (name in _NEED_A_CAPITAL and word.islower()):
        return None
    return months[name]


def before_number(months: Mapping[str, int], units: Mapping[str, Units], word: str) -> Before:
    """A word before a number in a language with these tables"""
    month = month_of(months, word)
    word = word.lstrip("([{\"'“«/").rstrip(".")
    if word and word[-1] not in _ENDS_A_CLAUSE:
        for name in (word,) if word[-1].isalpha() else (word, word[-3:], word[-2:], word[-1]):
            meant = units.get(known(units, name) or "", ())
            if meant and meant[0].isupper():
                return Before(month, meant, name)
    return Before(month, (), "") if month else NOTHING


def after_number(
    moments: Container[str],
    units: Mapping[str, Units],
    scales: Mapping[str, int],
    openings: Container[str],
    word: str,
) -> After:
    """A word, or a pair, after a number in a language with these tables"""
    name = known(units, word) or known(scales, word) or ""
    meant = units.get(name, ())
    return After(
        _is_of_moment(moments, word),
        meant,
        0 if meant else scales.get(name, 0),
        known(openings, word) is not None,
    )


def _is_of_moment(moments: Container[str], word: str) -> bool:
    """All but a plain word may be; the sign of percent is never"""
    is_plain = word.isalpha() or (word > _INDIC and "%" not in word) or word == "%"
    return not is_plain or word[0] in _SIGNS_OF_MOMENTS or known(moments, word) is not None
