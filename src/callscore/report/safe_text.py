"""Text from outside, made safe to print: no control characters, no bidi tricks, one line."""

from __future__ import annotations

import unicodedata

_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str, longest: int = 200) -> str:
    """One line without escape sequences or invisible direction marks, cut where it is too long."""
    if text.isascii() and text.isprintable() and len(text) <= longest:
        return text
    safe = "".join(
        "\ufffd" if char in _BIDI or unicodedata.category(char) in ("Cc", "Cs") else char
        for char in " ".join(text.split())
    )
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"
