"""Splits texts into words, and words into stems, to recognise a word in another form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from callscore.metrics.text import is_unspaced_script

_LETTER = (
    r"(?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
    r"\u0e31-\u0e4e\u1000-\u109f])"
)
"""`\\w` without `_`, and the vowel signs that Python does not count as letters (C-18)."""
_WORD = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*")
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
    return [word.replace("’", "'") for word in _WORD.findall(text)]


def find_words(text: str) -> Iterator[tuple[int, str]]:
    """The words of a text with their positions."""
    return ((found.start(), found[0].replace("’", "'")) for found in _WORD.finditer(text))


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
