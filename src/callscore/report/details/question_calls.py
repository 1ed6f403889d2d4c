"""The calls of one question: what people said, what a model said, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from callscore.report.details.decoded_case import decode_case, has_reply
from callscore.report.details.form_marks import MarkReader
from callscore.report.source import CaseView


class QuestionCall(NamedTuple):
    """The mark of a model for a question of a call, and that of people, in words."""

    place: int
    case_id: str
    expected: str
    given: str
    same: bool


def question_calls(
    views: Iterable[CaseView], settings: Mapping[str, Any], question: str, model: str
) -> list[QuestionCall]:
    """Every call with the question that the model answered, in the order of places."""
    marks = MarkReader(settings)
    found = []
    for place, view in enumerate(views, start=1):
        if not view.case.expected_outcome.get("questions"):
            continue
        case = decode_case(view)
        own = [one for one in case.answers if one.answer.model == model and has_reply(one)]
        for mark in marks.marks(msgspec.structs.replace(case, answers=own)).questions:
            if mark.id == question:
                found += [
                    QuestionCall(
                        place,
                        view.case.id,
                        mark.expected,
                        "no mark" if given is None else given.text,
                        given is not None and given.same is True,
                    )
                    for given in mark.given
                ]
    return found
