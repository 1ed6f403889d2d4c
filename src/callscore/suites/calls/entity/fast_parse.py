"""The documented form of an entity answer."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from callscore.suites.calls.fast_parse import Allows, Form, Scalar


class EntityAnswer(TypedDict):
    """Three lists; what in them is no string is kept as a wrong detection (C-41)."""

    detected_keywords: list[Scalar]
    detected_topics: list[Scalar]
    valid_entity_set: list[Scalar]


def count_keys(expected: Mapping[str, Any], answer: EntityAnswer, allows: Allows) -> int:
    """3; 0 where the expected outcome has keys of its own"""
    return len(answer) if len(expected) == len(answer) else 0


FORM = Form(msgspec.json.Decoder(EntityAnswer).decode, count_keys)
