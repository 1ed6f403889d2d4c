"""Numbers with what makes them quantities: currency, scale, unit, the other end        C-76.

Signs are not read: a minus is written in too many ways to be compared by rule.
"""

import re
import unicodedata
from typing import Final

import msgspec

from callscore.core.patterns import late_pattern
from callscore.metrics.facts.fact import CLOCK, Key, Kind, Reading, Span, full_hour
from callscore.metrics.facts.identifiers import identifier_at, is_name, named
from callscore.metrics.facts.lexicon import LONGEST_UNSPACED, Lexicon, Marks, known
from callscore.metrics.facts.moments import is_month_after, time_at
from callscore.metrics.facts.numerals import (
    NUMBER,
    SPACED_NUMBER,
    is_less,
    scaled,
    values,
)
from callscore.metrics.text import is_unspaced_script

_DIGITS: Final = re.compile(r"\d+")
_WORD: Final = r"[^\s\d.,;:!?()\[\]{}\"'’“”«»…।、。，；：！？（）/<>|=+*\-–—~]"
_SPACE: Final = r"[ \t\u00a0\u2009\u202f\u3000]"  # a line's end parts a number from its unit
_AFTER: Final = re.compile(
    rf"({_SPACE}?-?{_SPACE}?)({_WORD}{{1,24}})(?:{_SPACE}({_WORD}{{1,24}}))?"
)
_ENDS_A_CLAUSE: Final = frozenset(",;:!?)")  # no currency is written so
_OF: Final = late_pattern(rf"\.(?={_SPACE})|{_SPACE}(?:de|of|di)(?={_SPACE})|{_SPACE}d['’]")
_WORD_BEFORE: Final = late_pattern(rf"({_WORD}{{1,8}})\.?{_SPACE}?$")
_DASH: Final = late_pattern(rf"{_SPACE}?[-–—−‐‑~〜～]{_SPACE}?")
_DIGIT_NEAR: Final = re.compile(
    r"\D{1,16}\d"
)  # a link is shorter than that, with its spaces and sign
_LINK: Final = late_pattern(rf"{_SPACE}?({_WORD}{{1,12}}){_SPACE}?")
_DURATIONS: Final = frozenset(
    {"second", "minute", "hour", "day", "workday", "week", "month", "year"}
)
_HOURS: Final = frozenset(map(str, range(25)))


class Page(msgspec.Struct, frozen=True, gc=False):
    """A text with ASCII digits, and the language it is read in."""

    text: str
    words: Lexicon
    marks: Marks


class _Quantity(msgspec.Struct, frozen=True, gc=False):
    values: tuple[str, ...]
    units: tuple[str, ...]
    start: int
    end: int
    is_bare: bool


class _After(msgspec.Struct, frozen=True, gc=False):
    """What follows a number: a power of ten, a unit, their end, or nothing that could be a unit."""

    scale: int
    units: tuple[str, ...]
    end: int
    is_nothing: bool


def quantity_at(page: Page, digits: Span) -> Reading:
    """The number, amount, percentage, duration or range that these digits begin"""
    first = _quantity(page, digits)
    second = _other_end(page, first)
    if second is not None:
        keys = tuple(
            ("range", low, high, unit)
            for unit in _common(first.units, second.units)
            for low in first.values
            for high in _full(low, second.values)
            if is_less(low, high)
        )
        if keys:
            return Reading("range", keys, (first.start, second.end))
    return _single(page, first)


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    if not any(first):
        return second
    return tuple(unit for unit in first if unit in second) if any(second) else first


def _full(low: str, highs: tuple[str, ...]) -> list[str]:
    """1998-99 is 1998-1999"""
    is_year = len(low) == 4 and low.isdecimal()
    return [low[:2] + high if is_year and len(high) == 2 else high for high in highs]


def _single(page: Page, quantity: _Quantity) -> Reading:
    start, end = span = (quantity.start, quantity.end)
    digits = page.text[start:end]
    if not quantity.values or (digits.isdecimal() and is_name(digits)):
        return named(page.text, start, end)
    keys = [
        _key(unit, value)
        for unit in quantity.units
        for value in quantity.values
        if unit != CLOCK or value in _HOURS
    ]
    return Reading(_kind(quantity.units[0]), tuple(keys), span, quantity.is_bare)


def _key(unit: str, value: str) -> Key:
    return full_hour(value) if unit == CLOCK else (_kind(unit), unit, value)


def _kind(unit: str) -> Kind:
    if unit == "%":
        return "percent"
    if unit in _DURATIONS:
        return "duration"
    return "amount" if unit.isupper() else "number"


