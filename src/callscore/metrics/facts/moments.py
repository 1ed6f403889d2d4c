"""Dates and times of day at a position, and where they end (C-76)."""

import re
from typing import Final

from callscore.core.lazy import lazy_regex
from callscore.metrics.facts.fact import FactMatch, Span
from callscore.metrics.facts.lexicon import (
    LOOK_BACK,
    FactLexicon,
    NumberFormat,
    find_word,
    month_of,
)

_SPACE: Final = r"[ \u00a0\u202f]"
_LETTERS: Final = r"[^\s\d.,;:!?()\[\]{}\"'’“”«»…।、。，；：！？（）/<>|=+*\-–—~%]"
_NUMERIC_DATE: Final = lazy_regex(
    r"(?:(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})"
    r"|(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})(?P=t)(?P<z>\d{4}|\d{2}))(?![-/.]?\d)"
)
_EAST_ASIAN_DATE: Final = lazy_regex(
    r"(?:(?P<y>\d{2,4}) ?[年년] ?)?(?P<m>\d{1,2}) ?[月월](?: ?(?P<d>\d{1,2}) ?[日号號일])?"
)
_DATE_SIGNS: Final = frozenset("年년月월")
_MONTH_AFTER: Final = lazy_regex(
    rf"(?:st|nd|rd|th|er|º|\.)?{_SPACE}{{0,2}}(?:of |de )?({_LETTERS}{{3,12}})"
)
_OF_WORDS: Final = frozenset({"de", "del", "of"})
_MARKS: Final = frozenset(":：.-/")
_MARKED: Final = lazy_regex(
    r" ?[:：]|[-/.]\d{1,2}[-/.]|\.\d{2}\s?[Uh]"
    r"|\.\s{0,2}(?:([A-Za-z]{1,12})(?=[\s.,;:!?)]|$)|[^\s\d])"
)
"""What follows the first digits of a time or a date: a mark, or a word after a full stop."""
_EAST_ASIAN: Final = "\u1100"
"""From here on, scripts have no ordinal endings."""
_ORDINAL: Final = re.compile(r"st|nd|rd|th")
_YEAR: Final = lazy_regex(rf"\.?{_SPACE}{{0,2}},?{_SPACE}{{0,2}}(?:de |del |of )?(\d{{4}})(?!\d)")
_LONGEST_SHORT_MONTH: Final = len("Sept.")  # after a longer name a full stop ends the sentence

_TIME_MARKS: Final = frozenset(":：hH.U")
_WRITTEN_TIME: Final = lazy_regex(
    r"(\d{1,2}) ?[:：] ?(\d{2})(?::(\d{2}))?(?!\d)"
    rf"|(\d{{1,2}}){_SPACE}?[hH]{_SPACE}?(\d{{2}})(?!\d|{_SPACE}?min)"
    rf"|(\d{{1,2}})\.(\d{{2}})(?={_SPACE}?(?:Uhr|h\b))"
    rf"|(\d{{1,2}}){_SPACE}?(?:Uhr|heures?){_SPACE}(\d{{2}})(?!\d|{_SPACE}?[mM]in)"
)
_EAST_ASIAN_TIME: Final = lazy_regex(
    r"(\d{1,2}) ?(?:시(?!간)|[点點]|[时時](?![间間]))"
    r" ?(?:(\d{1,2}) ?(?:분|分(?![钟鐘间間]))|(반|半))?"
)
_MERIDIEM: Final = lazy_regex(rf"{_SPACE}?([aApP])\.?{_SPACE}?[mM]\b\.?")
_WORD_AFTER: Final = lazy_regex(rf"{_SPACE}?({_LETTERS}{{1,8}})")
_LONGEST_HALF: Final = 20
"""Characters after a time within which "de l'après-midi" begins and ends."""
_WORD_BEFORE: Final = lazy_regex(rf"({_LETTERS}{{1,8}}){_SPACE}?$")


