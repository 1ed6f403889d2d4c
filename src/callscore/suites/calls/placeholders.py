"""What counts as empty: blanks, empty containers and the usual placeholders (C-59)."""

from __future__ import annotations

from typing import Any

from callscore.metrics.text import n2

PLACEHOLDERS = frozenset(
    n2(word)
    for word in (
        "n/a",
        "na",
        "none",
        "null",
        "nil",
        "unknown",
        "not mentioned",
        "not provided",
        "not applicable",
    )
)
LONGEST_PLACEHOLDER = max(map(len, PLACEHOLDERS))
LONGEST_LOOK = 4 * LONGEST_PLACEHOLDER
"""Characters that are checked before a text is normalised."""

LONGEST_OPENING = 4
_BEGINNINGS = tuple(sorted({word[:LONGEST_OPENING].split()[0] for word in PLACEHOLDERS}))
_OPENINGS = frozenset(word[0] for word in PLACEHOLDERS)
_FILLED = frozenset(
    char for char in map(chr, range(128)) if char.isalnum() and char.lower() not in _OPENINGS
)
"""A letter or digit with which no placeholder begins."""


def is_empty(value: Any) -> bool:
    """null, [], {}, a text without a letter or digit, or a placeholder        C-59

    0 and false are values. `-`, `–` and `?` need no entry: they have neither letter nor digit.
    """
    if not isinstance(value, str):
        return value is None or value == [] or value == {}
    if not value or value[0] in _FILLED:
        return not value
    opening = value[:LONGEST_OPENING]
    if opening[1:2].isdigit():  # no placeholder has one
        return False
    if opening[0].isalnum() and opening.isascii() and not opening.lower().startswith(_BEGINNINGS):
        return False
    if sum(map(str.isalnum, value[:LONGEST_LOOK])) > LONGEST_PLACEHOLDER:
        return False
    return not any(map(str.isalnum, value)) or n2(value) in PLACEHOLDERS
