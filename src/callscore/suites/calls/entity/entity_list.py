"""The entities of the config: the list to choose from, and aliases (C-40, C-43)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from callscore.core.errors import DataError
from callscore.metrics.text import n2
from callscore.suites.calls.entity.identity import Aliases, distinct_entities


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
