"""What counts as no answer: blanks, empty containers and the usual placeholders (C-59)."""

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


def is_empty(value: Any) -> bool:
    """null, white space, [], {}, or a placeholder; 0 and false are answers        C-59

    `-`, `–` and `?` need no entry: N2 strips punctuation, so nothing is left of them.
    """
    if value is None or value == [] or value == {}:
        return True
    if not isinstance(value, str):
        return False
    form = n2(value)
    return not form or form in PLACEHOLDERS
