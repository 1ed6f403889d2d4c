"""The expected QA form of one case, checked once, before any reply is scored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.metrics.text import n1
from callscore.suites.calls.items import ItemFields, check_keys, expected_id, expected_list, number
from callscore.suites.calls.reply_parser import Structure, StructureSources, structure_of
from callscore.suites.calls.spec import Settings

QUESTION_KEYS = frozenset({"question_id", "score", "max_score", "type", "reason"})
SAMPLE_ITEMS = {"questions": QUESTION_KEYS}
_QUESTIONS = "expected_outcome.questions"
_FIELDS = ItemFields("question_id", "score", "max_score", "type", "reason")


class ExpectedQuestion(msgspec.Struct, frozen=True, gc=False):
    """One question of the form; `score` is None if it is not applicable (C-33).

    `reason` is the human's, as N1.
    """

    id: str
    score: float | None
    max_score: float
    pass_fail: bool
    type: str
    reason: str


class QAReference(msgspec.Struct, frozen=True):
    """The case, its questions and the structure that replies must have."""

    case: Case
    settings: Settings
    questions: Mapping[str, ExpectedQuestion]
    structure: Structure
    reasons_absent: bool = False
    """Whether the case declares the reasons absent (C-127)."""


def read_reference(case: Case, settings: Settings, sources: StructureSources) -> QAReference:
    """The form of a case; raises DataError (C-20)."""
    expected = case.expected_outcome
    check_keys(expected, ("questions",), case)
    items = expected_list(expected, "questions", case)
    questions: dict[str, ExpectedQuestion] = {}
    for index, fields in enumerate(_FIELDS.read(items, case, _QUESTIONS)):
        question = _question(fields, index)
        if question.id in questions:
            raise DataError(
                f"the id {question.id!r} appears twice; expected unique ids",
                field=f"{_QUESTIONS}[{index}].question_id",
            )
        questions[question.id] = question
    structure = structure_of(case, sources)
    return QAReference(case, settings, questions, structure, "reason" in structure.sources.absent)


def _question(fields: tuple[Any, ...], index: int) -> ExpectedQuestion:
    given_id, score, given_maximum, kind, reason = fields
    question_id = expected_id(given_id, "question_id", _QUESTIONS, index)
    if kind not in ("PASS_FAIL", "SCORE"):
        raise DataError(
            f"{kind!r} is not a type; expected PASS_FAIL or SCORE",
            field=f"{_QUESTIONS}[{index}].type",
        )
    maximum = number(given_maximum)
    if maximum is None or not 0 < maximum < math.inf:
        raise DataError(
            f"{given_maximum!r} cannot be a maximum in question"
            f" {question_id!r}; expected a number above 0",
            field=f"{_QUESTIONS}[{index}].max_score",
        )
    pass_fail = kind == "PASS_FAIL"
    return ExpectedQuestion(
        question_id,
        _score(score, maximum, pass_fail, index),
        maximum,
        pass_fail,
        kind,
        n1(reason) if isinstance(reason, str) else "",
    )


def _score(given: object, maximum: float, pass_fail: bool, index: int) -> float | None:
    if given is None:
        return None
    score = number(given)
    if score is None or not 0 <= score <= maximum:
        raise DataError(
            f"{given!r} lies outside the scale; expected null or a number from 0 to {maximum:g}",
            field=f"{_QUESTIONS}[{index}].score",
        )
    if pass_fail and score not in (0, maximum):
        raise DataError(
            f"{given!r} is neither 0 nor full marks; expected 0 or {maximum:g} for PASS_FAIL",
            field=f"{_QUESTIONS}[{index}].score",
        )
    return score
