"""Numbers in words: "one hundred and twenty" is 120, "four nine two" may be 492.

In a claim, only what is certainly a number counts; in a call, every number that may be meant.

The number words of each language are in `numbers.toml`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from callscore.core.languages import base_language
from callscore.core.resources import read_table
from callscore.judges.offline.word_lists import find_words
from callscore.metrics.facts.lexicon import lexicon as units_and_months

Kind = Literal["value", "scale", "joiner", "point", "ordinal", "repeat", "spoil"]


class NumberTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language of the file."""

    values: str
    scales: str
    ordinals: str
    joiners: str = ""
    point: str = ""
    lone: str = ""
    repeats: str = ""
    spoils: str = ""
    hints: str = ""
    joins_tens: bool = False
    compounds: bool = False


class Word(NamedTuple):
    """The meaning of a word in a number."""

    kind: Kind
    value: int


class NumberWords(msgspec.Struct, frozen=True):
    """The number words of one language, or of several."""

    words: Mapping[str, Word]
    lone: frozenset[str]
    joins_tens: bool = False
    is_reversed: bool = False
    """Whether units precede tens: "fünfundzwanzig"."""
    counts_by_twenty: bool = False
    """Whether "quatre-vingt-dix" is 90."""
    compounds: bool = False
    hints: Mapping[str, Sequence[str]] = {}


@lru_cache(maxsize=64)
def certain_number_words(lang: str | None) -> NumberWords:
    """The number words of the language; of English and Hindi if it has no table

    Those of other languages are too often other words: "once", "due", "seize".
    """
    known = tables()
    base = base_language(lang)
    return _merge_tables(known, [base] if base in known else ["en", "hi"])


@lru_cache(maxsize=64)
def possible_number_words(lang: str | None) -> NumberWords:
    """The number words of the language; of all languages if it has no table"""
    known = tables()
    base = base_language(lang)
    return _merge_tables(known, [base] if base in known else list(known))


def _merge_tables(tables: Mapping[str, NumberTable], names: Sequence[str]) -> NumberWords:
    words: dict[str, Word] = {}
    for name in names:
        for word, meaning in _entries(tables[name]):
            words.setdefault(word, meaning)
    return NumberWords(
        words,
        frozenset(fold_word(word) for name in names for word in tables[name].lone.split()),
        joins_tens=any(tables[name].joins_tens for name in names),
        is_reversed="de" in names,
        counts_by_twenty=names == ["fr"],
        compounds=any(tables[name].compounds for name in names),
        hints=_hints(tables[name] for name in names),
    )


def _hints(tables: Iterable[NumberTable]) -> Mapping[str, Sequence[str]]:
    """Words that only suggest a number, with all their possible values"""
    found: dict[str, list[str]] = {}
    for line in (line for table in tables for line in table.hints.strip().splitlines()):
        value, *words = line.split()
        for word in words:
            found.setdefault(fold_word(word), []).append(value)
    return found


def _entries(table: NumberTable) -> Iterator[tuple[str, Word]]:
    lists: tuple[tuple[Kind, str], ...] = (
        ("value", table.values),
        ("scale", table.scales),
        ("ordinal", table.ordinals),
        ("repeat", table.repeats),
    )
    for kind, lines in lists:
        for line in lines.strip().splitlines():
            value, *words = line.split()
            yield from ((fold_word(word), Word(kind, int(value))) for word in words)
    yield from ((fold_word(word), Word("joiner", 0)) for word in table.joiners.split())
    yield from ((fold_word(word), Word("point", 0)) for word in table.point.split())
    yield from ((fold_word(word), Word("spoil", 0)) for word in table.spoils.split())


@lru_cache(maxsize=1)
def tables() -> Mapping[str, NumberTable]:
    """Every language of the file."""
    return msgspec.convert(
        read_table(Path(__file__).with_name("numbers.toml")), dict[str, NumberTable]
    )


