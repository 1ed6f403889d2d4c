"""Extraction of facts in digits, by rule: numbers, dates, amounts, identifiers (C-74, C-76).

Numbers in words and months alone are left out: comparing them needs a judge. Signs are ignored: a
minus is written in too many ways to be compared by rule.

A value is a plain decimal string without grouping and unnecessary zeros, so that equality is
equality of strings and a megabyte of digits costs no more than reading it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import msgspec

from callscore.core.lazy import lazy_regex
from callscore.metrics.facts.fact import CLOCK, Fact, FactMatch, Key, Kind, full_hour
from callscore.metrics.facts.identifiers import (
    JOINING,
    groups_at,
    identifier_at,
    is_name,
    make_identifier,
)
from callscore.metrics.facts.lexicon import (
    LONGEST_UNSPACED,
    NO_MEANING,
    FactLexicon,
    MeaningCache,
    NumberFormat,
    Units,
    find_word,
    lexicon,
    words_before,
)
from callscore.metrics.facts.moments import date_at, is_month_after, may_be_moment, time_at
from callscore.metrics.text import digits_to_ascii, is_unspaced_script

_DIGITS_AND_MARKS: Final = "0123456789.,"
_HARD_SPACES: Final = "\u00a0\u202f\u2009"
_THREE: Final = r"(?=\d{3}(?!\d))"
_TAIL: Final = rf"[.,'’]|[{_HARD_SPACES}]{_THREE}| , {_THREE}| \. "

# A list "1,1,1,…" is matched again from each of its members, so each match must be short.
_MOST_GROUPS: Final = 12

# Tokenised speech has "186 , 900" or "4 . 5".
NUMBER: Final = re.compile(rf"\d+(?:(?:{_TAIL})\d+){{0,{_MOST_GROUPS}}}")
SPACED_NUMBER: Final = lazy_regex(rf"\d+(?:(?:{_TAIL}| {_THREE})\d+){{0,{_MOST_GROUPS}}}")

_GROUPED: Final = lazy_regex(r"\d{1,3}(?:(\D)\d{3})(?:\1\d{3})*|\d{1,2}(?:,\d{2})+,\d{3}")
_GROUP_SPACE: Final = lazy_regex(rf"[ {_HARD_SPACES}]")


def possible_values(written: str, marks: NumberFormat) -> tuple[str, ...]:
    """The possible values of a written number, the likelier first; empty if it is not one"""
    if written.isdecimal():
        return (written.lstrip("0") or "0",)
    compact = _strip_grouping(written)
    if compact is None:
        return ()
    if compact.isdecimal():
        return (compact.lstrip("0") or "0",)
    points, commas = compact.count("."), compact.count(",")
    if points and commas:
        return _value_with_both_marks(compact)
    mark = "." if points else ","
    if points + commas != 1:
        return (strip_zeros(compact.replace(mark, ""), ""),) if _is_grouped(compact) else ()
    whole, _, fraction = compact.partition(mark)
    decimal = strip_zeros(whole, fraction)
    # three digits after the only mark may be thousands: "1.234" has two readings
    if len(fraction) != 3 or len(whole) > 3 or whole == "0":
        return (decimal,)
    grouped = strip_zeros(whole + fraction, "")
    if len(marks.decimals) == 1:
        return (decimal,) if mark == marks.decimals else (grouped,)
    return (decimal, grouped) if mark == marks.decimals[0] else (grouped, decimal)


def strip_zeros(whole: str, fraction: str) -> str:
    """The decimal string without unnecessary zeros"""
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def scale_value(value: str, tens: int) -> str:
    """The value times ten to the power of `tens`"""
    whole, _, fraction = value.partition(".")
    fraction = fraction.ljust(tens, "0")
    return strip_zeros(whole + fraction[:tens], fraction[tens:])


def is_less(low: str, high: str) -> bool:
    """Whether one decimal string is smaller than the other, of any length"""
    low_whole, _, low_fraction = low.partition(".")
    high_whole, _, high_fraction = high.partition(".")
    return (len(low_whole), low_whole, low_fraction) < (len(high_whole), high_whole, high_fraction)


def _strip_grouping(written: str) -> str | None:
    """The number without grouping spaces and apostrophes; None if they do not group by three"""
    if not written.strip(_DIGITS_AND_MARKS):
        return written
    joined = written.replace(" , ", ",").replace(" . ", ".").replace("’", "'")
    if not _GROUP_SPACE.search(joined) and "'" not in joined:
        return joined
    whole = re.split("[.,]", joined, maxsplit=1)[0]
    if not _GROUPED.fullmatch(_GROUP_SPACE.sub(" ", whole)):
        return None
    return _GROUP_SPACE.sub("", joined).replace("'", "")


def _is_grouped(number: str) -> bool:
    return _GROUPED.fullmatch(number) is not None


def _value_with_both_marks(number: str) -> tuple[str, ...]:
    decimal = max(".,", key=number.rfind)
    grouping = "," if decimal == "." else "."
    whole, _, fraction = number.rpartition(decimal)
    if decimal in whole or not _is_grouped(whole) or grouping in fraction:
        return ()
    return (strip_zeros(whole.replace(grouping, ""), fraction),)


_WORD: Final = r"[^\s\d.,;:!?()\[\]{}\"'’“”«»…।、。，；：！？（）/<>|=+*\-–—~]"
# the end of a line separates a number from its unit
_SPACE: Final = r"[ \t\u00a0\u2009\u202f\u3000]"
_NEXT: Final = rf"({_SPACE}?-?{_SPACE}?)({_WORD}{{1,24}})"
_AFTER: Final = lazy_regex(rf"(){_NEXT}")
_SECOND: Final = lazy_regex(rf"{_SPACE}({_WORD}{{1,24}})")
DIGITS_AND_WORD: Final = re.compile(rf"([0-9][0-9]*)(?:{_NEXT})?")
"""Digits, and the gap and the word that follow them, if any.

