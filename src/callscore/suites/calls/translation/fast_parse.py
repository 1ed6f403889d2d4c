"""The documented form of a translation answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from callscore.suites.calls.fast_parse import CONTAINERS, Allows, Form, Scalar


class Sentence(TypedDict):
    """One sentence and its translation."""

    source_id: Scalar
    source_text: Scalar
    translated_text: Scalar


class Term(TypedDict):
    """A domain term, and how the translation has it."""

    term: Scalar
    handled_as: Scalar


class Noun(TypedDict):
    """A named entity, and how the translation has it."""

    entity: Scalar
    handled_as: Scalar


class TranslationAnswer(TypedDict):
    """The whole answer."""

    full_translation: Scalar
    sentence_translations: list[Sentence]
    domain_terms_handled: list[Term]
    named_entities_handled: list[Noun]


_WIDTHS = (
    ("sentence_translations", len(Sentence.__annotations__)),
    ("domain_terms_handled", len(Term.__annotations__)),
    ("named_entities_handled", len(Noun.__annotations__)),
)


def count_keys(expected: Mapping[str, Any], answer: Mapping[str, Any], allows: Allows) -> int:
    """4 + 3 × sentences + 2 × (terms + nouns); 0 where keys of its own are expected"""
    found = len(answer)
    if len(expected) != found or type(expected["full_translation"]) in CONTAINERS:
        return 0
    for key, width in _WIDTHS:
        for item in expected[key]:
            if len(item) != width:
                return 0
        found += width * len(answer[key])
    return found


FORM = Form(msgspec.json.Decoder(TranslationAnswer).decode, count_keys)
