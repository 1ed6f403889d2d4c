"""Text from outside, made safe to print: no control characters, no bidi tricks, one line."""

from __future__ import annotations

import unicodedata

_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str, longest: int = 200) -> str:
    """One line without escape sequences or invisible direction marks, cut where it is too long."""
    if text.isascii() and text.isprintable() and len(text) <= longest:
        return text
    safe = harmless(" ".join(text.split()))
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def harmless(text: str) -> str:
    """The same without escape sequences, direction marks and ends of lines, however long."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_harmless_char, text))


def _harmless_char(char: str) -> str:
    if char in "\n\r\t":
        return " "
    return "\ufffd" if char in _BIDI or unicodedata.category(char) in ("Cc", "Cs") else char
