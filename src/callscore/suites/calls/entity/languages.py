"""Which expected entities are configured in another language than the call's (C-48)."""

from __future__ import annotations

from collections.abc import Mapping

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.suites.calls.entity.identity import NO_ENTITIES, Aliases, key_of

_NO_LANGUAGE = frozenset({"und", "mul", "mis", "zxx"})
"""Tags that name no language: undetermined, multiple, uncoded, none."""


def primary_language(tag: str) -> str:
    """The language of a BCP 47 tag, lower case: `en` of `en-US`; empty if unknown."""
    language = tag.strip().replace("_", "-").partition("-")[0].lower()
    known = language.isascii() and language.isalpha() and len(language) in (2, 3)
    return language if known and language not in _NO_LANGUAGE else ""


def foreign_entities(expected: frozenset[str], case: Case, aliases: Aliases) -> frozenset[str]:
    """The expected entities whose configured form is not in the transcript's language     C-48

    Empty if either language is unknown: such a case is not cross-language.
    """
    given = case.config.get("entity_language")
    if given is None:
        return NO_ENTITIES
    spoken = _transcript_language(case)
    if isinstance(given, Mapping):
        languages = {
            key_of(entity, aliases): _language(tag, f"config.entity_language[{entity!r}]")
            for entity, tag in given.items()
        }
    else:
        languages = dict.fromkeys(expected, _language(given, "config.entity_language"))
    if not spoken:
        return NO_ENTITIES
    return frozenset(key for key in expected if languages.get(key, "") not in ("", spoken))


def _transcript_language(case: Case) -> str:
    source = case.config.get("source_language")
    given = "" if source is None else _language(source, "config.source_language")
    return primary_language(case.lang or "") or given


def _language(tag: object, field: str) -> str:
    if not isinstance(tag, str):
        raise DataError("expected a language tag as a string", field=field)
    return primary_language(tag)