def fold_word(word: str) -> str:
    """A word as it is looked up, with composed characters."""
    return word.casefold() if word.isascii() else unicodedata.normalize("NFC", word).casefold()


HUNDRED, THOUSAND = 100, 1000
TEN = 10
LONGEST_DICTATION = 16
"""Consecutive numbers that may be one: a card number, digit by digit."""
_LONGEST_COMPOUND = 60
"""Letters of a number in one word, as in German, to bound the work of splitting it."""
_LARGEST = 10**15
"""Scales multiply without end ("million million …"); no call states a larger number."""
_BETWEEN = re.compile(r"[^\S\n]{1,2}|-|‐")


class Token(NamedTuple):
    """A number word in a text."""

    start: int
    end: int
    folded: str
    word: Word


class NumberPhrase(NamedTuple):
    """A number in words and its position."""

    start: int
    end: int
    value: str
    tokens: Sequence[Token]

    @property
    def is_count(self) -> bool:
        """Whether it is one word up to ten, which may count things that were not counted"""
        return len(self.tokens) == 1 and len(self.value) <= len("10") and int(self.value) <= TEN

    @property
    def is_scale(self) -> bool:
        """Whether it is "hundred" or "million" alone, which may belong to preceding digits"""
        return len(self.tokens) == 1 and self.tokens[0].word.kind == "scale"

    @property
    def is_ordinal(self) -> bool:
        """Whether it is an ordinal"""
        return self.tokens[-1].word.kind == "ordinal"


def find_numbers(text: str, words: NumberWords) -> Iterator[NumberPhrase]:
    """The numbers in words, in order, each as long as possible"""
    tokens = _tokens(text, words)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        found = _decimal(tokens, at, words) if token else None
        if token is None or found is None:
            at = tokens.index(None, at) if token and token.word.kind == "spoil" else at + 1
            continue
        value, after = found
        used = [token for token in tokens[at:after] if token]
        yield NumberPhrase(token.start, used[-1].end, value, used)
        # "three point five million" is 3.5 million: digits and their scale are parsed together
        at = after + ("." in value and _is(tokens, after, "scale"))


def replace_with_digits(text: str, spoken: Iterable[NumberPhrase]) -> str:
    """The text with these numbers written in digits"""
    parts, at = [], 0
    for one in spoken:
        parts += [text[at : one.start], one.value]
        at = one.end
    return "".join([*parts, text[at:]])


def certain_numbers(text: str, lang: str | None) -> tuple[list[NumberPhrase], list[NumberPhrase]]:
    """Number words that a claim certainly states, and those that may only count

    A small number needs a unit, an ordinal a month; "one of them" and "a million thanks" are
    neither.
    """
    words = certain_number_words(lang)
    certain, counting = [], []
    for one in find_numbers(text, words):
        is_lone = len(one.tokens) == 1 and one.tokens[0].folded in words.lone
        if one.is_scale or one.is_ordinal or one.is_count:
            if _has_unit(one, text, lang) and not _is_after_digits(one, text):
                certain.append(one)
            elif not one.is_scale and not is_lone:
                counting.append(one)
        else:
            certain.append(one)
    return certain, counting


def possible_numbers(text: str, lang: str | None) -> tuple[str, frozenset[str]]:
    """The text with all its numbers in digits, and the possible combinations of
    consecutive numbers
    """
    words = possible_number_words(lang)
    found = [
        one
        for one in find_numbers(text, words)
        if not (one.is_scale and _is_after_digits(one, text))
    ]
    combinations: set[str] = set()
    for row in _rows(text, found):
        read = [one.value for one in row]
        for start in range(len(read)):
            for end in range(start + 2, min(len(read), start + LONGEST_DICTATION) + 1):
                combinations.add("".join(read[start:end]).lstrip("0") or "0")
        combinations.update(
            str(token.word.value) for one in row for token in one.tokens if token.word.value
        )
    combinations.update(
        value for _, word in find_words(text) for value in words.hints.get(fold_word(word), ())
    )
    return replace_with_digits(text, found), frozenset(combinations)


