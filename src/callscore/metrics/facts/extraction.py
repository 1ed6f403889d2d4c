"""Extraction of facts in digits, by rule (C-74, C-76).

Numbers in words and months alone are left out: comparing them needs a judge.
"""

import re
from typing import Final

from callscore.metrics.facts.fact import Fact, FactMatch
from callscore.metrics.facts.identifiers import JOINING, groups_at, identifier_at
from callscore.metrics.facts.lexicon import FactLexicon, lexicon, words_before
from callscore.metrics.facts.moments import date_at, may_be_moment, time_at
from callscore.metrics.facts.quantities import DIGITS_AND_WORD, quantity_at
from callscore.metrics.text import digits_to_ascii

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