def may_be_moment(text: str, digits: re.Match[str], before: list[str], words: FactLexicon) -> bool:
    """Whether anything around the digits belongs to a time or a date, so that it is worth parsing

    The match has the digits, the gap after them and the next word; `before` are preceding words.
    """
    start, end = digits.span(1)
    _, gap, word = digits.groups()
    if word is None:
        following = text[end : end + 2]
        if len(following) > 1 and not _MARKS.isdisjoint(following) and _is_marked(text, end, words):
            return True  # a mark at the end of the line separates nothing
    elif words.after[word].may_be_moment or (not gap and word < _EAST_ASIAN and word != "%"):
        return True
    if before and (len(before) > 1 or start <= LOOK_BACK) and before[-1] not in _OF_WORDS:
        return words.before[before[-1]].month is not None
    return start > 0 and _month_before(text, start, words) is not None


def _is_marked(text: str, end: int, words: FactLexicon) -> bool:
    match = _MARKED.match(text, end)
    return match is not None and (match[1] is None or words.after[match[1]].may_be_moment)


def date_at(text: str, digits: Span, words: FactLexicon) -> FactMatch | None:
    """The date that these digits begin"""
    start, end = digits
    if end - start > 4:
        return None
    following = text[end : end + 2]
    if following[:1] in ("-", "/", ".") and (match := _NUMERIC_DATE.match(text, start)):
        return _numeric_date(match, words.number_format)
    if (
        not following.isascii()
        and not _DATE_SIGNS.isdisjoint(following)
        and (match := _EAST_ASIAN_DATE.match(text, start))
    ):
        return _east_asian_date(match)
    if not words.months:
        return None
    return _day_and_month(text, start, end, words) or _month_and_day(text, start, end, words)


def time_at(text: str, digits: Span, words: FactLexicon) -> FactMatch | None:
    """The time of day that these digits begin"""
    start, end = digits
    if end - start > 2:
        return None
    following = text[end : end + 3]
    if not following.isascii() and (match := _EAST_ASIAN_TIME.match(text, start)):
        hour, minute, half = match.groups()
        return _time(text, match.span(), [hour, "30" if half else minute or "00"], words)
    if not _TIME_MARKS.isdisjoint(following) and (match := _WRITTEN_TIME.match(text, start)):
        parts = [part for part in match.groups() if part is not None]
        return _time(text, match.span(), parts, words)
    if (words.meridiem and _MERIDIEM.match(text, end)) or _clock_word(text, end, words):
        return _time(text, digits, [text[start:end], "00"], words)
    return None


def is_month_after(text: str, end: int, words: FactLexicon) -> bool:
    """Whether the number that ends here is a day of the month named next"""
    match = _MONTH_AFTER.match(text, end)
    return match is not None and month_of(words.months, match[1]) is not None


def _number(digits: str | None) -> str:
    return digits.lstrip("0") if digits else ""


def _year(digits: str) -> str:
    if len(digits) != 2:
        return _number(digits)
    # two digits are a year from 1970 to 2069
    return ("20" if int(digits) < 70 else "19") + digits


def _is_date(month: str, day: str) -> bool:
    return 1 <= int(month or 0) <= 12 and (not day or int(day) <= 31)


def _numeric_date(match: re.Match[str], marks: NumberFormat) -> FactMatch | None:
    if match["y"]:
        orders = [(match["m"], match["d"])]
    elif match["t"] == "." or not marks.month_first:
        orders = [(match["b"], match["a"])]
    else:
        orders = [(match["a"], match["b"]), (match["b"], match["a"])]
    year = _year(match["y"] or match["z"])
    pairs = [(_number(month), _number(day)) for month, day in orders]
    keys = tuple(("date", year, m, d) for m, d in pairs if d and _is_date(m, d))
    return FactMatch("date", keys, match.span()) if keys else None


