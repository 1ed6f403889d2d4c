"""Warnings about cases: contradictions (C-131), and prompts that do not ask for all that is scored
(C-130).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from callscore.core.case import Case, JsonObject
from callscore.core.errors import DataError, nearest
from callscore.core.lazy import lazy_regex
from callscore.metrics.text import item_id, search_form
from callscore.suites.calls.entity.reference import (
    ADHERENCE,
    NOT_CONFIGURED,
    EntityReference,
)
from callscore.suites.calls.items import LONGEST_PLACEHOLDER, is_empty, number
from callscore.suites.calls.prompt import (
    CONFIG_KEYS,
    asked_questions,
    asked_sentences,
    distinct_texts,
)
from callscore.suites.calls.qa.reference import ExpectedQuestion, QAReference
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


_SPECIFIC = lazy_regex(r"[\"\u201c\u201e\u00ab\u300c]|(?<!\w)['\u2018]\w|\d")
"""A quotation or a number, the best signs that a reason names a moment of the call."""
FEWEST_WORDS = 7
"""A shorter reason without such a sign names nothing specific (C-37)."""


def config_warnings(case: Case, reference: object) -> Iterator[DataError]:
    """Warnings about a case; none is a reason to refuse stored replies."""
    yield from contradictions(case, reference)
    if isinstance(reference, QAReference):
        yield from _form_warnings(case, reference)
    elif isinstance(reference, EntityReference):
        if ADHERENCE in reference.absent or not reference.configured:
            yield DataError(
                "empty; the prompt does not say what to look for", field="config.entities"
            )
    elif isinstance(reference, TextReference):
        yield from _text_warnings(case, reference)
    elif isinstance(reference, TranslationReference):
        yield from _translation_warnings(case, reference)


def _form_warnings(case: Case, reference: QAReference) -> Iterator[DataError]:
    questions = case.config.get("questions")
    asked = {
        item_id(item.get("question_id")): item.get("max_score")
        for item in (questions if isinstance(questions, list) else ())
        if isinstance(item, dict)
    }
    differences = list(_differences(asked, reference.questions)) if asked else ["has no question"]
    if differences:
        yield DataError(
            f"{'; '.join(differences)}: the expected form is asked and scored",
            field="config.questions",
        )
    unworded = [
        repr(item.get("question_id")) for item in asked_questions(case) if not item.get("question")
    ]
    if unworded:
        yield DataError(
            f"{', '.join(unworded)} without `question`: the prompt does not contain the question",
            field="config.questions",
        )
    if not case.is_absent("reason"):
        yield from _vague_reasons(reference)


def _differences(
    asked: Mapping[str, object], scored: Mapping[str, ExpectedQuestion]
) -> Iterator[str]:
    """What differs between the questions of the config and those of the expected outcome."""
    if unasked := [key for key in scored if key not in asked]:
        yield f"lacks {', '.join(map(repr, unasked))}"
    if unscored := [key for key in asked if key not in scored]:
        yield f"has {', '.join(map(repr, unscored))}, which are not expected"
    for key, question in scored.items():
        if key in asked and number(asked[key]) != question.max_score:
            yield f"max_score of {key!r} is {asked[key]!r}, expected {question.max_score:g}"


def _vague_reasons(reference: QAReference) -> Iterator[DataError]:
    """Warn of reasons by people that would earn a model no points        C-37"""
    reasons = [q.reason for q in reference.questions.values() if q.score is not None]
    vague = [reason for reason in reasons if not is_empty(reason) and is_vague(reason)]
    if vague:
        yield DataError(
            f"{len(vague)} of {len(reasons)} name nothing specific, as {vague[0]!r}: a model that"
            " repeats one is right; expected an action or a quotation",
            field="expected_outcome.questions.reason",
        )


def is_vague(reason: str) -> bool:
    """Whether a reason is short, without quotation or number        C-37"""
    return _SPECIFIC.search(reason) is None and len(reason.split()) < FEWEST_WORDS


def _text_warnings(case: Case, reference: TextReference) -> Iterator[DataError]:
    if reference.sentences:
        asked = asked_sentences(case, "sentiment", "sentence_id", "text") or ()
        yield from _textless_warnings([item["sentence_id"] for item in asked if not item["text"]])
    offered = distinct_texts(case.config.get("emotions"))
    if offered and (unasked := sorted(reference.top_emotions - {*offered})):
        yield DataError(
            f"lacks {', '.join(map(repr, unasked))}, the greatest of the reference",
            field="config.emotions",
        )


def _translation_warnings(case: Case, reference: TranslationReference) -> Iterator[DataError]:
    if reference.sentences:
        asked = asked_sentences(case, SENTENCES, "source_id", "source_text") or ()
        yield from _textless_warnings(
            [item["source_id"] for item in asked if not item["source_text"]]
        )
    language = case.config.get("target_language")
    if not isinstance(language, str) or not language.strip():
        yield DataError(
            "missing; the prompt does not say into which language to translate",
            field="config.target_language",
        )


def _textless_warnings(ids: list[object]) -> Iterator[DataError]:
    if ids:
        yield DataError(
            f"{', '.join(map(repr, ids))} without text: the prompt does not contain them",
            field="config.sentences",
        )
