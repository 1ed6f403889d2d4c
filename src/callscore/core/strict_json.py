"""Untrusted JSON: one value in a text, one object in a reply, tool calls in a file (C-21, C-22).

Nothing is repaired. msgspec decodes fast, but a later duplicate key silently wins. So the value is
encoded again and the colons are counted: equally many prove that no key was lost. Only text that
fails this check is parsed again by the slow parser, which reports what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from callscore.core.case import Malformed, Reply, ToolCall
from callscore.core.lazy import lazy_regex

TAIL = 6000
"""Characters at the end of a text that are looked at."""
LONGEST_PASSAGE = 800
TIMES = 4
"""How often a passage must occur in a row …"""
SHORTEST_LOOP = 160
"""… and the characters that the row must have: a few dashes are no loop."""
_NUMBER = lazy_regex(r"\d+")


def ends_in_loop(text: str) -> bool:
    """Whether a text ends with one passage over and over; numbers in it may count on."""
    tail = _NUMBER.sub("0", text[-TAIL:])
    for length in range(1, LONGEST_PASSAGE + 1):
        row = max(TIMES * length, SHORTEST_LOOP)
        if row > len(tail):
            return False
        if tail[-row:-length] == tail[length - row :]:
            return True
    return False


MAX_BYTES = 5_000_000
MAX_DEPTH = 64
MAX_INTEGER_DIGITS = 4_300
"""The limit of Python itself: longer ones take quadratic time to read."""

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for a text that is not the expected JSON."""
_DECODE = msgspec.json.Decoder().decode
_ENCODE = msgspec.json.Encoder().encode
_NEXT_ITEM = (b"},{", b"],[", b"},[", b"],{")
_LONE_SURROGATE = lazy_regex("[\ud800-\udfff]")
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


LOOP = Malformed("repetition", "the reply repeats itself until it was cut off")


class JsonFault(ValueError):
    """Why a text is not accepted as JSON: `cause` is a slug, `detail` a sentence.

    `path` is the place, as in `config.x[1]`; empty if the whole text is meant.
    """

    def __init__(self, cause: str, detail: str, path: str = "") -> None:
        self.cause = cause
        self.detail = detail
        self.path = path
        super().__init__(f"{cause}: {detail}")


class _UnusablePart(msgspec.Struct, frozen=True):
    """Placeholder for a part that cannot be used, until its path is known."""

    cause: str
    detail: str
    key: str = ""
    """The key, if the part is a member of an object."""


class DecodedValue(msgspec.Struct, frozen=True, gc=False):
    """A JSON value and the flags raised while reading it."""

    value: Any
    flags: tuple[str, ...] = ()


def decode(raw: bytes, *, max_bytes: int = MAX_BYTES) -> DecodedValue:
    """The one JSON value in `raw`; raises JsonFault."""
    if len(raw) > max_bytes:
        raise JsonFault("too_large", f"{len(raw)} bytes, the limit is {max_bytes}")
    try:
        value = _DECODE(raw)
    except DECODE_ERRORS:
        return _decode_slowly(raw)
    encoded = _ENCODE(value)
    if not keys_preserved(raw, encoded):
        return _decode_slowly(raw)
    if may_be_deep(encoded) and _depth(value) > MAX_DEPTH:
        raise JsonFault("too_deep", f"nested deeper than {MAX_DEPTH} levels")
    return DecodedValue(value)


def keys_preserved(raw: bytes, encoded: bytes) -> bool:
    """Whether a value that was encoded again has every key of the text it was decoded from.

    A lost member loses at least one colon. Colons in strings stay, unless the text had escaped one;
    then the answer is no, although no key may be missing.
    """
    # The length without colons gives their number: `replace` skips from one to the next, `count`
    # looks at every byte.
    lost = len(raw) - len(raw.replace(b":", b"")) - len(encoded) + len(encoded.replace(b":", b""))
    if lost:
        return False
    # `find`, not `in`: `in` raises and drops an error for bytes, which costs more than the search.
    # Searching one byte is much faster than several, and most texts have no escape.
    if raw.find(b"\\") < 0 or raw.find(b"\\u003") < 0:
        return True
    return raw.find(b"\\u003a") < 0 and raw.find(b"\\u003A") < 0


