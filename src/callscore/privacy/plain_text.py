"""Text as the rules of redaction read it: compatible forms, lower case, ASCII digits.

NFKC makes full-width digits and no-break spaces ordinary ones, and may change lengths; `at` maps
every place back to the original text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_INVISIBLE = frozenset("\u00ad\u200b\u2060\ufeff")
_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_COMBINED = re.compile("[\u0300-\u036f\u3099\u309a]")
"""Accents that are separate characters: they are read together with their letter."""


class PlainText(NamedTuple):
    """The text to search in, and the original one."""

    text: str
    original: str
    offsets: list[int] | None
    """The place of every character in the original text; None if they are the same."""

    def at(self, start: int, end: int) -> tuple[int, int]:
        """The place of a span in the original text."""
        if self.offsets is None:
            return start, end
        last = self.offsets[end - 1]
        after = end
        while after < len(self.offsets) and self.offsets[after] == last:
            after += 1  # one character became several: the whole of it
        return self.offsets[start], (
            self.offsets[after] if after < len(self.offsets) else len(self.original)
        )


class _Table(dict[int, str]):
    """Every character in its plain form, found once."""

    def __missing__(self, code: int) -> str:
        plain = self[code] = _plain(chr(code))
        return plain


def _plain(characters: str) -> str:
    """The plain form of one character, with its accents."""
    if characters in _INVISIBLE:
        return ""
    if characters in _DASHES:
        return "-"
    found = []
    for one in unicodedata.normalize("NFKC", characters):
        digit = unicodedata.decimal(one, None)
        lower = one.lower()
        found.append(str(digit) if digit is not None else lower if len(lower) == 1 else one)
    return "".join(found)


_TABLE = _Table()


def plain_text(text: str) -> PlainText:
    """The text in its plain form."""
    if text.isascii():
        return PlainText(text.lower(), text, None)
    plain = text.translate(_TABLE)
    is_direct = len(plain) == len(text) and not _COMBINED.search(text)
    if is_direct and not any(one in text for one in _INVISIBLE):
        return PlainText(plain, text, None)
    parts: list[str] = []
    offsets: list[int] = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        part = _plain(text[at:end])
        parts.append(part)
        offsets += [at] * len(part) if len(part) != end - at else range(at, end)
        at = end
    return PlainText("".join(parts), text, offsets)
