"""The human translation of one case, checked once, before any reply is scored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, Turn, spoken_text
from callscore.core.errors import DataError
from callscore.metrics.text import n1
from callscore.suites.calls.items import check_items, check_keys, expected_id, expected_list
from callscore.suites.calls.reply_parser import Structure, StructureSources, structure_of
from callscore.suites.calls.structure import split_sentences
from callscore.suites.calls.translation.facts import FactSheet, GivenFact, fact_sheet, given_facts
from callscore.suites.calls.translation.sentence_match import SourceSentence
from callscore.suites.calls.translation.terms import LocatedTerm, TermTranslation, locate_terms

SENTENCES, TERMS, NOUNS = "sentence_translations", "domain_terms_handled", "named_entities_handled"
KEYS = ("full_translation", SENTENCES, TERMS, NOUNS)
SENTENCE_KEYS = frozenset({"source_id", "source_text", "translated_text"})
NAME_KEYS: Mapping[str, str] = {TERMS: "term", NOUNS: "entity"}
SAMPLE_ITEMS: Mapping[str, frozenset[str]] = {
    SENTENCES: SENTENCE_KEYS,
    TERMS: frozenset({"term", "handled_as"}),
    NOUNS: frozenset({"entity", "handled_as"}),
}
_SENTENCES = f"expected_outcome.{SENTENCES}"


class ReferenceSentence(NamedTuple):
    """One sentence of the human translation of a source id."""

    source_id: str
    text: str


class TranslationReference(msgspec.Struct, frozen=True, dict=True):
    """The case, its sentences, terms and nouns, and the structure that replies must have.

    What only an imperfect reply needs is computed on first use and cached.
    """

    case: Case
    sentences: Mapping[str, SourceSentence]
    terms: Mapping[str, Sequence[TermTranslation]]
    """Domain terms and named entities of the reference; no entry for an absent part."""
    given_facts: Sequence[GivenFact] | None
    structure: Structure

    @cached_property
    def located_terms(self) -> Mapping[str, Sequence[LocatedTerm]]:
        """Terms and nouns, with the sentences that have them; nouns ignore case        C-72"""
        sentences = {key: sentence.search_text for key, sentence in self.sentences.items()}
        return {
            part: locate_terms(terms, sentences, ignore_case=part == NOUNS)
            for part, terms in self.terms.items()
        }

    @cached_property
    def facts(self) -> FactSheet:
        """The critical facts, given or extracted, independent of the replies        C-74"""
        config = self.case.config
        return fact_sheet(
            partial(_source_text, self.sentences, self.case.transcript),
            "\n".join([sentence.translation for sentence in self.sentences.values()]),
            _language_tag(config.get("target_language")),
            source_lang=self.case.lang or _language_tag(config.get("source_language")),
            given=self.given_facts,
        )

    @cached_property
    def may_state_outcomes(self) -> Mapping[str, ReferenceSentence]:
        """The sentences that the judge is asked about, by name; none if facts are given  C-74"""
        if self.given_facts is not None:
            return {}
        return {
            name: ReferenceSentence(source_id, text)
            for source_id, sentence in self.sentences.items()
            for name, text in _name_sentences(source_id, sentence.translation, self.sentences)
        }

    @property
    def total_facts(self) -> int:
        """total_critical_facts; a given list is counted without reading any text        C-74"""
        return self.facts.total if self.given_facts is None else len(self.given_facts)


def _source_text(sentences: Mapping[str, SourceSentence], transcript: str | Sequence[Turn]) -> str:
    """The sentences to translate, and the transcript if it has anything else."""
    translated = "\n".join(sentence.source for sentence in sentences.values())
    call = spoken_text(transcript)
    return call if call == translated else f"{translated}\n{call}"


def _name_sentences(
    source_id: str, translation: str, taken: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The sentences under a source id: `id`, `id[2]` …; all as one if such a name is taken."""
    texts = [text for text in split_sentences(translation) if text]
    names = [source_id, *(f"{source_id}[{number}]" for number in range(2, len(texts) + 1))]
    if any(name in taken for name in names[1:]):
        texts = [translation]
    yield from zip(names, texts, strict=False)


def read_reference(case: Case, sources: StructureSources) -> TranslationReference:
    """The translation of a case; raises DataError (C-20)."""
    expected = case.expected_outcome
    check_keys(expected, KEYS, case)
    sentences: dict[str, SourceSentence] = {}
    given = [] if case.is_absent("translated_text") else expected_list(expected, SENTENCES, case)
    check_items(given, SENTENCE_KEYS, case, _SENTENCES)
    for index, item in enumerate(given):
        sentence = _read_sentence(item, case, index)
        if sentence.id in sentences:
            raise DataError(
                f"the id {sentence.id!r} appears twice; expected unique ids",
                field=f"{_SENTENCES}[{index}].source_id",
            )
        sentences[sentence.id] = sentence
    return TranslationReference(
        case,
        sentences,
        {part: _read_terms(case, part) for part in NAME_KEYS if _is_present(case, part)},
        given_facts(case),
        structure_of(case, sources),
    )


def _language_tag(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _read_sentence(item: Mapping[str, Any], case: Case, index: int) -> SourceSentence:
    return SourceSentence(
        expected_id(item.get("source_id"), "source_id", _SENTENCES, index),
        _read_text(item, "source_text", case, _SENTENCES, index),
        _read_text(item, "translated_text", case, _SENTENCES, index),
    )


def _is_present(case: Case, part: str) -> bool:
    return not (case.expected_parts and any(map(case.is_absent, (part, *SAMPLE_ITEMS[part]))))


def _read_terms(case: Case, part: str) -> Sequence[TermTranslation]:
    items = expected_list(case.expected_outcome, part, case, filled=False)
    if not items:
        return ()
    name_key, path, terms = NAME_KEYS[part], f"expected_outcome.{part}", []
    check_items(items, SAMPLE_ITEMS[part], case, path)
    for index, item in enumerate(items):
        name = _read_text(item, name_key, case, path, index)
        form = _read_text(item, "handled_as", case, path, index)
        if not form.strip():
            raise DataError(
                "empty; expected the form in the translation", field=f"{path}[{index}].handled_as"
            )
        terms.append(TermTranslation(n1(name), form))
    return terms


def _read_text(item: Mapping[str, Any], key: str, case: Case, path: str, index: int) -> str:
    value = item.get(key)
    if isinstance(value, str):
        return value
    if not case.is_absent(key):
        raise DataError(f"{value!r} is not text; expected a string", field=f"{path}[{index}].{key}")
    return ""
