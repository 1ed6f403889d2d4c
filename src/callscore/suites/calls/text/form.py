"""The documented form of a text answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from callscore.suites.calls.documented import CONTAINERS, Form, Scalar


class Sentence(TypedDict):
    """One sentence with its sentiment."""

    sentence_id: Scalar
    text: Scalar
    label: Scalar


class Summary(TypedDict):
    """The summary of the call; which fields it extracts is up to the case."""

    call_purpose: Scalar
    highlights: list[Scalar]
    call_extracted_info: dict[str, Scalar]


class Answer(TypedDict):
    """The whole answer; which emotions there are is up to the case."""

    sentiment: list[Sentence]
    summary: Summary
    emotion: dict[str, Scalar]


_WIDTH = len(Sentence.__annotations__)


def members(expected: Mapping[str, Any], answer: Answer) -> int:
    """3 + 3 + fields + emotions + 3 × sentences; 0 where another structure is expected

    A field that is missing, which is no fault of structure, is left to the careful reader.
    """
    summary, emotion = expected["summary"], expected["emotion"]
    info, given = summary["call_extracted_info"], answer["summary"]
    if (
        len(expected) != len(answer)
        or len(summary) != len(given)
        or not _has_names(info, given["call_extracted_info"])
        or not _has_names(emotion, answer["emotion"])
    ):
        return 0
    for sentence in expected["sentiment"]:
        if len(sentence) != _WIDTH or type(sentence["text"]) in CONTAINERS:
            return 0
    fixed, sentences = len(answer) + len(given), len(answer["sentiment"])
    return fixed + len(info) + len(emotion) + _WIDTH * sentences


def _has_names(expected: Mapping[str, Any], given: Mapping[str, Scalar]) -> bool:
    """Whether scalars are expected, and given under the same names"""
    for name, value in expected.items():
        if name not in given or type(value) in CONTAINERS:
            return False
    return len(expected) == len(given)


FORM = Form(msgspec.json.Decoder(Answer).decode, members)
