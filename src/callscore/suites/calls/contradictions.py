"""Finds references that would not score 1 if they were given as a reply (C-131).

The checks follow from the formulas; no reference is scored. What would block a perfect reply is an
error in the data set (C-20), everything else is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from callscore.core.case import Case, JsonObject
from callscore.core.errors import DataError
from callscore.core.nearest import nearest
from callscore.metrics.text import search_form
from callscore.suites.calls.entity.reference import (
    NOT_CONFIGURED,
    EntityReference,
)
from callscore.suites.calls.items import LONGEST_PLACEHOLDER, is_empty
from callscore.suites.calls.prompt import CONFIG_KEYS, distinct_texts
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.translation.facts import drift
from callscore.suites.calls.translation.reference import (
    NAME_KEYS,
    NOUNS,
    SENTENCES,
    TranslationReference,
)

ALIKE = 0.8
"""Similarity from which an unknown key counts as a misspelt one."""
LONGEST_KEY = 64


def contradictions(case: Case, reference: object) -> Iterator[DataError]:
    """Contradictions in a reference, or between it and its config        C-131"""
    if not case.config.keys() <= CONFIG_KEYS:
        yield from _misspelt_keys(case.config)
    if isinstance(reference, EntityReference):
        yield from _unlisted_entities(reference)
    elif isinstance(reference, TextReference):
        yield from _empty_required_fields(case, reference)
    elif isinstance(reference, TranslationReference):
        yield from _translation_contradictions(reference)


def _misspelt_keys(config: JsonObject) -> Iterator[DataError]:
    for key in config:
        if key not in CONFIG_KEYS and (known := nearest_key(key)) and known not in config:
            yield DataError(f"is not a known key; expected {known!r}?", field=f"config.{key}")


@lru_cache(maxsize=1024)
def nearest_key(key: str) -> str | None:
    """The known key that is probably meant; cached, as all cases have the same keys."""
    return nearest(key[:LONGEST_KEY], sorted(CONFIG_KEYS), ALIKE)


def _unlisted_entities(reference: EntityReference) -> Iterator[DataError]:
    """Expected entities outside the configured list, too few to block a perfect reply."""
    if NOT_CONFIGURED in reference.flags:
        outside = sorted((reference.keywords | reference.topics) - reference.configured)
        yield DataError(
            f"{', '.join(map(repr, outside))}: expected, and not in the configured list",
            field="expected_outcome",
        )


def _empty_required_fields(case: Case, reference: TextReference) -> Iterator[DataError]:
    given = case.config.get("required_fields")
    if not given or given == reference.required_fields:
        return
    empty = [name for name in distinct_texts(given) if name not in reference.required_fields]
    if empty and "text.field_presence" not in reference.absent:
        yield DataError(
            f"{', '.join(map(repr, empty))}: required, and left empty in the expected summary",
            field="config.required_fields",
        )


def _translation_contradictions(reference: TranslationReference) -> Iterator[DataError]:
    for key, sentence in reference.sentences.items():
        is_short = len(sentence.translation) <= LONGEST_PLACEHOLDER  # longer ones are not empty
        if is_short and is_empty(sentence.translation) and not is_empty(sentence.source):
            yield DataError(
                f"the sentence {key!r} has none; expected its translation",
                field=f"expected_outcome.{SENTENCES}.translated_text",
            )
    for part, terms in reference.terms.items():
        for index, term in enumerate(terms):
            if not _occurs_in_translation(term.form, reference, ignore_case=part == NOUNS):
                yield DataError(
                    f"{term.form!r} occurs in no expected translation, as the form of the"
                    f" {NAME_KEYS[part]} {term.name!r}",
                    field=f"expected_outcome.{part}[{index}].handled_as",
                )
    yield from _lost_facts(reference)


def _occurs_in_translation(
    form: str, reference: TranslationReference, *, ignore_case: bool
) -> bool:
    sentences = reference.sentences.values()
    for sentence in sentences:
        if form in sentence.translation:
            return True
    form = search_form(form, ignore_case)
    if not ignore_case:
        return any(form in sentence.search_text for sentence in sentences)
    return any(form in sentence.search_text.casefold() for sentence in sentences)


def _lost_facts(reference: TranslationReference) -> Iterator[DataError]:
    """Listed facts that do not occur in the expected translation."""
    given = reference.given_facts
    if not given or all(
        _occurs_in_translation(fact.expected, reference, ignore_case=True) for fact in given
    ):
        return
    said = "\n".join(sentence.translation for sentence in reference.sentences.values())
    found = drift(reference.facts, said)
    lost = [*found.lost, *(given[place].expected for place in found.undecided)]
    for form in lost:
        yield DataError(
            f"{form!r} is listed, and occurs in no expected translation", field="critical_facts"
        )
