"""Number words by language; the tables are in `numbers.toml`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from callscore.core.languages import base_language
from callscore.core.resources import read_table

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