If a word follows, the number is these digits only."""
_OF: Final = lazy_regex(rf"\.(?={_SPACE})|{_SPACE}(?:de|of|di)(?={_SPACE})|{_SPACE}d['’]")
_WORD_BEFORE: Final = lazy_regex(rf"({_WORD}{{1,8}})\.?{_SPACE}?$")
_DASH: Final = lazy_regex(rf"{_SPACE}?[-–—−‐‑~〜～]{_SPACE}?")
_DIGIT_NEAR: Final = re.compile(r"[^0-9]{1,16}+[0-9]")  # no link is longer, with spaces and sign
_LINK: Final = lazy_regex(rf"{_SPACE}?({_WORD}{{1,12}}){_SPACE}?")
_DURATIONS: Final = frozenset(
    {"second", "minute", "hour", "day", "workday", "week", "month", "year"}
)
_HOURS: Final = frozenset(map(str, range(25)))
_WORDS_READ: Final = range(3)
"""Three words after a number at most: "2 hundred million dollars"."""


class _Quantity(msgspec.Struct, frozen=True, gc=False):
    values: tuple[str, ...]
    units: tuple[str, ...]
    start: int
    end: int
    is_bare: bool


def quantity_at(
    text: str, digits: re.Match[str], before: list[str], words: FactLexicon
) -> FactMatch:
    """The number, amount, percentage, duration or range that these digits begin"""
    first = _quantity(text, digits, before, words)
    second = _other_end(text, first, words)
    if second is not None:
        keys = tuple(
            ("range", low, high, unit)
            for unit in _common_units(first.units, second.units)
            for low in first.values
            for high in _complete_years(low, second.values)
            if is_less(low, high)
        )
        if keys:
            return FactMatch("range", keys, (first.start, second.end))
    return _match_single(text, first)


def _common_units(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    if not any(first):
        return second
    return tuple(unit for unit in first if unit in second) if any(second) else first


def _complete_years(low: str, highs: tuple[str, ...]) -> list[str]:
    """1998-99 is 1998-1999"""
    is_year = len(low) == 4 and low.isdecimal()
    return [low[:2] + high if is_year and len(high) == 2 else high for high in highs]


def _match_single(text: str, quantity: _Quantity) -> FactMatch:
    units, values = quantity.units, quantity.values
    start, end = span = (quantity.start, quantity.end)
    if not values or (not units[0] and is_name(text[start:end])):
        return make_identifier(text, start, end)
    return FactMatch(_kinds[units[0]], _keys(units, values), span, quantity.is_bare)


def _keys(units: Units, values: tuple[str, ...]) -> tuple[Key, ...]:
    """The possible meanings of the values in these units"""
    keys: list[Key] = []
    for unit in units:
        kind = _kinds[unit]
        for value in values:
            if unit != CLOCK:
                keys.append((kind, unit, value))
            elif value in _HOURS:
                keys.append(full_hour(value))
    return tuple(keys)


def _kind(unit: str) -> Kind:
    if unit == "%":
        return "percent"
    if unit in _DURATIONS:
        return "duration"
    return "amount" if unit.isupper() else "number"


_kinds: Final = MeaningCache(_kind)


def _other_end(text: str, first: _Quantity, words: FactLexicon) -> _Quantity | None:
    """The quantity after "-", "to" or "between … and", if it is one"""
    if not _DIGIT_NEAR.match(text, first.end):
        return None
    dash = _DASH.match(text, first.end)
    link = dash or _LINK.match(text, first.end)
    if not link or not first.values:
        return None
    if not dash and not _is_range_word(text, first, link[1], words):
        return None
    at = link.end()
    sign = text[at : at + 1]
    if sign and unicodedata.category(sign) == "Sc":
        at += 1
    digits = DIGITS_AND_WORD.match(text, at)
    if not digits:
        return None
    span = digits.span(1)
    if time_at(text, span, words) or identifier_at(text, at, span, words):
        return None
    second = _quantity(text, digits, words_before(text, at), words)
    return None if is_month_after(text, second.end, words) else second


def _is_range_word(text: str, first: _Quantity, word: str, words: FactLexicon) -> bool:
    if find_word(words.range, word):
        return True
    if not find_word(words.and_, word):
        return False
    before = _WORD_BEFORE.search(text[max(0, first.start - 12) : first.start])
    return before is not None and find_word(words.between, before[1]) is not None


def _quantity(text: str, digits: re.Match[str], before: list[str], words: FactLexicon) -> _Quantity:
    """The number that these digits begin, with its unit or currency"""
    start, end = digits.span(1)
    after: re.Match[str] | None
    if end < digits.end():
        written, after = digits[1], digits
        read = possible_values(written, words.number_format)
    else:
        written, read = _number(text, start, end, words.number_format)
        end = start + len(written)
        after = _AFTER.match(text, end) if end > digits.end() else None
    preceding = words.before[before[-1]] if before else NO_MEANING
    currency = preceding.currencies
    begin = text.rfind(preceding.currency, 0, start) if currency else start
    scale, units, unit_end = _scale_and_units(text, after, words) if after else (0, (), end)
    if "year" in units and len(written) == 4 and written.isdecimal():
        units = ()
    if not currency or any(map(str.isupper, units)):
        end = unit_end
    else:
        units, end = currency, unit_end if scale else end
    if scale:
        read = tuple([scale_value(value, scale) for value in read])
    is_bare = words.is_known and after is None and not units
    return _Quantity(read, units or ("",), begin, end, is_bare)


def _number(text: str, start: int, end: int, marks: NumberFormat) -> tuple[str, tuple[str, ...]]:
    """The longest number at this position; of a list such as 3,5,7 one member at a time"""
    if text[end : end + 1] == " " or text[end + 1 : end + 2].isdecimal():
        pattern = SPACED_NUMBER if marks.space_groups else NUMBER
        match = pattern.match(text, start)
        if match and match.end() > end and not _is_in_list(text, start):
            read = possible_values(match[0], marks)
            if read or match[0].count(".") > 1:
                return match[0], read
    written = text[start:end]
    return written, possible_values(written, marks)


def _is_in_list(text: str, start: int) -> bool:
    return text[start - 1 : start] == "," and text[start - 2 : start - 1].isdecimal()


def _scale_and_units(text: str, after: re.Match[str], words: FactLexicon) -> tuple[int, Units, int]:
    """The power of ten and the unit after a number, and where they end"""
    _, gap, word = after.groups()
    meaning = words.after[word]
    if not meaning.opens_pair:
        if meaning.units:
            return 0, meaning.units, after.end(3)
        if not meaning.tens and gap and word.isascii():
            return 0, (), after.end(1)
    scale, end = 0, after.end(1)
    match: re.Match[str] | None = after
    for _ in _WORDS_READ:
        if not match:
            break
        tens, units, length = _known_words(text, match, words)
        if units:
            return scale, units, match.start(3) + length
        if not tens:
            break
        scale += tens
        end = match.start(3) + length
        linked = _OF.match(text, end)
        end = linked.end() if linked else end
        match = _AFTER.match(text, end)
    return scale, (), end


def _known_words(text: str, match: re.Match[str], words: FactLexicon) -> tuple[int, Units, int]:
    """The longest known word or pair of words after a number, and its length"""
    _, gap, first = match.groups()
    meaning = words.after[first]
    if meaning.opens_pair and (second := _SECOND.match(text, match.end())):
        pair = f"{first} {second[1]}"
        of_pair = words.after[pair]
        if of_pair.units or of_pair.tens:
            return of_pair.tens, of_pair.units, len(pair)
    if not (meaning.units or meaning.tens) and _may_begin_a_phrase(first[0], gap):
        for length in range(min(LONGEST_UNSPACED, len(first)), 0, -1):
            start = words.after[first[:length]]
            if start.units or start.tens:
                return start.tens, start.units, length
    return meaning.tens, meaning.units, len(first)


def _may_begin_a_phrase(char: str, gap: str) -> bool:
    """Whether the unit may be only the beginning of a phrase without spaces"""
    if not char.isascii() and is_unspaced_script(char):
        return not gap or "\u4e00" <= char <= "\u9fff"
    return not gap and unicodedata.category(char)[0] in "SP"


_JOINTS: Final = ("", "-")


def extract(text: str, lang: str | None, read: dict[str, list[Fact]] | None = None) -> list[Fact]:
    """Numbers, amounts, dates, times, durations, percentages and identifiers, in order        C-74

    Digits may be of any script; marks, months and units depend on the language, or on all languages
    together if it is unknown. A line is a sentence: a number at its end is unrelated to the words
    of the next. A line in `read` was parsed before, in the same language; new ones are added there.
    """
    words = lexicon(lang)
    facts: list[Fact] = []
    for line in text.split("\n"):
        stated = None if read is None else read.get(line)
        if stated is None:
            stated = _facts_of(line, words)
            if read is not None:
                read[line] = stated
        facts += stated
    return facts


def _facts_of(line: str, words: FactLexicon) -> list[Fact]:
    text = digits_to_ascii(line)
    facts: list[Fact] = []
    at = 0
    while digits := DIGITS_AND_WORD.search(text, at):
        found = _match_fact(text, at, digits, words)
        start, at = place = found.span
        keys = found.keys
        if keys:
            also = keys[1:] if len(keys) > 1 else ()
            facts.append(Fact(found.kind, keys[0], line[start:at], place, also, found.is_bare))
    return facts


def _match_fact(text: str, floor: int, digits: re.Match[str], words: FactLexicon) -> FactMatch:
    """The fact at the first digits after `floor`: the more specific kind is tried first

    Most numbers have nothing around them that makes them more than a quantity; checking that first
    is cheap.
    """
    gap = digits[2]
    start, _ = span = digits.span(1)
    joined = text[start - 1 : start]
    before = words_before(text, start)
    found: FactMatch | None = None
    if gap in _JOINTS or (start > floor and joined in JOINING):
        found = identifier_at(text, floor, span, words)
    if not found and may_be_moment(text, digits, before, words):
        found = time_at(text, span, words) or date_at(text, span, words)
    if not found and (gap is None or joined == "+"):
        found = groups_at(text, span)
    return found or quantity_at(text, digits, before, words)
