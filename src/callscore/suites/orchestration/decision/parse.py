"""Parses the reply of a sub-agent: FC with its calls, Reject with its type, or FAILED      C-105"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core import strict_json
from callscore.suites.orchestration.plan.lenient_json import strip_think_block
from callscore.suites.orchestration.scenario.model import (
    AWAITING,
    GENERAL,
    VIOLATION,
    DecodedCall,
    RejectionType,
)
from callscore.suites.orchestration.scenario.output_file import RecordedReply

REPEATS_PLAN = "repeats_plan"
"""Why a sub-agent decided nothing: it wrote a plan, like the one that it sees in the history."""
ASKED_IN_WORDS = "asked_in_words"
_QUESTION = re.compile(r"[?？؟՞፧](?=[\s\"'”’»)*_]|$)")  # noqa: RUF001
_REQUEST = re.compile(
    r"\b(?:please|kindly) (?:also )?(?:provide|tell|give|confirm|share|enter|specify|send|choose|"
    r"select|let me know|reply)\b|\b(?:let me know|tell me) (?:which|what|when|where|who|how|if|"
    r"whether|your|the)\b",
    re.IGNORECASE,
)
_KEY = re.compile(r"""(?:^|[{,])[ \t]*+["']?([\w-]++)["']?[ \t]*+:""", re.MULTILINE)
_WORKFLOW = "workflow_"
_STATUS_TAG = re.compile(r"<status>\s*(\w+)\s*</status>", re.IGNORECASE)


class ToolCalls(msgspec.Struct, frozen=True):
    """FC: at least one well-formed call; `malformed` has the names of the malformed ones."""

    calls: tuple[DecodedCall, ...]
    malformed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class Rejection(msgspec.Struct, frozen=True):
    """Reject, with the stated type."""

    type: RejectionType
    flags: tuple[str, ...] = ()


class NoDecision(msgspec.Struct, frozen=True):
    """FAILED: neither a call nor a rejection."""

    why: str


Prediction = ToolCalls | Rejection | NoDecision


def read_prediction(reply: RecordedReply | None) -> Prediction:
    """A well-formed call wins, then a rejection marker, else FAILED        C-105

    Where a reply may ask back in words, text that asks for something is AWAITING_USER_INPUT  C-142
    """
    if reply is None:
        return NoDecision("no_answer")
    calls, malformed = read_calls(reply.tool_calls)
    text = strip_think_block(reply.content) if isinstance(reply.content, str) else ""
    rejection = stated_rejection(text)
    if calls:
        flags = ["call_and_reject"] if rejection else []
        flags += ["malformed_call"] if malformed else []
        return ToolCalls(tuple(calls), tuple(malformed), tuple(flags))
    if rejection is not None:
        return Rejection(rejection)
    if malformed:
        return NoDecision("malformed_call")
    if any(_is_workflow(found[1]) for found in _KEY.finditer(text)):
        return NoDecision(REPEATS_PLAN)
    if reply.asking_back and asks_for_something(text):
        return Rejection(AWAITING, (ASKED_IN_WORDS,))
    return NoDecision("plain_text" if text.strip() else "empty_answer")


def asks_for_something(text: str) -> bool:
    """Whether a sentence ends with a question mark of any script, or is a request in English"""
    return _QUESTION.search(text) is not None or _REQUEST.search(text) is not None


def _is_workflow(key: str) -> bool:
    """Whether a key names a step of a plan: `workflow_1`, `main_workflow_2`."""
    before, word, after = key.rpartition(_WORKFLOW)
    return bool(word and after) and (not before or before.endswith("_"))


def read_calls(tool_calls: Any) -> tuple[list[DecodedCall], list[str]]:
    """Well-formed calls, and the names (or "") of those that are not."""
    calls: list[DecodedCall] = []
    malformed: list[str] = []
    for entry in tool_calls if isinstance(tool_calls, list) else ():
        function = entry.get("function", entry) if isinstance(entry, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        arguments = _object(function.get("arguments")) if isinstance(function, Mapping) else None
        if isinstance(name, str) and name.strip() and arguments is not None:
            calls.append(DecodedCall(name.strip(), arguments))
        else:
            malformed.append(name if isinstance(name, str) else "")
    return calls, malformed


def _object(arguments: Any) -> Mapping[str, Any] | None:
    """The arguments if they are one JSON object, as text or decoded; else None."""
    if isinstance(arguments, str):
        try:
            arguments = strict_json.decode(arguments.encode("utf-8", "surrogatepass")).value
        except strict_json.JsonFault:
            return None
    return arguments if isinstance(arguments, Mapping) else None


def stated_rejection(text: str) -> RejectionType | None:
    """The type in `<status>`, else a type in the text; the violation first        C-105, Q35"""
    if VIOLATION not in text and AWAITING not in text and GENERAL not in text:
        return None
    for stated in _STATUS_TAG.findall(text):
        for word in (VIOLATION, AWAITING, GENERAL):
            if stated == word:
                return word
    return next((word for word in (VIOLATION, AWAITING) if word in text), None)
