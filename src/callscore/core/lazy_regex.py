"""Regular expressions that are compiled on first use.

Compiling takes longer than most runs spend on matching: a character class over several scripts is a
set of 65,536 flags. Patterns that only some languages or errors need are compiled late.
"""

import re
from typing import Any, cast


def lazy_regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, on first use. `match.re` is then not this object."""
    return cast("re.Pattern[str]", LazyPattern(source, flags))


class LazyPattern:
    """Forwards every attribute to the compiled pattern."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found
