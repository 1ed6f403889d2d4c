"""The facts that a text states in digits, by rule        C-74, C-76.

A number in words, and a month alone, is no fact of digits: comparing those needs a judge.
"""

import re
from typing import Final

from callscore.metrics.facts.fact import Fact, Reading, Span
from callscore.metrics.facts.identifiers import groups_at, identifier_at
from callscore.metrics.facts.lexicon import lexicon, marks
from callscore.metrics.facts.moments import date_at, time_at
from callscore.metrics.facts.quantities import Page, quantity_at
from callscore.metrics.text import digits_to_ascii

_DIGITS: Final = re.compile(r"[0-9]+")
_DIGIT_OF_ANY_SCRIPT: Final = re.compile(r"[^\D]")  # twice as fast as \d


def extract(text: str, lang: str | None) -> list[Fact]:
    """Numbers, amounts, dates, times, durations, percentages and identifiers, in order        C-74

    Digits may be of any script; marks, months and units are read by the language, and by all
    languages together where it is unknown.
    """
    facts: list[Fact] = []
    start = 0
    for line in text.split("\n"):
        if _DIGIT_OF_ANY_SCRIPT.search(line):
            facts += _facts_of_line(line, start, lang)
        start += len(line) + 1
    return facts


def _facts_of_line(line: str, start: int, lang: str | None) -> list[Fact]:
    """A line is a sentence: a number at its end has nothing to do with the words of the next"""
    page = Page(digits_to_ascii(line), lexicon(lang), marks(lang))
    facts: list[Fact] = []
    at = 0
    while digits := _DIGITS.search(page.text, at):
        read = _reading(page, at, digits.span())
        begin, at = read.span
        keys = read.keys
        if keys:
            place = (start + begin, start + at)
            facts.append(Fact(read.kind, keys[0], line[begin:at], place, keys[1:], read.is_bare))
    return facts


def _reading(page: Page, floor: int, digits: Span) -> Reading:
    """What stands at the first digits after `floor`: the more particular is tried first"""
    text, words = page.text, page.words
    return (
        identifier_at(text, floor, digits, words)
        or time_at(text, digits, words)
        or date_at(text, digits, words, page.marks)
        or groups_at(text, digits)
        or quantity_at(page, digits)
    )
