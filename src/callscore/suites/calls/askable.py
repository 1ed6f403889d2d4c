"""Cases that can be scored, but of which a model would not be asked what is scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.suites.calls.items import item_id, number
from callscore.suites.calls.qa.reference import FormQuestion, QAReference


def oversights(case: Case, reference: object) -> Iterator[DataError]:
    """What the config of a case should say and does not; no reason to refuse stored answers."""
    if isinstance(reference, QAReference):
        yield from _form_differs(case, reference)
    elif case.task == "translation":
        language = case.config.get("target_language")
        if not isinstance(language, str) or not language.strip():
            yield DataError(
                "missing; a model is not told into which language to translate",
                field="config.target_language",
                case_id=case.id,
            )


def _form_differs(case: Case, reference: QAReference) -> Iterator[DataError]:
    given = case.config.get("questions")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    asked = {item_id(item.get("question_id")): item.get("max_score") for item in items}
    found = list(_differences(asked, reference.questions)) if asked else ["has no question"]
    if found:
        yield DataError(
            f"{'; '.join(found)}: a model is asked this form, the expected one is scored",
            field="config.questions",
            case_id=case.id,
        )


def _differences(asked: Mapping[str, object], scored: Mapping[str, FormQuestion]) -> Iterator[str]:
    if unasked := [key for key in scored if key not in asked]:
        yield f"lacks {', '.join(map(repr, unasked))}"
    if unscored := [key for key in asked if key not in scored]:
        yield f"has {', '.join(map(repr, unscored))}, which nobody expects"
    for key, question in scored.items():
        if key in asked and number(asked[key]) != question.max_score:
            yield f"max_score of {key!r} is {asked[key]!r}, expected {question.max_score:g}"