def _other_end(page: Page, first: _Quantity) -> _Quantity | None:
    """The quantity after "-", "to" or "between … and", if it is one"""
    if not _DIGIT_NEAR.match(page.text, first.end):
        return None
    dash = _DASH.match(page.text, first.end)
    link = dash or _LINK.match(page.text, first.end)
    if not link or not first.values:
        return None
    if not dash and not _is_range_word(page, first, link[1]):
        return None
    at = link.end()
    sign = page.text[at : at + 1]
    if sign and unicodedata.category(sign) == "Sc":
        at += 1
    digits = _DIGITS.match(page.text, at)
    if not digits or time_at(page.text, digits.span(), page.words):
        return None
    if identifier_at(page.text, at, digits.span(), page.words):
        return None
    second = _quantity(page, digits.span())
    return None if is_month_after(page.text, second.end, page.words) else second


def _is_range_word(page: Page, first: _Quantity, word: str) -> bool:
    if known(page.words.range, word):
        return True
    if not known(page.words.and_, word):
        return False
    before = _WORD_BEFORE.search(page.text[max(0, first.start - 12) : first.start])
    return before is not None and known(page.words.between, before[1]) is not None


def _quantity(page: Page, digits: Span) -> _Quantity:
    """The number that these digits begin, with the unit or currency beside it"""
    start = digits[0]
    written, read = _number(page, digits)
    end = start + len(written)
    currency, begin = _currency_before(page, start)
    after = _after(page, end)
    units = after.units
    if "year" in units and len(written) == 4 and written.isdecimal():
        units = ()
    if currency and not any([unit.isupper() for unit in units]):
        units, end = currency, after.end if after.scale else end
    else:
        end = after.end
    is_bare = page.words.is_known and after.is_nothing and not units
    if after.scale:
        read = tuple([scaled(value, after.scale) for value in read])
    return _Quantity(read, units or ("",), begin, end, is_bare)


def _number(page: Page, digits: Span) -> tuple[str, tuple[str, ...]]:
    """The longest number written here; of a list such as 3,5,7 one member at a time"""
    start, end = digits
    pattern = SPACED_NUMBER if page.marks.space_groups else NUMBER
    match = pattern.match(page.text, start)
    is_in_list = (
        page.text[start - 1 : start] == "," and page.text[start - 2 : start - 1].isdecimal()
    )
    if match and match.end() > end and not is_in_list:
        read = values(match[0], page.marks)
        if read or match[0].count(".") > 1:
            return match[0], read
    return page.text[start:end], values(page.text[start:end], page.marks)


def _currency_before(page: Page, start: int) -> tuple[tuple[str, ...], int]:
    parts = page.text[max(0, start - 10) : start].rpartition("\n")[2].split()
    word = parts[-1].lstrip("([{\"'“«/").rstrip(".") if parts else ""
    if not word or word[-1] in _ENDS_A_CLAUSE:
        return (), start
    for name in (word,) if word[-1].isalpha() else (word, word[-3:], word[-2:], word[-1]):
        units = page.words.units.get(known(page.words.units, name) or "", ())
        if units and units[0].isupper():
            return units, page.text.rfind(name, 0, start)
    return (), start


def _after(page: Page, end: int) -> _After:
    scale = 0
    for _ in range(3):
        match = _AFTER.match(page.text, end)
        if not match:
            return _After(scale, (), end, not scale)
        word, length = _known_word(page.words, match)
        if word in page.words.units:
            return _After(scale, page.words.units[word], match.start(2) + length, False)
        if word not in page.words.scales:
            return _After(scale, (), end, False)
        scale += page.words.scales[word]
        end = match.start(2) + length
        linked = _OF.match(page.text, end)
        end = linked.end() if linked else end
    return _After(scale, (), end, False)


def _known_word(words: Lexicon, match: re.Match[str]) -> tuple[str, int]:
    """The longest word or pair of words after a number that the language knows, and its length"""
    gap, first, second = match.groups()
    candidates = [f"{first} {second}", first] if second else [first]
    if _may_begin_a_phrase(first[0], gap):
        longest = min(LONGEST_UNSPACED, len(first))
        candidates += [first[:length] for length in range(longest, 0, -1)]
    for candidate in candidates:
        name = known(words.units, candidate) or known(words.scales, candidate)
        if name:
            return name, len(candidate)
    return "", 0


def _may_begin_a_phrase(char: str, gap: str) -> bool:
    """Whether the unit may be only the beginning of what is written without a space"""
    if not char.isascii() and is_unspaced_script(char):
        return not gap or "\u4e00" <= char <= "\u9fff"
    return not gap and unicodedata.category(char)[0] in "SP"