def may_be_deep(encoded: bytes) -> bool:
    """Whether a value, encoded without spaces, has enough brackets to be nested too deeply.

    A bracket that opens right after another has closed, as between list items, adds no level.
    """
    # counted like the colons
    opened = 2 * len(encoded)
    opened -= len(encoded.replace(b"[", b"")) + len(encoded.replace(b"{", b""))
    return opened > MAX_DEPTH and opened - sum(map(encoded.count, _NEXT_ITEM)) > MAX_DEPTH


def _depth(value: object) -> int:
    """Levels of nesting, without recursion."""
    deepest, level = 0, [value]
    while level:
        containers = [v for v in level if isinstance(v, (dict, list))]
        level = [
            child
            for container in containers
            for child in (container.values() if isinstance(container, dict) else container)
        ]
        deepest += bool(containers)
    return deepest


def _decode_slowly(raw: bytes) -> DecodedValue:
    import json  # imported here: hardly any text needs it

    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise JsonFault("not_utf8", f"byte {error.start} is not UTF-8") from None
    flags: set[str] = set()
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda pairs: _unique_object(pairs, flags),
            parse_constant=lambda name: _UnusablePart("non_finite", f"{name} is not JSON"),
            parse_float=_finite_float,
            parse_int=_bounded_integer,
        )
    except RecursionError:
        raise JsonFault("too_deep", f"nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise JsonFault(
            "not_json", f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
        ) from None
    if _depth(value) > MAX_DEPTH:
        raise JsonFault("too_deep", f"nested deeper than {MAX_DEPTH} levels")
    return DecodedValue(_clean_value(value, "", flags), tuple(sorted(flags)))


def _unique_object(pairs: list[tuple[str, Any]], flags: set[str]) -> dict[str, Any] | _UnusablePart:
    value: dict[str, Any] = {}
    for written, item in pairs:
        key = _replace_surrogates(written, flags)
        if key in value:
            return _UnusablePart(
                "duplicate_key", f"the key {key!r} appears twice in one object", key
            )
        value[key] = item
    return value


def _finite_float(digits: str) -> float | _UnusablePart:
    value = float(digits)
    if not math.isfinite(value):
        return _UnusablePart("non_finite", f"{digits[:20]} is beyond the range of numbers")
    return value


def _bounded_integer(digits: str) -> int | _UnusablePart:
    if len(digits) > MAX_INTEGER_DIGITS:
        return _UnusablePart("huge_integer", f"an integer of {len(digits)} digits")
    return int(digits)


def _replace_surrogates(text: str, flags: set[str]) -> str:
    replaced = _LONE_SURROGATE.sub("\ufffd", text)
    if replaced != text:
        flags.add("lone_surrogate")
    return replaced


def _clean_value(value: Any, path: str, flags: set[str]) -> Any:
    """Replace lone surrogates; raises JsonFault with the path of a part that cannot be used."""
    if isinstance(value, str):
        return _replace_surrogates(value, flags)
    if isinstance(value, list):
        return [_clean_value(item, f"{path}[{at}]", flags) for at, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: _clean_value(item, _member(path, key), flags) for key, item in value.items()}
    if isinstance(value, _UnusablePart):
        raise JsonFault(value.cause, value.detail, _member(path, value.key) if value.key else path)
    return value


