"""The QA form of one case as the human filled it: checked once, before any answer is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.metrics.text import n1
from callscore.suites.calls.expected import documented_keys, listed, sources_of
from callscore.suites.calls.items import item_id, number
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.structure import Shape, compile_shape

ITEM_KEYS = ("question_id", "score", "max_score", "type", "reason")
SAMPLE_ITEMS = {"questions": ITEM_KEYS}


class FormQuestion(msgspec.Struct, frozen=True):
    """One question of the form; `score` is None where it is not applicable (C-33).

    `reason` is the human's, as N1.
    """

    id: str
    score: float | None
    max_score: float
    pass_fail: bool
    type: str
    reason: str


class QAReference(msgspec.Struct, frozen=True):
    """The case, its questions and the shape an answer must have."""

    case: Case
    settings: Settings
    questions: Mapping[str, FormQuestion]
    shape: Shape


def read_reference(case: Case, settings: Settings) -> QAReference:
    """The form of a case; raises DataError where C-20 says so."""
    expected = case.expected_outcome
    documented_keys(expected, ("questions",), case)
    questions: dict[str, FormQuestion] = {}
    for index, item in enumerate(listed(expected, "questions", case)):
        path = f"expected_outcome.questions[{index}]"
        documented_keys(item, ITEM_KEYS, case, path)
        question = _question(item, path)
        if question.id in questions:
            raise DataError(
                f"the id {question.id!r} stands twice; expected unique ids",
                field=f"{path}.question_id",
            )
        questions[question.id] = question
    shape = compile_shape(expected, sources_of(case, settings, SAMPLE_ITEMS, "question_id"))
    return QAReference(case, settings, questions, shape)


def _question(item: Mapping[str, Any], path: str) -> FormQuestion:
    kind = item.get("type")
    if kind not in ("PASS_FAIL", "SCORE"):
        raise DataError(
            f"{kind!r} is not a type; expected PASS_FAIL or SCORE", field=f"{path}.type"
        )
    maximum = number(item.get("max_score"))
    if maximum is None or not math.isfinite(maximum) or maximum <= 0:
        raise DataError(
            f"{item.get('max_score')!r} cannot be a maximum in question"
            f" {item_id(item['question_id'])!r}; expected a number above 0",
            field=f"{path}.max_score",
        )
    reason = item.get("reason")
    return FormQuestion(
        id=item_id(item["question_id"]),
        score=_score(item, maximum, kind == "PASS_FAIL", path),
        max_score=maximum,
        pass_fail=kind == "PASS_FAIL",
        type=kind,
        reason=n1(reason) if isinstance(reason, str) else "",
    )


def _score(item: Mapping[str, Any], maximum: float, pass_fail: bool, path: str) -> float | None:
    given = item.get("score")
    if given is None:
        return None
    score = number(given)
    if score is None or not 0 <= score <= maximum:
        raise DataError(
            f"{given!r} lies outside the scale; expected null or a number from 0 to {maximum:g}",
            field=f"{path}.score",
        )
    if pass_fail and score not in (0, maximum):
        raise DataError(
            f"{given!r} is neither 0 nor full marks; expected 0 or {maximum:g} for PASS_FAIL",
            field=f"{path}.score",
        )
    return score