def _tokens(text: str, words: NumberWords) -> list[Token | None]:
    """Number words in order, with None wherever a number certainly ends"""
    tokens: list[Token | None] = [None]
    before = 0
    for start, written in find_words(text):
        folded = fold_word(written)
        meanings = _meanings(folded, words)
        if not meanings:
            before = 0
            continue
        if not (before and _BETWEEN.fullmatch(text, before, start)):
            tokens.append(None)
        before = start + len(written)
        tokens += [Token(start, before, folded, meaning) for meaning in meanings]
    return [*tokens, None]


def _meanings(folded: str, words: NumberWords) -> Sequence[Word]:
    meaning = words.words.get(folded)
    if meaning is not None:
        return (meaning,)
    if not words.compounds or len(folded) > _LONGEST_COMPOUND:
        return ()
    return [words.words[part] for part in _parts(folded, frozenset(words.words))]


@lru_cache(maxsize=4096)
def _parts(compound: str, known: frozenset[str]) -> Sequence[str]:
    """The number words of a compound, from left to right; empty if anything is left over

    Searched from the end, so that each position is visited once.
    """
    ways: list[Sequence[str] | None] = [None] * len(compound) + [()]
    for at in range(len(compound) - 1, -1, -1):
        for end in range(len(compound), at, -1):
            rest = ways[end]
            if rest is not None and compound[at:end] in known:
                ways[at] = (compound[at:end], *rest)
                break
    return ways[0] or ()


Tokens = Sequence[Token | None]
Found = tuple[int, int]
"""A value and the position after it."""


def _word(tokens: Tokens, at: int) -> Word | None:
    token = tokens[at] if at < len(tokens) else None
    return token.word if token else None


def _is(tokens: Tokens, at: int, kind: Kind) -> bool:
    word = _word(tokens, at)
    return word is not None and word.kind == kind


def _decimal(tokens: Tokens, at: int, words: NumberWords) -> tuple[str, int] | None:
    """whole [point digits]"""
    found = _whole(tokens, at, words)
    if found is None:
        return None
    value, after = found
    if not _is(tokens, after, "point"):
        return str(value), after
    digits, end = "", after + 1
    while (word := _word(tokens, end)) and word.kind == "value" and word.value < HUNDRED:
        digits += str(word.value)
        end += 1
    return (f"{value}.{digits}", end) if digits else (str(value), after)


def _whole(tokens: Tokens, at: int, words: NumberWords, below: int = 0) -> Found | None:
    """[group] thousand [and] rest, or a group; `below` bounds the scale"""
    found = (1, at) if _scale(tokens, at) else _group(tokens, at, words)
    if found is None:
        return None
    value, after = found
    scale = _scale(tokens, after)
    if not scale or (below and scale >= below):
        return found if after > at else None
    while value < _LARGEST and (more := _scale(tokens, after)):
        value, after = value * more, after + 1
    rest = after + _is(tokens, after, "joiner")
    tail = _whole(tokens, rest, words, below=scale)
    if tail is not None and tail[0] < scale:
        return value + tail[0], tail[1]
    return value, after


def _scale(tokens: Tokens, at: int) -> int:
    """The thousand, million … at this position; 0 if there is none"""
    word = _word(tokens, at)
    return word.value if word and word.kind == "scale" and word.value >= THOUSAND else 0


