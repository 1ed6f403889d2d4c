"""Exact values with their counts, and normalised text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Literal, NamedTuple

Json = Mapping[str, Any]
Why = Literal["", "undefined", "waiting", "absent", "malformed"]
Words = Mapping[tuple[str, str], Sequence[Json]]
"""Verdict lines of one answer, by metric and item."""

TOLERANCE = Fraction(1, 10**9)
PLACEHOLDERS = {
    *("n/a", "na", "none", "null", "nil", "unknown"),
    *("not mentioned", "not provided", "not applicable"),
}


class Exact(NamedTuple):
    """A value with its counts, or why there is none."""

    value: Fraction | None
    numerator: Fraction = Fraction(0)
    denominator: Fraction = Fraction(0)
    why: Why = ""
    is_estimate: bool = False

    @property
    def is_vacuous(self) -> bool:
        """Whether the value has no counts, because there is nothing to count (C-13)."""
        return self.value is not None and not self.numerator and not self.denominator


Values = dict[str, Exact]

ABSENT = Exact(None, why="absent")
WAITING = Exact(None, why="waiting")
UNDEFINED = Exact(None, why="undefined")
MALFORMED = Exact(None, why="malformed")


def share(numerator: Fraction | int, denominator: Fraction | int) -> Exact:
    return Exact(Fraction(numerator) / denominator, Fraction(numerator), Fraction(denominator))


def vacuous(value: int) -> Exact:
    """A value without counts: nothing was expected, or nothing was produced (C-13)."""
    return Exact(Fraction(value))


def count(number: int) -> Exact:
    return Exact(Fraction(number), Fraction(number), Fraction(1))


def complement(of: Exact) -> Exact:
    """The rest of a share, in percent (C-14)."""
    if of.value is None:
        return of
    lost = of.denominator - of.numerator
    return Exact(100 * (1 - of.value), lost, of.denominator, is_estimate=of.is_estimate)


def share_of(findings: Sequence[bool | None]) -> Exact:
    """The share of findings that are true; waiting if one is open."""
    if None in findings:
        return WAITING
    return share(sum(bool(finding) for finding in findings), len(findings))


def number(value: object) -> Fraction | None:
    """A JSON number, exactly as written; None for text and booleans (C-26)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Fraction(str(value))


@cache
def n1(text: str) -> str:
    """C-18 N1"""
    visible = "".join(char for char in text if char not in "\ufeff\u200b\u00ad")
    return " ".join(unicodedata.normalize("NFC", visible).split())


APOSTROPHES = dict.fromkeys((0x2018, 0x2019, 0x02BC, 0xFF07, 0x60, 0xB4), "'")


@cache
def searchable(text: str) -> str:
    """The form in which terms and names are sought (C-71, C-72)"""
    return n1(text).translate(APOSTROPHES)


@cache
def n2(text: str) -> str:
    """C-18 N2"""
    visible = searchable(text).replace("\u200c", "").replace("\u200d", "")
    folded = unicodedata.normalize("NFKC", visible).casefold()
    letters = unicodedata.normalize("NFKD", folded).replace("\N{DEVANAGARI SIGN NUKTA}", "")
    plain = "".join(str(unicodedata.decimal(char, char)) for char in letters)
    folded = unicodedata.normalize("NFC", plain)
    form = " ".join(folded.replace("_", " ").replace("-", " ").split())
    while form and (form[0] == " " or unicodedata.category(form[0]).startswith("P")):
        form = form[1:]
    while form and (form[-1] == " " or unicodedata.category(form[-1]).startswith("P")):
        form = form[:-1]
    return form


def is_empty(value: object) -> bool:
    """C-59"""
    if value is None or value in ([], {}):
        return True
    if not isinstance(value, str):
        return False
    return not any(map(str.isalnum, value)) or n2(value) in map(n2, PLACEHOLDERS)


def split_words(text: str) -> list[str]:
    """Words consist of letters, marks, numbers and `_`; all else separates them (C-18)."""
    return "".join(char if _is_word_character(char) else " " for char in text).split()


def _is_word_character(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LMN"


def contains_words(form: str, text: str) -> bool:
    """Whether a text contains the words of a form in sequence; Han text needs no word limits."""
    if any("\u4e00" <= char <= "\u9fff" for char in form):
        return form in text
    sought, words = split_words(form), split_words(text)
    width = len(sought)
    return any(words[at : at + width] == sought for at in range(len(words) - width + 1))


def spoken_text(case: Json) -> str:
    """The text of the turns, without speakers, ids and times (C-122)."""
    transcript = case["transcript"]
    if not isinstance(transcript, str):
        return "\n".join(turn["text"] for turn in transcript)
    return "\n".join(line.partition("Agent: ")[2] for line in transcript.split("\n"))


def is_absent(case: Json, part: str) -> bool:
    return bool(case.get("expected_parts", {}).get(part) == "absent")


def by_id(items: Sequence[Json], key: str, expected: Sequence[str]) -> dict[str, Json]:
    """The items with an expected id, without those that contradict each other (C-19)."""
    found: dict[str, list[Json]] = {}
    for item in items:
        found.setdefault(n1(str(item[key])), []).append(item)
    return {
        name: same[0]
        for name, same in found.items()
        if name in expected and all(_typed_values(item) == _typed_values(same[0]) for item in same)
    }


def _typed_values(item: Json) -> dict[str, tuple[bool, Any]]:
    return {key: (isinstance(value, bool), value) for key, value in item.items()}
