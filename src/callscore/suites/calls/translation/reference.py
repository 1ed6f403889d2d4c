"""The human translation of one case: checked once, before any answer is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.transcript import spoken_text
from callscore.metrics.text import n1
from callscore.suites.calls.expected import documented_keys, listed, sources_of
from callscore.suites.calls.items import item_id
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.structure import Shape, compile_shape
from callscore.suites.calls.translation.critical import given_facts
from callscore.suites.calls.translation.facts import FactSheet, GivenFact, fact_sheet
from callscore.suites.calls.translation.handling import Handled, Wording, place
from callscore.suites.calls.translation.rendering import Sentence

SENTENCES, TERMS, NOUNS = "sentence_translations", "domain_terms_handled", "named_entities_handled"
KEYS = ("full_translation", SENTENCES, TERMS, NOUNS)
SENTENCE_KEYS = ("source_id", "source_text", "translated_text")
NAME_KEYS: Mapping[str, str] = {TERMS: "term", NOUNS: "entity"}
SAMPLE_ITEMS: Mapping[str, Sequence[str]] = {
    SENTENCES: SENTENCE_KEYS,
    TERMS: ("term", "handled_as"),
    NOUNS: ("entity", "handled_as"),
}


class TranslationReference(msgspec.Struct, frozen=True, dict=True):
    """The case, its sentences, terms and nouns, and the shape an answer must have.

    What only an imperfect answer needs is worked out when the first one comes, and kept.
    """

    case: Case
    settings: Settings
    sentences: Mapping[str, Sentence]
    wordings: Mapping[str, Sequence[Wording]]
    """Domain terms and named entities as the reference lists them; no entry for an absent part."""
    given_facts: Sequence[GivenFact] | None
    shape: Shape

    @cached_property
    def text(self) -> str:
        """The whole human translation, one sentence a line."""
        return "\n".join(sentence.translation for sentence in self.sentences.values())

    @cached_property
    def handled(self) -> Mapping[str, Sequence[Handled]]:
        """Terms and nouns, and where the human translation has them; nouns in any case     C-72"""
        written = {key: sentence.written for key, sentence in self.sentences.items()}
        return {
            part: place(wordings, written, ignore_case=part == NOUNS)
            for part, wordings in self.wordings.items()
        }

    @cached_property
    def facts(self) -> FactSheet:
        """The critical facts, given or extracted, before any answer is seen        C-74"""
        config = self.case.config
        return fact_sheet(
            self._source,
            self.text,
            _tag(config.get("target_language")),
            source_lang=self.case.lang or _tag(config.get("source_language")),
            given=self.given_facts,
        )

    @property
    def total_facts(self) -> int:
        """total_critical_facts; a given list is counted without reading the texts        C-74"""
        return self.facts.total if self.given_facts is None else len(self.given_facts)

    @property
    def _source(self) -> str:
        """The sentences to translate, and the call where it holds anything else."""
        sentences = "\n".join(sentence.source for sentence in self.sentences.values())
        call = spoken_text(self.case.transcript)
        return call if call == sentences else f"{sentences}\n{call}"


def read_reference(case: Case, settings: Settings) -> TranslationReference:
    """The translation of a case; raises DataError where C-20 says so."""
    expected = case.expected_outcome
    documented_keys(expected, KEYS, case)
    sentences: dict[str, Sentence] = {}
    given = [] if case.is_absent("translated_text") else listed(expected, SENTENCES, case)
    for index, item in enumerate(given):
        path = f"expected_outcome.{SENTENCES}[{index}]"
        documented_keys(item, SENTENCE_KEYS, case, path)
        sentence = _sentence(item, case, path)
        if sentence.id in sentences:
            raise DataError(
                f"the id {sentence.id!r} stands twice; expected unique ids",
                field=f"{path}.source_id",
            )
        sentences[sentence.id] = sentence
    return TranslationReference(
        case,
        settings,
        sentences,
        {part: _wordings(case, part) for part in NAME_KEYS if _is_given(case, part)},
        given_facts(case),
        compile_shape(expected, sources_of(case, settings, SAMPLE_ITEMS, "source_id")),
    )


def _tag(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sentence(item: Mapping[str, Any], case: Case, path: str) -> Sentence:
    source = _text(item, "source_text", case, path)
    return Sentence(
        item_id(item.get("source_id")), source, _text(item, "translated_text", case, path)
    )


def _is_given(case: Case, part: str) -> bool:
    return not any(map(case.is_absent, (part, *SAMPLE_ITEMS[part])))


def _wordings(case: Case, part: str) -> Sequence[Wording]:
    name_key = NAME_KEYS[part]
    wordings = []
    for index, item in enumerate(listed(case.expected_outcome, part, case, filled=False)):
        path = f"expected_outcome.{part}[{index}]"
        documented_keys(item, SAMPLE_ITEMS[part], case, path)
        name, form = _text(item, name_key, case, path), _text(item, "handled_as", case, path)
        if not form.strip():
            raise DataError(
                "empty; expected the form in the translation", field=f"{path}.handled_as"
            )
        wordings.append(Wording(n1(name), form))
    return wordings


def _text(item: Mapping[str, Any], key: str, case: Case, path: str) -> str:
    value = item.get(key)
    if isinstance(value, str):
        return value
    if not case.is_absent(key):
        raise DataError(f"{value!r} is not text; expected a string", field=f"{path}.{key}")
    return ""
