"""Patterns that are compiled when they are first used.

Compiling takes longer than most runs then spend on matching: a set of characters of several
scripts is made of 65,536 flags. What only some languages or some faults need, waits.
"""

import re
from typing import Any, cast


def lazy_regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, at the first use; `match.re` is then another object than the pattern."""
    return cast("re.Pattern[str]", LatePattern(source, flags))


class LatePattern:
    """Has each method of the pattern from the moment that it is asked for."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found
