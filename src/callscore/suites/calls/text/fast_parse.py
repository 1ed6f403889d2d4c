"""The documented form of a text answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from callscore.suites.calls.fast_parse import CONTAINERS, Allows, Form, Scalar


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


class TextAnswer(TypedDict):
    """The whole answer; which emotions there are is up to the case."""

    sentiment: list[Sentence]
    summary: Summary
    emotion: dict[str, Scalar]


_WIDTH = len(Sentence.__annotations__)
EMOTION, FIELDS = "emotion", "summary.call_extracted_info"
"""Where the names are content: those asked for and those of the reference will do (C-25)."""


def count_keys(expected: Mapping[str, Any], answer: TextAnswer, allows: Allows) -> int:
    """3 + 3 + fields + emotions + 3 × sentences; 0 where another structure is expected"""
    summary, emotion = expected["summary"], expected["emotion"]
    info, given = summary["call_extracted_info"], answer["summary"]
    fields, emotions = given["call_extracted_info"], answer["emotion"]
    if (
        len(expected) != len(answer)
        or len(summary) != len(given)
        or not (_has_names(info, fields) or allows(FIELDS, info, fields))
        or not (_has_names(emotion, emotions) or allows(EMOTION, emotion, emotions))
    ):
        return 0
    for sentence in expected["sentiment"]:
        if len(sentence) != _WIDTH or type(sentence["text"]) in CONTAINERS:
            return 0
    fixed, sentences = len(answer) + len(given), len(answer["sentiment"])
    return fixed + len(fields) + len(emotions) + _WIDTH * sentences


def _has_names(expected: Mapping[str, Any], given: Mapping[str, Scalar]) -> bool:
    """Whether scalars are expected, and given under the same names"""
    for name, value in expected.items():
        if name not in given or type(value) in CONTAINERS:
            return False
    return len(expected) == len(given)


FORM = Form(msgspec.json.Decoder(TextAnswer).decode, count_keys)
