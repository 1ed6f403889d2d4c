"""Parses the annotation of a sub-agent step: calls in several forms, or a rejection (§1.2, Q19)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from callscore.core.scenarios import FindingAction
from callscore.suites.orchestration.scenario.model import (
    AWAITING,
    GENERAL,
    VIOLATION,
    CallsDue,
    DecodedCall,
    RejectionDue,
    RejectionType,
)
from callscore.suites.orchestration.yaml_text import YamlFault, read_strict

PLAN_START = re.compile(r"\s*(?:interrupt(?:ed)?_)?workflow_")
"""How the text of a plan begins."""
_CALL_KEY = re.compile(
    r"^(?:- )?(?:tool|tool_call|tool_call_result|arguments|parameters)[ \t]*:", re.MULTILINE
)
_MESSAGE_LINE = "\nmessage:"
_RESULT_LINE = "\ntool_call_result:"
_TOOL_LINE = re.compile(r"^[ -]*(?:tool|name)[ \t]*:[ \t]*[\"']?([\w.-]+)", re.MULTILINE)
_STATUS_LINE = re.compile(r"^[^\S\n]*status:\s*\"?(\w+)", re.MULTILINE)


class Note(NamedTuple):
    """A finding without its case id."""

    kind: str
    action: FindingAction
    detail: str = ""


class StepAnnotation(NamedTuple):
    """What is due at a step (None if the annotation is unclear), and the notes on it."""

    due: CallsDue | RejectionDue | None
    notes: tuple[Note, ...] = ()


def read_annotation(content: str) -> StepAnnotation:
    """Parse an annotation: tool calls if a line begins with a key of a call, else a rejection."""
    if _CALL_KEY.search(content) is None:
        return _read_rejection(content)
    # The result is not needed; most of the text and of the broken YAML is in it.
    call_text = content.split(_RESULT_LINE, 1)[0] if not content.startswith("- ") else content
    try:
        value = read_strict(call_text)
    except YamlFault as fault:
        return _read_tool_name(content, str(fault))
    return _read_calls(value, content)


def _read_rejection(content: str) -> StepAnnotation:
    kind = rejection_type(content)
    if kind == GENERAL:
        return StepAnnotation(
            RejectionDue(GENERAL), (Note("untyped_rejection", "noted", content[:80]),)
        )
    return StepAnnotation(RejectionDue(kind))


def rejection_type(content: str) -> RejectionType:
    """The type in the status line, else the first type that occurs in the text        §1.2"""
    status = _STATUS_LINE.search(content)
    for word in (AWAITING, VIOLATION):
        if status is not None and status.group(1) == word:
            return word
    for word in (AWAITING, VIOLATION):
        if word in content:
            return word
    return GENERAL


def rejection_message(content: str) -> str:
    """What the agent says to the user when it rejects; empty if the annotation does not say it."""
    if not content.startswith("status:") or _MESSAGE_LINE not in content:
        return ""
    try:
        value = read_strict(content)
    except YamlFault:
        return ""
    message = value.get("message") if isinstance(value, Mapping) else None
    return message if isinstance(message, str) else ""


def _read_tool_name(content: str, why: str) -> StepAnnotation:
    """Find at least the tool of a call whose YAML is broken; `why` is the error."""
    tool_line = _TOOL_LINE.search(content)
    if tool_line is None:
        return StepAnnotation(None, (Note("unreadable_call", "set_aside", why),))
    note = Note(
        "unreadable_arguments", "set_aside", f"a call of {tool_line.group(1)} was due; {why}"
    )
    return StepAnnotation(CallsDue(tool=tool_line.group(1)), (note,))


def _read_calls(value: Any, content: str) -> StepAnnotation:
    notes = []
    if isinstance(value, list):
        notes.append(Note("list_shaped_call", "repaired"))
        items = value
    else:
        inner = value.get("tool_call") if isinstance(value, Mapping) else None
        items = inner if isinstance(inner, list) else [inner or value]
    calls = []
    for item in items:
        call = _read_call(item)
        if call is None:
            return StepAnnotation(None, (Note("call_without_name", "set_aside", content[:80]),))
        if "tool" not in item:
            notes.append(Note("name_instead_of_tool", "repaired", call.name))
        calls.append(call)
    return StepAnnotation(CallsDue(tuple(calls), calls[0].name) if calls else None, tuple(notes))


def _read_call(item: Any) -> DecodedCall | None:
    if not isinstance(item, Mapping):
        return None
    name = item.get("tool") or item.get("name")
    arguments = item.get("arguments") or item.get("parameters") or {}
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return None
    return DecodedCall(name.strip(), {str(key): argument for key, argument in arguments.items()})
