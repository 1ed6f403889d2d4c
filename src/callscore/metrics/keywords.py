"""Keyword spotting: the content words of a text, their overlap, positive and negative words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from callscore.core.resources import read_table

_WORD = re.compile(r"[^\W_]+")
SHORTEST_STEM = 4


class KeywordLists(msgspec.Struct, frozen=True):
    """The word lists of `keywords.toml`."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]
    filler: frozenset[str]


@cache
def keyword_lists() -> KeywordLists:
    """The word lists, loaded once."""
    return msgspec.convert(read_table(Path(__file__).with_suffix(".toml")), KeywordLists)


def words(text: str) -> list[str]:
    """The words of a text, case-folded."""
    return _WORD.findall(text.casefold())


def topic_words(text: str) -> set[str]:
    """The content words of a text."""
    return {word for word in words(text) if word not in keyword_lists().filler and len(word) > 1}


def overlap(about: set[str], text: str) -> float:
    """The share of the words `about` that share a stem with a word of the text."""
    if not about:
        return 0.0
    said, by_beginning = _vocabulary(text)
    found = sum(
        word in said
        or any(_share_stem(word, other) for other in by_beginning.get(word[:SHORTEST_STEM], ()))
        for word in about
    )
    return found / len(about)


@lru_cache(maxsize=1024)  # every question is compared with every turn of its call
def _vocabulary(text: str) -> tuple[frozenset[str], dict[str, list[str]]]:
    """The words of a text, and those that are long enough for a stem by its first letters."""
    said = frozenset(words(text))
    by_beginning: dict[str, list[str]] = {}
    for word in said:
        if len(word) >= SHORTEST_STEM:
            by_beginning.setdefault(word[:SHORTEST_STEM], []).append(word)
    return said, by_beginning


def _share_stem(first: str, second: str) -> bool:
    """Whether two words share a stem, judged by their beginnings."""
    stem = max(SHORTEST_STEM, min(len(first), len(second)) - 2)
    return first[:stem] == second[:stem] and len(first) >= stem <= len(second)


def occurs(phrase: str, spoken: list[str]) -> bool:
    """Whether the phrase occurs as consecutive words."""
    wanted = words(phrase)
    if not wanted:
        return False
    size = len(wanted)
    return any(spoken[i : i + size] == wanted for i in range(len(spoken) - size + 1))


def sentiment(text: str) -> str:
    """Whether a text has more positive or more negative words."""
    said = words(text)
    good, bad = _hits(keyword_lists().positive, said), _hits(keyword_lists().negative, said)
    if good == bad:
        return "neutral"
    return "positive" if good > bad else "negative"


def _hits(stems: Iterable[str], said: list[str]) -> int:
    return sum(word.startswith(tuple(stems)) for word in said)
