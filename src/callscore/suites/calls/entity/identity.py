"""When two entities are the same: equal under N2, or one an alias of the other (C-40, C-41)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.metrics.text import n2

Aliases = Mapping[str, str]
"""From the N2 form of a spelling to the key of the entity that it names."""


NO_ENTITIES: frozenset[str] = frozenset()
NO_FLAGS: frozenset[str] = frozenset()


class EntityKeys(msgspec.Struct, frozen=True, gc=False):
    """The entities of a list, each once, and flags."""

    keys: frozenset[str]
    flags: frozenset[str]


def key_of(form: str, aliases: Aliases) -> str:
    """The N2 form, or the key of the entity that it is an alias of        C-40"""
    normal = n2(form)
    return aliases.get(normal, normal)


def distinct_entities(items: Sequence[object], aliases: Aliases) -> EntityKeys:
    """The distinct entities of a list; empty strings dropped, other non-strings kept      C-41"""
    forms: list[str] = []
    for item in items:
        if type(item) is not str:
            return _distinct_with_flags(items, aliases)
        forms.append(key_of(item, aliases) if aliases else n2(item))
    keys = frozenset(forms)
    if len(keys) < len(forms) or "" in keys:
        return _distinct_with_flags(items, aliases)
    return EntityKeys(keys, NO_FLAGS)


def _distinct_with_flags(items: Sequence[object], aliases: Aliases) -> EntityKeys:
    keys: set[str] = set()
    flags: set[str] = set()
    for item in items:
        if isinstance(item, str):
            key = key_of(item, aliases)
        else:
            key = _key_of_non_string(item)
            flags.add("bad_scalar")
        if not key:
            flags.add("empty_dropped")
        elif key in keys:
            flags.add("duplicates_removed")
        else:
            keys.add(key)
    return EntityKeys(frozenset(keys), frozenset(flags))


def _key_of_non_string(item: object) -> str:
    """A key that equals no entity: no N2 form begins with a space."""
    return f" {item!r}"


def is_text(key: str) -> bool:
    """Whether the key comes from a string: a number or null occurs in no transcript."""
    return not key.startswith(" ")
