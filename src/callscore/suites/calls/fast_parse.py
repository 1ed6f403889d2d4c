"""Answers in the documented form: one typed decoding reads them and checks their structure.

Most expected outcomes have the keys that the framework documents and no others, and so have most
answers to them. What departs from that in any way is left to the careful reader, which says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from callscore.core.strict_json import MAX_BYTES, is_whole

Scalar = str | int | float | bool | None
CONTAINERS = frozenset({dict, list})

_ENCODE = msgspec.json.Encoder().encode


Names = Mapping[str, Any]
Allows = Callable[[str, Names, Names], bool]
"""Whether an object at a path may have other names than the expected one there."""


def allows_nothing(path: str, expected: Names, given: Names) -> bool:
    """Where only the names of the expected outcome will do."""
    return False


class Form(msgspec.Struct, frozen=True):
    """The documented form of a task's answers."""

    decode: Callable[[bytes], Any]
    """Refuses what lacks a documented key or has another kind of value; passes over other keys."""
    members: Callable[[Mapping[str, Any], Any, Allows], int]
    """How many members a decoded answer has, in all its objects, where it has the structure of
    the expected outcome; 0 where that one is not in the documented form itself."""


def read_documented(
    text: str | bytes, expected: Mapping[str, Any], form: Form, allows: Allows = allows_nothing
) -> dict[str, Any] | None:
    """The answer where it has the structure of the expected outcome; None proves nothing.

    Every member brings a colon: as many colons as members prove that no key appears twice and that
    none was passed over.
    """
    try:
        raw = text.encode() if isinstance(text, str) else text
        if len(raw) > MAX_BYTES:
            return None
        answer: dict[str, Any] = form.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    members = form.members(expected, answer, allows)
    if members and (
        raw.count(b":") == members
        or _is_every_key_closed(text if isinstance(text, str) else _readable(raw), members)
        or is_whole(raw, _ENCODE(answer))
    ):
        return answer
    return None


def _readable(raw: bytes) -> str:
    """The text of an answer; what was passed over in it need not be UTF-8"""
    return raw.decode(errors="replace")


def _is_every_key_closed(text: str, members: int) -> bool:
    """Whether colons follow as many quotation marks as there are members, and white space never

    So it is where texts hold colons, too. It takes half the time of encoding the answer again.
    """
    return (
        text.count('":') == members
        and " :" not in text
        and ("\n" not in text or "\n:" not in text)
        and "\t" not in text
        and "\r" not in text
    )
