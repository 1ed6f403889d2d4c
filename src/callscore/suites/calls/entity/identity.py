"""When two entities are the same: equal under N2, or one an alias of the other (C-40, C-41)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from callscore.core.errors import DataError
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


def check_strings(items: Any, path: str) -> list[str]:
    """The value as a list of strings; raises DataError if it is not one."""
    if not isinstance(items, list):
        raise DataError("expected an array of strings", field=path)
    for item in items:
        if not isinstance(item, str):
            index = [isinstance(one, str) for one in items].index(False)
            raise DataError("expected an entity as a string", field=f"{path}[{index}]")
    return items


def configured_list(config: Mapping[str, Any]) -> list[str] | None:
    """keywords ∪ topics, else entities; None if the config has no list        C-43"""
    keywords, topics = config.get("keywords"), config.get("topics")
    if keywords is None and topics is None:
        entities = config.get("entities")
        return None if entities is None else check_strings(entities, "config.entities")
    return [
        *(check_strings(keywords, "config.keywords") if keywords is not None else ()),
        *(check_strings(topics, "config.topics") if topics is not None else ()),
    ]


def configured_keys(forms: list[str]) -> frozenset[str]:
    """The distinct entities of the configured list, before aliases are known."""
    return _keys_without_aliases(tuple(forms))


@lru_cache(maxsize=256)
def _keys_without_aliases(forms: tuple[str, ...]) -> frozenset[str]:
    """Cached, as the calls of one business share one long list."""
    return distinct_entities(forms, {}).keys


def read_aliases(config: Mapping[str, Any], configured: frozenset[str]) -> Aliases:
    """`{entity: [form, …]}` or `{form: entity}`; raises DataError if a form has two entities.

    Of a pair of strings the configured one is the entity; the second if both or neither are.
    """
    given = config.get("aliases")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise DataError("expected an object: entity to array of forms", field="config.aliases")
    pairs: list[tuple[str, str]] = []
    for name, value in given.items():
        if isinstance(value, str):
            pair = (n2(name), n2(value))
            is_entity_first = pair[0] in configured and pair[1] not in configured
            pairs.append(pair[::-1] if is_entity_first else pair)
        else:
            forms = check_strings(value, f"config.aliases[{name!r}]")
            pairs += [(n2(form), n2(name)) for form in forms]
    return _map_forms(pairs)


def _map_forms(pairs: list[tuple[str, str]]) -> Aliases:
    entities = {entity for _, entity in pairs}
    aliases: dict[str, str] = {}
    for form, entity in pairs:
        if not form or not entity or form == entity:
            continue
        if form in entities or aliases.setdefault(form, entity) != entity:
            raise DataError(
                f"the form {form!r} names two entities; expected one", field="config.aliases"
            )
    return aliases