def _member(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


class Body(msgspec.Struct, frozen=True, gc=False):
    """The part of a reply that should be JSON; flags say what was removed around it."""

    raw: bytes
    flags: tuple[str, ...] = ()


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """The JSON object in a reply, and flags raised while reading it."""

    value: dict[str, Any]
    flags: tuple[str, ...] = ()


def read_object(reply: Reply, parse: Literal["fenced", "strict"] = "fenced") -> Parsed | Malformed:
    """Read the JSON object of a reply; Malformed if it counts as Structure 0."""
    body = body_of(reply, parse)
    return body if isinstance(body, Malformed) else decode_body(body)


def body_of(reply: Reply, parse: str) -> Body | Malformed:
    """Remove the allowed text around the JSON of a reply (C-21)."""
    if reply.finish_reason is not None and not is_finished(reply):
        cause = _CUT_SHORT[reply.finish_reason.lower()]
        if cause == "truncated" and ends_in_loop(_as_text(reply.text)):
            return LOOP
        return Malformed(cause, f"the provider ended with {reply.finish_reason!r}")
    if isinstance(reply.text, bytes):
        return Body(reply.text)
    text, flags = _without_thoughts(reply.text.removeprefix("\ufeff").strip())
    if not text:
        return Malformed("empty", "the reply has no text")
    if text.startswith("{"):
        return Body(text.encode("utf-8", "replace"), flags)
    if text.startswith(("```", "~~~")):
        return _unfence(text, parse, flags)
    return Malformed(*_classify_text(text))


def _without_thoughts(text: str) -> tuple[str, tuple[str, ...]]:
    """Remove one leading think block; return the text and the flag for it        C-21

    A block without an end, or a second one, stays in the answer.
    """
    if not text.startswith(THOUGHTS_BEGIN):
        return text, ()
    _, end, answer = text.partition(THOUGHTS_END)
    return (answer.strip(), ("thoughts_removed",)) if end else (text, ())


def _as_text(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def is_finished(reply: Reply) -> bool:
    """Whether the provider says that the answer is complete."""
    return reply.finish_reason is None or reply.finish_reason.lower() not in _CUT_SHORT


def is_truncated(reply: Reply) -> bool:
    """Whether the answer was cut off at the token limit, as far as the provider says so."""
    return _CUT_SHORT.get((reply.finish_reason or "").lower()) == "truncated"


def _unfence(text: str, parse: str, flags: tuple[str, ...]) -> Body | Malformed:
    opening = _FENCE.match(text)
    assert opening is not None  # checked by the caller
    marks, inner = opening[1], text[opening.end() :]
    if not inner.endswith(marks):
        return Malformed("prose_around_json", "a code fence with text around it")
    if parse == "strict":
        return Malformed("fence", "a code fence, which `parse: strict` does not allow")
    body = inner.rstrip(marks[0]).strip()
    return Body(body.encode("utf-8", "replace"), (*flags, "fence_removed"))


def decode_body(body: Body) -> Parsed | Malformed:
    """Decode the JSON object of a body; Malformed if there is none."""
    try:
        decoded = decode(body.raw)
    except JsonFault as fault:
        cause = _cause(fault, body.raw)
        if cause in ("truncated_json", "not_json") and ends_in_loop(_as_text(body.raw)):
            return LOOP
        return Malformed(cause, fault.detail)
    if not isinstance(decoded.value, dict):
        return Malformed("not_an_object", "the reply is JSON, but not an object")
    return Parsed(decoded.value, body.flags + decoded.flags)


def _cause(fault: JsonFault, raw: bytes) -> str:
    if fault.cause != "not_json":
        return fault.cause
    if fault.detail.startswith("Extra data"):
        return "prose_around_json"
    return "truncated_json" if not raw.rstrip().endswith(b"}") else "not_json"


def _classify_text(text: str) -> tuple[str, str]:
    if "{" in text:
        return "prose_around_json", "text precedes the JSON object"
    if _REFUSAL.search(text):
        return "refusal", "the model declined to answer"
    return "not_json", "the reply is plain text"


_KEYS = ("tool_calls", "calls")


def recorded_calls(value: Any) -> tuple[ToolCall, ...]:
    """The calls in a list; an entry that is not a call becomes one without a name, which is
    scored as wrong.
    """
    return tuple(map(_call, value)) if isinstance(value, list) else ()


def _call(entry: Any) -> ToolCall:
    function = entry.get("function", entry) if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping):
        return ToolCall("", "")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolCall(name if isinstance(name, str) else "", arguments)


def with_calls_of_object(reply: Reply) -> Reply:
    """The reply to a step, with the calls of the recorded object, list or call."""
    if not isinstance(reply.text, bytes) or reply.tool_calls:
        return reply
    try:
        value = msgspec.json.decode(reply.text)
    except DECODE_ERRORS:
        return reply
    calls = _calls_in(value)
    if calls is None:
        return reply
    text = value.get("content", value.get("text")) if isinstance(value, dict) else None
    said = text if isinstance(text, str) else ""
    return msgspec.structs.replace(reply, text=said, tool_calls=recorded_calls(calls))


def _calls_in(value: Any) -> list[Any] | None:
    """The list of calls in a recorded value; None if it contains none (a plan)."""
    if isinstance(value, list):
        return value if value and all(map(_is_call, value)) else None
    if not isinstance(value, dict):
        return None
    if _is_call(value):
        return [value]
    found = next((value[key] for key in _KEYS if key in value), None)
    return found if isinstance(found, list) else None


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and (
        "function" in value or {"name", "arguments"} <= value.keys()
    )
