"""From a raw reply to one JSON object, strictly: nothing is repaired, ever (C-21, C-22, C-27)."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from callscore.core import strict_json
from callscore.core.case import Malformed, Reply
from callscore.core.lazy_regex import lazy_regex

_FENCE = lazy_regex(r"(`{3,}|~{3,})[\w+-]*[ \t]*\n?")
_REFUSAL = lazy_regex(
    r"\b(?:i(?:'|\u2019)?m sorry|i apologi[sz]e|i can(?:'|\u2019)?t|i cannot|i am unable"
    r"|i(?:'|\u2019)m unable|i won(?:'|\u2019)t|as an ai)\b",
    re.IGNORECASE,
)
THOUGHTS_BEGIN, THOUGHTS_END = "<think>", "</think>"
_CUT_SHORT = {
    "length": "truncated",
    "max_tokens": "truncated",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}


class Body(msgspec.Struct, frozen=True, gc=False):
    """The part of a reply that is to be read as JSON, and what was taken off around it."""

    raw: bytes
    flags: tuple[str, ...] = ()


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """The object that a reply holds, and what was noticed on the way."""

    value: dict[str, Any]
    flags: tuple[str, ...] = ()


def read_object(reply: Reply, parse: Literal["fenced", "strict"] = "fenced") -> Parsed | Malformed:
    """The one JSON object of a reply, or the cause why it counts as Structure 0."""
    body = body_of(reply, parse)
    return body if isinstance(body, Malformed) else decode_body(body)


def body_of(reply: Reply, parse: str) -> Body | Malformed:
    """What should be one JSON object, without the text around it (C-21)."""
    if reply.finish_reason is not None and not is_finished(reply):
        cause = _CUT_SHORT[reply.finish_reason.lower()]
        return Malformed(cause, f"the provider ended with {reply.finish_reason!r}")
    if isinstance(reply.text, bytes):
        return Body(reply.text)
    text, flags = _without_thoughts(reply.text.removeprefix("\ufeff").strip())
    if not text:
        return Malformed("empty", "the reply has no text")
    if text.startswith("{"):
        return Body(text.encode("utf-8", "replace"), flags)
    if text.startswith(("```", "~~~")):
        return _fenced(text, parse, flags)
    return Malformed(*_what_it_is(text))


def _without_thoughts(text: str) -> tuple[str, tuple[str, ...]]:
    """The text behind one leading think block, and the flag for it        C-21

    A block that is never closed, or a second one, is part of the answer.
    """
    if not text.startswith(THOUGHTS_BEGIN):
        return text, ()
    _, end, answer = text.partition(THOUGHTS_END)
    return (answer.strip(), ("thoughts_removed",)) if end else (text, ())


def is_finished(reply: Reply) -> bool:
    """Whether the provider says that the answer is complete."""
    return reply.finish_reason is None or reply.finish_reason.lower() not in _CUT_SHORT


def _fenced(text: str, parse: str, flags: tuple[str, ...]) -> Body | Malformed:
    opening = _FENCE.match(text)
    assert opening is not None  # checked by the caller
    marks, inner = opening[1], text[opening.end() :]
    if not inner.endswith(marks):
        return Malformed("prose_around_json", "a code fence with text around it")
    if parse == "strict":
        return Malformed("fence", "code fences are refused where parse is strict")
    body = inner.rstrip(marks[0]).strip()
    return Body(body.encode("utf-8", "replace"), (*flags, "fence_removed"))


def decode_body(body: Body) -> Parsed | Malformed:
    """The JSON object of a body, or why there is none."""
    try:
        decoded = strict_json.decode(body.raw)
    except strict_json.JsonFault as fault:
        return Malformed(_cause(fault, body.raw), fault.detail)
    if not isinstance(decoded.value, dict):
        return Malformed("not_an_object", "the reply is JSON, but not an object")
    return Parsed(decoded.value, body.flags + decoded.flags)


def _cause(fault: strict_json.JsonFault, raw: bytes) -> str:
    if fault.cause != "not_json":
        return fault.cause
    if fault.detail.startswith("Extra data"):
        return "prose_around_json"
    return "truncated_json" if not raw.rstrip().endswith(b"}") else "not_json"


def _what_it_is(text: str) -> tuple[str, str]:
    if "{" in text:
        return "prose_around_json", "text precedes the JSON object"
    if _REFUSAL.search(text):
        return "refusal", "the model declined to answer"
    return "not_json", "the reply is plain text"
