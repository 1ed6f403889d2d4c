"""A written number and its possible values, by the number format of its locale (C-76).

A value is a plain decimal string without grouping and unnecessary zeros, so that equality is
equality of strings and a megabyte of digits costs no more than reading it.
"""

import re
from typing import Final

from callscore.core.lazy import lazy_regex
from callscore.metrics.facts.lexicon import NumberFormat

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
_SPACE: Final = lazy_regex(rf"[ {_HARD_SPACES}]")


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
    if not _SPACE.search(joined) and "'" not in joined:
        return joined
    whole = re.split("[.,]", joined, maxsplit=1)[0]
    if not _GROUPED.fullmatch(_SPACE.sub(" ", whole)):
        return None
    return _SPACE.sub("", joined).replace("'", "")


def _is_grouped(number: str) -> bool:
    return _GROUPED.fullmatch(number) is not None


def _value_with_both_marks(number: str) -> tuple[str, ...]:
    decimal = max(".,", key=number.rfind)
    grouping = "," if decimal == "." else "."
    whole, _, fraction = number.rpartition(decimal)
    if decimal in whole or not _is_grouped(whole) or grouping in fraction:
        return ()
    return (strip_zeros(whole.replace(grouping, ""), fraction),)