def _east_asian_date(match: re.Match[str]) -> FactMatch | None:
    year, month, day = (_number(match[name]) for name in ("y", "m", "d"))
    if not _is_date(month, day):
        return None
    # Other languages name a month without digits, so a month alone is not a numeric fact.
    keys = (("date", year, month, day),) if year or day else ()
    return FactMatch("date", keys, match.span())


def _day_and_month(text: str, start: int, end: int, words: FactLexicon) -> FactMatch | None:
    day = _number(text[start:end])
    if not day or int(day) > 31:
        return None
    match = _MONTH_AFTER.match(text, end)
    month = month_of(words.months, match[1]) if match else None
    if match is None or month is None:
        return None
    year = _YEAR.match(text, match.end())
    key = ("date", year[1] if year else "", str(month), day)
    return FactMatch("date", (key,), (start, (year or match).end()))


def _month_and_day(text: str, start: int, end: int, words: FactLexicon) -> FactMatch | None:
    if end - start == 3:
        return None
    named = _month_before(text, start, words)
    if named is None:
        return None
    name, month = named
    begin = text.rfind(name, 0, start)
    digits = _number(text[start:end])
    if end - start == 4:
        return FactMatch("date", (("date", digits, str(month), ""),), (begin, end))
    if end - start > 2 or not digits or int(digits) > 31:
        return None
    ordinal = _ORDINAL.match(text, end)
    end = ordinal.end() if ordinal else end
    year = _YEAR.match(text, end)
    key = ("date", year[1] if year else "", str(month), digits)
    return FactMatch("date", (key,), (begin, year.end() if year else end))


def _month_before(text: str, start: int, words: FactLexicon) -> tuple[str, int] | None:
    """The month named before the number that begins here: its text and its number"""
    parts = text[max(0, start - 20) : start].split()
    if not parts:
        return None
    name = parts[-1]
    if name in _OF_WORDS and len(parts) > 1:
        name = parts[-2]
    month = month_of(words.months, name)
    if month is None or (name.endswith(".") and len(name) > _LONGEST_SHORT_MONTH):
        return None
    return name, month


def _time(text: str, span: Span, parts: list[str], words: FactLexicon) -> FactMatch | None:
    start, end = span
    hour, minute = int(parts[0]), int(parts[1])
    if hour > 24 or minute > 59:  # 24:00 is the end of a day
        return None
    meridiem = _MERIDIEM.match(text, end) if words.meridiem else None
    clock = meridiem or _clock_word(text, end, words)
    span = start, clock.end() if clock else end
    half = meridiem[1].lower() if meridiem else _half_of_day(text, span, words)
    if half:
        hours = [hour % 12 + (12 if half == "p" else 0)]
    else:
        hours = [hour, (hour + 12) % 24] if _is_open(parts[0], words) else [hour]
    tail = "".join(f":{part}" for part in parts[2:])
    keys = tuple(("time", f"{hour:02}:{minute:02}{tail}") for hour in hours)
    return FactMatch("time", keys, span)


def _is_open(hour: str, words: FactLexicon) -> bool:
    """Whether an hour may be of either half of the day: 2, but never 02 or 14        C-76"""
    return words.twelve_hours and 1 <= int(hour) <= 12 and not hour.startswith("0")


def _clock_word(text: str, end: int, words: FactLexicon) -> re.Match[str] | None:
    match = _WORD_AFTER.match(text, end) if words.clock else None
    return match if match and find_word(words.clock, match[1]) else None


def _half_of_day(text: str, span: Span, words: FactLexicon) -> str:
    """The half of the day according to a word near the time: "a", "p", or nothing"""
    start, end = span
    if words.pm_after:
        following = text[end : end + _LONGEST_HALF].lstrip().casefold()
        if any(map(following.startswith, words.pm_after)):
            return "p"
    match = words.am_before and _WORD_BEFORE.search(text[max(0, start - 10) : start])
    if not match:
        return ""
    word = match[1]
    if any(word.endswith(name) for name in words.am_before):
        return "a"
    return "p" if any(word.endswith(name) for name in words.pm_before) else ""