def _group(tokens: Tokens, at: int, words: NumberWords) -> Found | None:
    """[below a hundred] hundred [and] below a hundred, or below a hundred"""
    word = _word(tokens, at)
    if word is None:
        return None
    if word.value == HUNDRED and word.kind == "scale":
        value, after = HUNDRED, at + 1
    elif word.kind == "value" and word.value >= HUNDRED:
        value, after = word.value, at + 1
    else:
        found = _tens(tokens, at, words)
        if found is None or not _is_hundred(tokens, found[1]) or not found[0]:
            return found
        value, after = found[0] * HUNDRED, found[1] + 1
    rest = _tens(tokens, after + _is(tokens, after, "joiner"), words)
    if rest is None or not rest[0] or _is_hundred(tokens, rest[1]):
        return value, after
    return value + rest[0], rest[1]


def _is_hundred(tokens: Tokens, at: int) -> bool:
    word = _word(tokens, at)
    return word is not None and word.kind == "scale" and word.value == HUNDRED


def _tens(tokens: Tokens, at: int, words: NumberWords) -> Found | None:
    """A number below a hundred: twenty five, fünf und zwanzig, quatre vingt dix sept"""
    first = _word(tokens, at)
    if first is not None and first.kind == "repeat" and 0 < _value(tokens, at + 1) < TEN:
        return int(str(_value(tokens, at + 1)) * first.value), at + 2
    if first is None or first.kind not in ("value", "ordinal") or first.value >= HUNDRED:
        return None
    value, after = first.value, at + 1
    if words.is_reversed and 0 < value < TEN and _is(tokens, after, "joiner"):
        tens = _word(tokens, after + 1)
        if tens and tens.kind == "value" and TEN < tens.value < HUNDRED and not tens.value % TEN:
            return tens.value + value, after + 2
    if words.counts_by_twenty and value == 4 and _value(tokens, after) == 20:  # noqa: PLR2004
        value, after = 80, after + 1
    if first.kind == "ordinal":
        return value, after
    joined = after + (words.joins_tens and _is(tokens, after, "joiner"))
    unit = _unit(tokens, joined, words)
    if unit is not None and _fits(value, unit[0], words):
        return value + unit[0], unit[1]
    return value, after


def _value(tokens: Tokens, at: int) -> int:
    word = _word(tokens, at)
    return word.value if word and word.kind in ("value", "ordinal") else 0


def _unit(tokens: Tokens, at: int, words: NumberWords) -> Found | None:
    """What may be added to tens"""
    value = _value(tokens, at)
    if not value:
        return None
    more = _value(tokens, at + 1) if words.counts_by_twenty and value == TEN else 0
    return (value + more, at + 2) if 7 <= more < TEN else (value, at + 1)  # noqa: PLR2004


def _fits(tens: int, unit: int, words: NumberWords) -> bool:
    if words.counts_by_twenty and tens in (60, 80):
        return unit < 20  # noqa: PLR2004
    if words.counts_by_twenty and tens == TEN:
        return 7 <= unit < TEN  # noqa: PLR2004
    return tens > TEN and not tens % TEN and unit < TEN


_NEXT_WORD = re.compile(r"[\s-]{1,3}(?:(?:of|de|di)\s)?([^\W\d_]{1,24}|[%€$£₹])")


def _has_unit(one: NumberPhrase, text: str, lang: str | None) -> bool:
    """Whether a unit follows, or a month follows an ordinal"""
    following = _NEXT_WORD.match(text, one.end)
    if following is None:
        return False
    known = units_and_months(lang)
    word = following[1].casefold()
    if one.is_ordinal:
        return word in known.months
    return bool(known.after[word].units)


def _is_after_digits(one: NumberPhrase, text: str) -> bool:
    """Whether digits directly precede it: "5 million" is parsed with the digits"""
    return text[max(0, one.start - 2) : one.start].rstrip()[-1:].isdecimal()


def _rows(text: str, found: Sequence[NumberPhrase]) -> Iterator[list[NumberPhrase]]:
    """Consecutive numbers with nothing between them"""
    row: list[NumberPhrase] = []
    for one in found:
        if row and not _BETWEEN.fullmatch(text, row[-1].end, one.start):
            yield row
            row = []
        row.append(one)
    if row:
        yield row
