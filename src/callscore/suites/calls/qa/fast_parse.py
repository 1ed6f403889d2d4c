"""The documented form of a QA answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from callscore.suites.calls.fast_parse import CONTAINERS, Allows, Form, Scalar


class Question(TypedDict):
    """One question as a model fills it in."""

    question_id: Scalar
    score: Scalar
    max_score: Scalar
    type: Scalar
    reason: Scalar


class QAAnswer(TypedDict):
    """The whole form."""

    questions: list[Question]


QUESTION_KEYS = frozenset(Question.__annotations__)
_WIDTH = len(QUESTION_KEYS)


def count_keys(expected: Mapping[str, Any], answer: QAAnswer, allows: Allows) -> int:
    """1 + 5 × questions; 0 where the expected form has keys of its own"""
    if len(expected) != 1:
        return 0
    for question in expected["questions"]:
        if len(question) != _WIDTH or type(question["reason"]) in CONTAINERS:
            return 0
    return 1 + _WIDTH * len(answer["questions"])


FORM = Form(msgspec.json.Decoder(QAAnswer).decode, count_keys)
