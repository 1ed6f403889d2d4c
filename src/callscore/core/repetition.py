"""Detects a reply that repeats itself until it is cut off; a higher token limit does not help."""

from __future__ import annotations

from callscore.core.lazy_regex import lazy_regex

TAIL = 6000
"""Characters at the end of a text that are looked at."""
LONGEST_PASSAGE = 800
TIMES = 4
"""How often a passage must occur in a row …"""
SHORTEST_LOOP = 160
"""… and the characters that the row must have: a few dashes are no loop."""
_NUMBER = lazy_regex(r"\d+")


def ends_in_loop(text: str) -> bool:
    """Whether a text ends with one passage over and over; numbers in it may count on."""
    tail = _NUMBER.sub("0", text[-TAIL:])
    for length in range(1, LONGEST_PASSAGE + 1):
        row = max(TIMES * length, SHORTEST_LOOP)
        if row > len(tail):
            return False
        if tail[-row:-length] == tail[length - row :]:
            return True
    return False
