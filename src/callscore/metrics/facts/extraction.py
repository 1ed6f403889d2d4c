"""The facts that a text states in digits, by rule        C-74, C-76.

A number in words, and a month alone, is no fact of digits: comparing those needs a judge.
"""

import re
from typing import Final

from callscore.metrics.facts.beside import words_before
from callscore.metrics.facts.fact import Fact, Reading
from callscore.metrics.facts.identifiers import JOINING, groups_at, identifier_at
from callscore.metrics.facts.lexicon import Lexicon, lexicon
from callscore.metrics.facts.moments import date_at, may_be_moment, time_at
from callscore.metrics.facts.quantities import DIGITS_AND_WORD, quantity_at
from callscore.metrics.text import digits_to_ascii

_JOINTS: Final = ("", "-")


def extract(text: str, lang: str | None) -> list[Fact]:
    """Numbers, amounts, dates, times, durations, percentages and identifiers, in order        C-74

    Digits may be of any script; marks, months and units are read by the language, and by all
    languages together where it is unknown. A line is a sentence: a number at its end has nothing
    to do with the words of the next.
    """
    facts: list[Fact] = []
    start = 0
    for line in digits_to_ascii(text).split("\n"):
        at = 0
        while digits := DIGITS_AND_WORD.search(line, at):
            read = _reading(line, at, digits, lexicon(lang))
            begin, at = read.span
            keys = read.keys
            if keys:
                place = (start + begin, start + at)
                words = text[start + begin : start + at]
                also = keys[1:] if len(keys) > 1 else ()
                facts.append(Fact(read.kind, keys[0], words, place, also, read.is_bare))
        start += len(line) + 1
    return facts


def _reading(text: str, floor: int, digits: re.Match[str], words: Lexicon) -> Reading:
    """What stands at the first digits after `floor`: the more particular is tried first

    Most numbers have nothing beside them that makes them more than a quantity, and that is
    cheaper to see than to try.
    """
    gap = digits[2]
    start, _ = span = digits.span(1)
    joined = text[start - 1 : start]
    before = words_before(text, start)
    found: Reading | None = None
    if gap in _JOINTS or (start > floor and joined in JOINING):
        found = identifier_at(text, floor, span, words)
    if not found and may_be_moment(text, digits, before, words):
        found = time_at(text, span, words) or date_at(text, span, words)
    if not found and (gap is None or joined == "+"):
        found = groups_at(text, span)
    return found or quantity_at(text, digits, before, words)
