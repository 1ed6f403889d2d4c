"""Platforms of voice agents: ElevenLabs and Retell, with tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.importers.conversation import ImportIterator, RawTurn, SkippedPart
from callscore.importers.conversation_builder import CallDetails, ImportContext, build_conversation
from callscore.importers.source import Source, convert
from callscore.importers.turn_lists import normalise_tool_call


class _ElevenLabsTurn(msgspec.Struct):
    role: str = ""
    message: str | None = None
    time_in_call_secs: float | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    tool_results: Sequence[Mapping[str, Any]] | None = None


class ElevenLabs(msgspec.Struct):
    """The fields of an ElevenLabs conversation that are read."""

    transcript: Sequence[_ElevenLabsTurn]
    conversation_id: str | None = None
    agent_id: str | None = None


def is_elevenlabs(source: Source) -> bool:
    """Whether the file has a `transcript` with `message` or `time_in_call_secs`."""
    value = source.json
    turns = value.get("transcript") if isinstance(value, dict) else None
    return isinstance(turns, list) and any(
        isinstance(turn, dict) and "role" in turn and {"message", "time_in_call_secs"} & turn.keys()
        for turn in turns[:5]
    )


def read_elevenlabs(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of an ElevenLabs agent with its tool calls."""
    call = convert(source.json, ElevenLabs, source.name)
    turns: list[RawTurn] = []
    for number, turn in enumerate(call.transcript):
        path = f"$.transcript[{number}]"
        if turn.tool_results and not turn.message and not turn.tool_calls:
            yield SkippedPart(f"{source.name}: {path}", "tool results")
            continue
        turns.append(
            RawTurn(
                turn.role,
                turn.message or "",
                turn.time_in_call_secs,
                tool_calls=list(map(normalise_tool_call, turn.tool_calls or ())),
                source=path,
            )
        )
    details = CallDetails(call.conversation_id or "", metadata={"agent_id": call.agent_id})
    yield from build_conversation("elevenlabs", turns, details, context)


class _RetellWord(msgspec.Struct):
    start: float | None = None
    end: float | None = None


class _RetellTurn(msgspec.Struct):
    role: str = ""
    content: str | None = None
    words: Sequence[_RetellWord] | None = None
    name: str | None = None
    arguments: Any = None


class Retell(msgspec.Struct):
    """The fields of a Retell call that are read."""

    call_id: str | None = None
    transcript_object: Sequence[_RetellTurn] | None = None
    transcript_with_tool_calls: Sequence[_RetellTurn] | None = None
    transcript: str | None = None
    duration_ms: float | None = None


def is_retell(source: Source) -> bool:
    """Whether the file has `transcript_object` or `transcript_with_tool_calls`."""
    value = source.json
    keys = {"transcript_object", "transcript_with_tool_calls"}
    return isinstance(value, dict) and bool(keys & value.keys())


def read_retell(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Retell agent with its tool calls."""
    call = convert(source.json, Retell, source.name)
    key = "transcript_with_tool_calls" if call.transcript_with_tool_calls else "transcript_object"
    turns: list[RawTurn] = []
    for number, turn in enumerate(call.transcript_with_tool_calls or call.transcript_object or ()):
        path = f"$.{key}[{number}]"
        if turn.role == "tool_call_result":
            yield SkippedPart(f"{source.name}: {path}", "a tool result")
            continue
        turns.append(_retell_turn(turn, path))
    details = CallDetails(call.call_id or "", metadata={"duration_ms": call.duration_ms})
    yield from build_conversation("retell", turns, details, context)


def _retell_turn(turn: _RetellTurn, path: str) -> RawTurn:
    words = turn.words or ()
    is_call = turn.role == "tool_call_invocation"
    call = normalise_tool_call({"name": turn.name or "", "arguments": turn.arguments})
    return RawTurn(
        "agent" if is_call else turn.role,
        turn.content or "",
        words[0].start if words else None,
        words[-1].end if words else None,
        tool_calls=[call] if is_call else [],
        source=path,
    )
