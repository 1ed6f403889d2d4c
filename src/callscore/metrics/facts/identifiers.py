"""Digits that are a name, not a quantity (C-74).

An identifier is: digits joined to Latin letters (AB-1234, 280TSI), three or more groups joined by
hyphens, a telephone or card number, a version (1.2.3), seven or more digits without grouping, and
three or more digits that begin with zero. It keeps its zeros and loses what joins its parts.
"""

import re
from typing import Final

from callscore.core.lazy import lazy_regex
from callscore.metrics.facts.fact import FactMatch, Span
from callscore.metrics.facts.lexicon import FactLexicon, find_word

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LATIN: Final = frozenset(_LETTERS)
JOINING: Final = _LATIN | {"-"}
"""What precedes the digits of a name that begins with letters."""
_DIGITS: Final = re.compile(r"\d+")
_MOST_LETTERS_BEFORE: Final = 12
_LETTERS_AFTER: Final = lazy_regex(r"[A-Za-z]+(?![A-Za-zÀ-ɏ])")
_CAPITALS_AFTER: Final = lazy_regex(r"-([A-Z][A-Z0-9]*)(?![A-Za-z0-9À-ɏ])")
_REST: Final = lazy_regex(r"[A-Za-z0-9]+(?:-[A-Z0-9]+(?![A-Za-z0-9À-ɏ])|-\d[A-Za-z0-9]*)*")
_JOINT: Final = re.compile(r"[^A-Za-z0-9]")
_HYPHENATED: Final = re.compile(r"\d{1,12}(?:-\d{1,12}){1,7}")
_SPACED: Final = re.compile(r"\d{1,12}(?:[ \u00a0]\d{1,12}){1,7}")
_DIALLED: Final = re.compile(r"\d{1,12}(?:[- \u00a0]?\(?\d{1,12}\)?){0,7}")
_GROUPS: Final = {"-": _HYPHENATED, " ": _SPACED, "\u00a0": _SPACED}
_ENDINGS: Final = frozenset({"st", "nd", "rd", "th", "s", "er", "ers", "e", "x", "am", "pm", "h"})


def make_identifier(text: str, start: int, end: int) -> FactMatch:
    """The identifier between the two positions"""
    name = text[start:end]
    if not (name.isalnum() and name.isascii()):
        name = _JOINT.sub("", name)
    return FactMatch("identifier", (("identifier", name.upper()),), (start, end))


def is_name(written: str) -> bool:
    """Whether it is an identifier although it consists of digits only"""
    if len(written) < 3 or not written.isdecimal():
        return False
    # amounts from a million on are usually grouped, and none begins with a zero
    return len(written) >= 7 or written[0] == "0"


def identifier_at(text: str, floor: int, digits: Span, words: FactLexicon) -> FactMatch | None:
    """Latin letters joined to digits, unless they are a unit, a currency or an ordinal ending"""
    start, end = digits
    begin = start
    if start > floor and text[start - 1] in JOINING:
        begin = _begin_of_name(text, floor, start, words)
    if text[end : end + 1] not in JOINING:
        return make_identifier(text, begin, end) if begin < start else None
    if begin == start and not _letters_follow(text, end, words):
        return None
    rest = _REST.match(text, start)
    return make_identifier(text, begin, rest.end()) if rest else None


def _begin_of_name(text: str, floor: int, start: int, words: FactLexicon) -> int:
    """Where the letters that name the digits at `start` begin; at the digits if there are none"""
    end = start - (text[start - 1] == "-")
    farthest = start - _MOST_LETTERS_BEFORE - 2
    head = text[farthest if farthest > floor else floor : end]
    rest = head.rstrip(_LETTERS)
    letters = head[len(rest) :]
    if not 0 < len(letters) <= _MOST_LETTERS_BEFORE or rest[-1:].isdecimal():
        return start
    if end < start and not (letters.isupper() and len(letters) <= 6):
        return start
    meaning = words.after[letters]
    if meaning.units or (meaning.may_be_moment and find_word(words.months, letters)):
        return start
    return end - len(letters)


def _letters_follow(text: str, end: int, words: FactLexicon) -> bool:
    following = text[end : end + 1]
    if following == "-":
        capitals = _CAPITALS_AFTER.match(text, end)
        return capitals is not None and not find_word(words.units, capitals[1])
    if following not in _LATIN:
        return False
    letters = _LETTERS_AFTER.match(text, end)
    return letters is not None and not _is_ending(words, letters[0])


def _is_ending(words: FactLexicon, letters: str) -> bool:
    folded = letters.casefold()
    if folded in _ENDINGS:
        return True
    tables = (words.units, words.scales, words.months, words.clock, words.range)
    return any(find_word(table, letters) for table in tables)


def groups_at(text: str, digits: Span) -> FactMatch | None:
    """Groups of digits that are one name: telephone, card and account numbers"""
    start, end = digits
    is_dialled = start > 0 and text[start - 1] == "+"
    pattern = _DIALLED if is_dialled else _GROUPS.get(text[end : end + 1])
    if pattern is None or not (is_dialled or text[end + 1 : end + 2].isdecimal()):
        return None
    match = pattern.match(text, start)
    if not match or text[match.end() : match.end() + 1] in (":", "："):
        return None
    groups = _DIGITS.findall(match[0])
    if is_dialled or groups[0].startswith("0"):
        is_name = sum(map(len, groups)) >= 7
    elif match.re is _HYPHENATED:
        # two groups are a range, "10-20", unless the second one begins with a zero
        is_name = len(groups) > 2 or (groups[1].startswith("0") and len(groups[1]) > 2)
    else:
        is_name = _is_spaced_name(groups)
    return make_identifier(text, start - is_dialled, match.end()) if is_name else None


def _is_spaced_name(groups: list[str]) -> bool:
    shortest = min(map(len, groups))
    if sum(map(len, groups)) < 9 or shortest < 2:
        return False
    # "1 234 567 890" is one grouped number
    if len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]):
        return False
    return len(groups) > 2 or shortest >= 4
