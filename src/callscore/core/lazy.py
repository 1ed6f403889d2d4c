"""What is done on first use: compiling a regular expression, importing a public name.

Compiling takes longer than most runs spend on matching: a character class over several scripts is a
set of 65,536 flags. Patterns that only some languages or errors need are compiled late.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
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


def load_name(namespace: dict[str, Any], modules: Mapping[str, Sequence[str]], name: str) -> object:
    """Import a public name and add it to the namespace of its module.

    `modules` lists names by the module below `callscore` that defines them. Python calls the
    `__getattr__` of a module only for names that the namespace does not have: once per name.
    """
    for module, names in modules.items():
        if name in names:
            namespace[name] = getattr(import_module(f"callscore.{module}"), name)
            return namespace[name]
    raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
