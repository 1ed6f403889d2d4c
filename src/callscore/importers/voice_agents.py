"""Voice agents, with their tool calls: ElevenLabs, Retell, Vapi, LiveKit, OpenAI Realtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.importers.conversation import (
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
)
from callscore.importers.labelled_text import labelled_turns
from callscore.importers.source_file import Source, convert, has_items, has_record, read_records
from callscore.importers.times import parse_date
from callscore.importers.turn_fields import text_of
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
    metadata: Mapping[str, Any] | None = None


def is_elevenlabs(source: Source) -> bool:
    """Whether the file has a `transcript` with `message` or `time_in_call_secs`."""
    return has_record(source, _is_elevenlabs_call)


def _is_elevenlabs_call(value: Mapping[str, Any]) -> bool:
    turns = value.get("transcript")
    if has_items(turns, "role", "time_in_call_secs"):
        return True
    return has_items(turns, "role", "message") and bool(
        {"agent_id", "conversation_id"} & value.keys()
    )


def read_elevenlabs(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of ElevenLabs agents with their tool calls, from the API or a webhook."""
    for record in read_records(source, _is_elevenlabs_call, ElevenLabs):
        if isinstance(record, SkippedPart):
            yield record
            continue
        path, call = record
        turns: list[RawTurn] = []
        for number, turn in enumerate(call.transcript):
            where = f"{path}.transcript[{number}]"
            if turn.tool_results and not turn.message and not turn.tool_calls:
                yield SkippedPart(f"{source.name}: {where}", "tool results")
                continue
            turns.append(
                RawTurn(
                    turn.role,
                    turn.message or "",
                    turn.time_in_call_secs,
                    tool_calls=list(map(normalise_tool_call, turn.tool_calls or ())),
                    source=where,
                )
            )
        lang = (call.metadata or {}).get("main_language")
        details = CallDetails(
            call.conversation_id or "",
            lang if isinstance(lang, str) else None,
            metadata={"agent_id": call.agent_id},
        )
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
    chat_id: str | None = None
    transcript_object: Sequence[_RetellTurn] | None = None
    transcript_with_tool_calls: Sequence[_RetellTurn] | None = None
    message_with_tool_calls: Sequence[_RetellTurn] | None = None
    transcript: str | None = None
    duration_ms: float | None = None


_RETELL_LISTS = ("transcript_with_tool_calls", "message_with_tool_calls", "transcript_object")


def is_retell(source: Source) -> bool:
    """Whether the file has `transcript_object` or `transcript_with_tool_calls`."""
    return has_record(source, _is_retell_call)


def _is_retell_call(value: Mapping[str, Any]) -> bool:
    if any(isinstance(value.get(key), list) for key in _RETELL_LISTS):
        return True
    return {"call_id", "transcript", "call_status"} <= value.keys()


