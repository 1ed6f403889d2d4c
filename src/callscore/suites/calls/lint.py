"""Warnings about cases whose prompt does not ask for everything that is scored (C-130)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.lazy_regex import lazy_regex
from callscore.metrics.text import item_id
from callscore.suites.calls.contradictions import contradictions
from callscore.suites.calls.entity.reference import ADHERENCE, EntityReference
from callscore.suites.calls.items import is_empty, number
from callscore.suites.calls.prompt import asked_questions, asked_sentences, distinct_texts
from callscore.suites.calls.qa.reference import ExpectedQuestion, QAReference
from callscore.suites.calls.text.reference import TextReference
from callscore.suites.calls.translation.reference import SENTENCES, TranslationReference

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
