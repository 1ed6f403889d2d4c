"""Two texts word by word: what both have, what only the first has, what only the second has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

MAX_TOKENS = 4_000
"""Longer texts are compared by lines."""
_WORDS = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|"  # Japanese and Chinese are written without spaces
    r"\s+|[^\W_](?:[\w\u0300-\u036f\u0900-\u0dff]|(?<=\d)[.,](?=\d))*|[^\s]",
)


class DiffPart(NamedTuple):
    """A part of both texts, or of one of them."""

    kind: Literal["same", "first", "second"]
    text: str


def diff_texts(first: str, second: str) -> list[DiffPart]:
    """The parts of two texts in their order; what was replaced comes before what replaces it."""
    one, other = _tokens(first, second)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return list(_joined(_parts(matcher, one, other)))


def _tokens(first: str, second: str) -> tuple[Sequence[str], Sequence[str]]:
    one, other = _WORDS.findall(first), _WORDS.findall(second)
    if max(len(one), len(other)) > MAX_TOKENS:
        return first.splitlines(keepends=True), second.splitlines(keepends=True)
    return one, other


def _parts(
    matcher: SequenceMatcher[str], one: Sequence[str], other: Sequence[str]
) -> Iterator[DiffPart]:
    for kind, low, high, other_low, other_high in matcher.get_opcodes():
        if kind == "equal":
            yield DiffPart("same", "".join(one[low:high]))
            continue
        yield DiffPart("first", "".join(one[low:high]))
        yield DiffPart("second", "".join(other[other_low:other_high]))


def _joined(parts: Iterator[DiffPart]) -> Iterator[DiffPart]:
    """The parts that have text; a space between two changes belongs to both."""
    kept = [part for part in parts if part.text]
    removed = added = ""
    for at, part in enumerate(kept):
        between = 0 < at < len(kept) - 1 and (removed or added)
        if part.kind == "same" and part.text.isspace() and between:
            removed, added = removed + part.text, added + part.text
        elif part.kind == "same":
            yield from _changes(removed, added)
            removed = added = ""
            yield part
        elif part.kind == "first":
            removed += part.text
        else:
            added += part.text
    yield from _changes(removed, added)


def _changes(removed: str, added: str) -> Iterator[DiffPart]:
    if removed:
        yield DiffPart("first", removed)
    if added:
        yield DiffPart("second", added)