def read_retell(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of Retell agents with their tool calls, from the API or a webhook."""
    for record in read_records(source, _is_retell_call, Retell):
        if isinstance(record, SkippedPart):
            yield record
            continue
        path, call = record
        key = next((key for key in _RETELL_LISTS if getattr(call, key)), "transcript")
        turns: list[RawTurn] = []
        items: Sequence[_RetellTurn] = getattr(call, key) if key in _RETELL_LISTS else ()
        for number, turn in enumerate(items):
            where = f"{path}.{key}[{number}]"
            if turn.role == "tool_call_result":
                yield SkippedPart(f"{source.name}: {where}", "a tool result")
                continue
            turns.append(_retell_turn(turn, where))
        if not turns:
            lines = labelled_turns(call.transcript or "")
            turns = [one for one in lines if isinstance(one, RawTurn)]
        call_id = call.call_id or call.chat_id or ""
        details = CallDetails(call_id, metadata={"duration_ms": call.duration_ms})
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


class _VapiMessage(msgspec.Struct, rename="camel"):
    role: str = ""
    message: str | None = None
    content: Any = None
    seconds_from_start: float | None = None
    time: float | None = None
    duration: float | None = None
    end_time: float | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None


class _VapiArtifact(msgspec.Struct, rename="camel"):
    messages: Sequence[_VapiMessage] | None = None
    transcript: str | None = None


class _VapiCall(msgspec.Struct, rename="camel"):
    id: str | None = None


class Vapi(msgspec.Struct, rename="camel"):
    """The fields of a Vapi call or of its report at the end that are read."""

    id: str | None = None
    call: _VapiCall | None = None
    artifact: _VapiArtifact | None = None
    messages: Sequence[_VapiMessage] | None = None
    transcript: str | None = None
    started_at: str | None = None


def is_vapi(source: Source) -> bool:
    """Whether the file has `artifact.messages`, or `messages` with `secondsFromStart`."""
    return has_record(source, _is_vapi_call)


def _is_vapi_call(value: Mapping[str, Any]) -> bool:
    artifact = value.get("artifact")
    inner = artifact if isinstance(artifact, dict) else {}
    lists = (inner.get("messages"), value.get("messages"))
    if any(has_items(one, "role", "secondsFromStart") for one in lists):
        return True
    return has_items(inner.get("messages"), "role", "message") or (
        isinstance(inner.get("transcript"), str) and bool({"call", "assistantId"} & value.keys())
    )


def read_vapi(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of Vapi assistants with their tool calls, from the API or a webhook."""
    for record in read_records(source, _is_vapi_call, Vapi):
        if isinstance(record, SkippedPart):
            yield record
            continue
        path, call = record
        artifact = call.artifact or _VapiArtifact()
        inside = bool(artifact.messages)
        messages = artifact.messages or call.messages or ()
        turns: list[RawTurn] = []
        for number, message in enumerate(messages):
            where = f"{path}.{'artifact.' if inside else ''}messages[{number}]"
            if message.role in ("system", "tool_call_result", "tool"):
                kind = "a system message" if message.role == "system" else "a tool result"
                yield SkippedPart(f"{source.name}: {where}", kind)
                continue
            turns.append(_vapi_turn(message, where))
        if not turns:
            lines = labelled_turns(artifact.transcript or call.transcript or "")
            turns = [one for one in lines if isinstance(one, RawTurn)]
        call_id = (call.call.id if call.call else None) or call.id or ""
        details = CallDetails(call_id, started_at=parse_date(call.started_at))
        yield from build_conversation("vapi", turns, details, context)


def _vapi_turn(message: _VapiMessage, path: str) -> RawTurn:
    """A turn; the assistant is `bot` in messages and speaks as the agent."""
    start = message.seconds_from_start
    if start is None and message.time is not None:
        start = message.time / 1000
    length = message.duration
    if length is None and message.end_time is not None and message.time is not None:
        length = message.end_time - message.time
    calls = [normalise_tool_call(call) for call in message.tool_calls or ()]
    return RawTurn(
        "agent" if calls or message.role == "bot" else message.role,
        message.message or text_of(message.content),
        start,
        None if start is None or length is None else start + length / 1000,
        tool_calls=calls,
        source=path,
    )


class _ChatItem(msgspec.Struct):
    """An item of a LiveKit chat history or of an OpenAI Realtime conversation."""

    type: str = "message"
    role: str | None = None
    content: Any = None
    name: str | None = None
    arguments: Any = None
    created_at: float | None = None
    metrics: Mapping[str, Any] | None = None
    transcript_confidence: float | None = None


class _ChatHistory(msgspec.Struct):
    items: Sequence[_ChatItem] = ()


class LiveKit(msgspec.Struct):
    """The fields of a LiveKit session report that are read."""

    chat_history: _ChatHistory
    room: Any = None
    room_id: str | None = None
    job_id: str | None = None
    audio_recording_started_at: float | None = None


def is_livekit(source: Source) -> bool:
    """Whether the file is a session report with a `chat_history`."""
    return has_record(source, _is_livekit_report)


def _is_livekit_report(value: Mapping[str, Any]) -> bool:
    history = value.get("chat_history")
    return isinstance(history, dict) and isinstance(history.get("items"), list)


def read_livekit(source: Source, context: ImportContext) -> ImportIterator:
    """Read the sessions of LiveKit agents; `created_at` is the end of what was said."""
    for record in read_records(source, _is_livekit_report, LiveKit):
        if isinstance(record, SkippedPart):
            yield record
            continue
        path, report = record
        turns: list[RawTurn] = []
        for part in _item_turns(report.chat_history.items, f"{path}.chat_history.items"):
            if isinstance(part, SkippedPart):
                yield SkippedPart(f"{source.name}: {part.where}", part.why)
            else:
                turns.append(part)
        room = report.room if isinstance(report.room, str) else None
        details = CallDetails(
            report.job_id or report.room_id or room or "",
            metadata={"room": room},
            started_at=report.audio_recording_started_at,
        )
        yield from build_conversation("livekit", turns, details, context)


def _item_turns(items: Sequence[_ChatItem], path: str) -> Iterator[RawTurn | SkippedPart]:
    for number, item in enumerate(items):
        where = f"{path}[{number}]"
        if item.type == "function_call":
            call = normalise_tool_call({"name": item.name, "arguments": item.arguments})
            yield RawTurn("assistant", "", item.created_at, tool_calls=[call], source=where)
        elif item.type != "message" or item.role in ("system", "developer"):
            kind = "a system message" if item.type == "message" else f"an item {item.type!r}"
            yield SkippedPart(where, kind)
        else:
            start = (item.metrics or {}).get("started_speaking_at")
            end = (item.metrics or {}).get("stopped_speaking_at")
            yield RawTurn(
                item.role or "",
                text_of(item.content),
                float(start) if isinstance(start, int | float) else item.created_at,
                float(end) if isinstance(end, int | float) else None,
                item.transcript_confidence,
                source=where,
            )


_SPOKEN_EVENTS = {
    "conversation.item.input_audio_transcription.completed": "user",
    "response.audio_transcript.done": "assistant",
    "response.output_audio_transcript.done": "assistant",
    "response.text.done": "assistant",
    "response.output_text.done": "assistant",
}
"""Events of a Realtime session that have what was said, and by whom."""
_ITEM_EVENTS = ("conversation.item.created", "conversation.item.added", "conversation.item.done",
                "conversation.item.create", "conversation.item.retrieved")  # fmt: skip


class _RealtimeEvent(msgspec.Struct):
    type: str = ""
    item_id: str | None = None
    transcript: str | None = None
    text: str | None = None
    name: str | None = None
    arguments: Any = None
    item: Mapping[str, Any] | None = None
    timestamp: Any = None


def is_realtime(source: Source) -> bool:
    """Whether the file has events or items of an OpenAI Realtime session."""
    value = source.objects
    return any(isinstance(one, dict) and _is_realtime(one) for one in value[:200])


def _is_realtime(value: Mapping[str, Any]) -> bool:
    kind = value.get("type")
    return (
        kind in _SPOKEN_EVENTS
        or (kind in _ITEM_EVENTS and isinstance(value.get("item"), dict))
        or value.get("object") == "realtime.item"
    )


def read_realtime(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Realtime session: its events or its conversation items, in order."""
    turns: dict[str, RawTurn] = {}
    other = 0
    for number, value in enumerate(source.objects):
        path = f"$[{number}]"
        if isinstance(value, dict) and value.get("object") == "realtime.item":
            value = {"type": _ITEM_EVENTS[0], "item": value}
        event = convert(value, _RealtimeEvent, source.name, path)
        found = _realtime_turn(event, path)
        if found is None:
            other += 1
            continue
        key = event.item_id or str((event.item or {}).get("id") or path)
        # the item of a spoken turn comes first, its transcript later
        known = turns.get(key)
        turns[key] = found if known is None or found.text else known
    if other:
        yield SkippedPart(source.name, f"{other} events without words")
    spoken = [turn for turn in turns.values() if turn.text or turn.tool_calls]
    yield from build_conversation("openai-realtime", spoken, CallDetails(), context)


def _realtime_turn(event: _RealtimeEvent, path: str) -> RawTurn | None:
    if event.type in _SPOKEN_EVENTS:
        text = event.transcript or event.text or ""
        return RawTurn(_SPOKEN_EVENTS[event.type], text, source=path)
    if event.type == "response.function_call_arguments.done":
        call = normalise_tool_call({"name": event.name, "arguments": event.arguments})
        return RawTurn("assistant", "", tool_calls=[call], source=path)
    if event.type not in _ITEM_EVENTS or event.item is None:
        return None
    item = event.item
    if item.get("type") == "function_call":
        return RawTurn("assistant", "", tool_calls=[normalise_tool_call(item)], source=path)
    role = str(item.get("role") or "")
    if item.get("type") != "message" or role == "system":
        return None
    return RawTurn(role, text_of(item.get("content")), source=path)
