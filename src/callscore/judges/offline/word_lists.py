"""Word lists of the offline judge by language; the tables are in `word_lists.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from callscore.core.languages import base_language
from callscore.core.lazy import lazy_regex
from callscore.core.resources import read_table
from callscore.metrics.text import is_unspaced_script

_SIGNS = (
    r"\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
    r"\u0e31-\u0e4e\u1000-\u109f"
)
"""Vowel signs that Python does not count as letters (C-18)."""


def _word_of(letter: str) -> re.Pattern[str]:
    return lazy_regex(rf"{letter}+(?:['’]{letter}+)*")


_WORD = _word_of(rf"(?:[^\W_]|[{_SIGNS}])")
_WORD_WITHOUT_LOW_LINE = _word_of(rf"[\w{_SIGNS}]")
"""The same for a text without `_`: one class per letter is several times as fast as two."""
_SHORTEST_STEM = 3
_ENDINGS = (
    ("ations", ""),
    ("ation", ""),
    ("ments", ""),
    ("ment", ""),
    ("ingly", ""),
    ("ings", ""),
    ("ing", ""),
    ("iest", "y"),
    ("ies", "y"),
    ("ied", "y"),
    ("edly", ""),
    ("ers", ""),
    ("er", ""),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("'s", ""),
    ("s", ""),
    ("e", ""),
)


def split_words(text: str) -> list[str]:
    """The words of a text, without punctuation and spaces."""
    words: list[str] = _pattern_for(text).findall(text)
    return words if text.isascii() else [word.replace("’", "'") for word in words]


def find_words(text: str) -> Iterator[tuple[int, str]]:
    """The words of a text with their positions."""
    return (
        (found.start(), found[0].replace("’", "'")) for found in _pattern_for(text).finditer(text)
    )


def _pattern_for(text: str) -> re.Pattern[str]:
    return _WORD if "_" in text else _WORD_WITHOUT_LOW_LINE


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The word folded, without a common English ending; other scripts are unchanged."""
    folded = word.casefold()
    if not folded.isascii():
        return folded
    for ending, instead in _ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= _SHORTEST_STEM:
            folded = folded[: len(folded) - len(ending)] + instead
            break
    # "planned" and "plan", "shipped" and "ship"
    if len(folded) > _SHORTEST_STEM and folded[-1] == folded[-2] and folded[-1] not in "lsz":
        return folded[:-1]
    return folded


def stems(word: str) -> Iterator[str]:
    """The stem of a word; for a script without spaces, every pair of characters."""
    if word.isascii() or not is_unspaced_script(word) or len(word) <= 2:
        yield stem(word)
    else:
        yield from (word[at : at + 2] for at in range(len(word) - 1))


Words = frozenset[str]


class WordTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language of the file."""

    stop: str
    negation: str
    exclusive: str
    titles: str = ""
    opposites: str = ""
    introductions: str = ""
    linking: str = ""
    roles: Mapping[str, str] = {}
    speech: str = ""


class WordLists(msgspec.Struct, frozen=True):
    """Word lists of one language; `opposites` are between stems."""

    stop: Words
    negation: Words
    exclusive: Words
    titles: Words
    opposites: Mapping[str, Words]
    introductions: tuple[tuple[str, ...], ...]
    """Phrases after which speakers give their own name."""
    linking: Words
    """Words between a side of the call and its name."""
    roles: Mapping[str, str]
    sides: Words
    """The stems of the words for the sides of a call."""
    speech: Words


@lru_cache(maxsize=64)
def word_lists(lang: str | None) -> WordLists:
    """The word lists of the language, or of all languages together if it has no table."""
    tables = _tables()
    own = tables.get(base_language(lang))
    chosen = [own] if own else list(tables.values())
    roles = {
        word: role
        for table in chosen
        for role, words in table.roles.items()
        for word in words.split()
    }
    return WordLists(
        stop=_words(table.stop for table in chosen),
        negation=_words(table.negation for table in chosen),
        exclusive=_words(table.exclusive for table in chosen),
        titles=_words(table.titles for table in chosen),
        opposites=_opposites(table.opposites for table in chosen),
        introductions=tuple(
            tuple(line.split())
            for table in chosen
            for line in table.introductions.strip().splitlines()
        ),
        linking=_words(table.linking for table in chosen),
        roles=roles,
        sides=frozenset(map(stem, roles)),
        speech=_words(table.speech for table in chosen),
    )


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, WordTable]:
    return msgspec.convert(
        read_table(Path(__file__).with_name("word_lists.toml")), dict[str, WordTable]
    )


def _words(lists: Iterable[str]) -> Words:
    return frozenset(word for words in lists for word in words.split())


def _opposites(lists: Iterable[str]) -> Mapping[str, Words]:
    """Each word with its opposites, in both directions."""
    found: dict[str, set[str]] = {}
    for line in (line for lines in lists for line in lines.strip().splitlines()):
        word, _, others = line.partition(" ")
        for other in others.split("|"):
            found.setdefault(stem(word), set()).add(stem(other))
            found.setdefault(stem(other), set()).add(stem(word))
    return {word: frozenset(others) for word, others in found.items()}
