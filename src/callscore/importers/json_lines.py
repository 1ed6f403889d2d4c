"""Conversations as lines of JSON Lines files: written, and read again after they were edited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.importers.conversation import (
    CallDetails,
    Conversation,
    ImportContext,
    ImportedTurn,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
)
from callscore.importers.labelled_text import labelled_turns
from callscore.importers.source_file import Source, convert


def convert_to_transcript(call: Conversation) -> dict[str, Any]:
    """A call without a task, as `callscore import` writes it by default."""
    line: dict[str, Any] = {"id": call.call_id, "call_id": call.call_id}
    if call.lang:
        line["lang"] = call.lang
    line["transcript"] = msgspec.to_builtins(call.turns)
    if call.expected is not None:
        line["expected"] = call.expected
    line["provenance"] = _provenance(call)
    return line


def convert_to_case(
    call: Conversation, task: str, config: Mapping[str, Any], expected: Any
) -> dict[str, Any]:
    """A call as a case of a task, with its expected outcome."""
    line = convert_to_transcript(call)
    line.pop("expected", None)
    return {
        "id": f"{call.call_id}/{task}",
        "task": task,
        **{key: line[key] for key in ("call_id", "lang", "transcript") if key in line},
        "config": dict(config),
        "expected_outcome": expected,
        "provenance": line["provenance"],
    }


def convert_outputs(call: Conversation, case_id: str) -> Iterator[dict[str, Any]]:
    """The outputs of models for a call."""
    for output in call.outputs:
        line: dict[str, Any] = {"case_id": case_id, "model": output.model, "run": output.run}
        if output.error is not None:
            line["error"] = output.error
        else:
            line["output"] = output.output
        if output.usage is not None:
            line["usage"] = dict(output.usage)
        if output.cost_usd is not None:
            line["cost_usd"] = output.cost_usd
        yield line


def _provenance(call: Conversation) -> dict[str, Any]:
    provenance: dict[str, Any] = {"source": call.source, "format": call.format}
    if call.metadata:
        provenance["metadata"] = dict(call.metadata)
    if call.notes:
        provenance["notes"] = list(call.notes)
    return provenance


class _StoredProvenance(msgspec.Struct):
    source: str = ""
    format: str = ""
    metadata: Mapping[str, Any] = {}
    notes: Sequence[str] = ()


class StoredCall(msgspec.Struct):
    """The fields of a transcript or a case that are read."""

    id: str
    transcript: Sequence[Mapping[str, Any]] | str
    call_id: str | None = None
    task: str | None = None
    lang: str | None = None
    expected: Any = None
    provenance: Any = None


def is_own(source: Source) -> bool:
    """Whether lines have an `id`, a `transcript`, and a `task` or where they were imported from."""
    return any(_is_stored_call(value) for value in source.objects[:5])


def _is_stored_call(value: Any) -> bool:
    if not isinstance(value, dict) or not {"id", "transcript"} <= value.keys():
        return False
    provenance = value.get("provenance")
    imported = isinstance(provenance, dict) and {"source", "format"} <= provenance.keys()
    return imported or {"task", "expected_outcome"} <= value.keys()


def read_own(source: Source, context: ImportContext) -> ImportIterator:
    """Read transcripts and cases again, as they are; a call of several cases is read once."""
    seen: dict[str, Any] = {}
    for number, value in enumerate(source.objects):
        where = f"{source.name}: $[{number}]"
        if not _is_stored_call(value):
            yield SkippedPart(where, "is neither a transcript nor a case")
            continue
        call = convert(value, StoredCall, source.name, f"[{number}]")
        call_id = call.call_id or call.id.removesuffix(f"/{call.task}")
        if call.task and seen.get(call_id) == value["transcript"]:
            yield SkippedPart(where, "another case of a call that was read")
            continue
        seen[call_id] = value["transcript"]
        stored = msgspec.structs.replace(call, call_id=call_id)
        yield from _read_stored(stored, f"[{number}]", source, context)


def _read_stored(
    call: StoredCall, path: str, source: Source, context: ImportContext
) -> ImportIterator:
    call_id = call.call_id or call.id
    if isinstance(call.transcript, str):
        turns = list(labelled_turns(call.transcript, context.roles))
        spoken = [turn for turn in turns if isinstance(turn, RawTurn)]
        if not spoken:
            spoken = [RawTurn("", call.transcript, source="transcript")]
        details = CallDetails(call_id, call.lang, expected=call.expected)
        yield from build_conversation("callscore", spoken, details, context)
        return
    if not call.transcript:
        yield SkippedPart(source.name, f"call {call_id!r} has no turn with text")
        return
    try:
        origin = msgspec.convert(call.provenance or {}, _StoredProvenance)
    except msgspec.ValidationError:
        origin = _StoredProvenance()
    yield Conversation(
        call_id,
        [
            _with_given_role(_stored_turn(turn, place, source, path), context)
            for place, turn in enumerate(call.transcript)
        ],
        origin.format or "callscore",
        origin.source or source.name,
        lang=call.lang or context.lang,
        metadata=origin.metadata,
        expected=call.expected,
        notes=origin.notes,
    )


def _stored_turn(turn: Mapping[str, Any], place: int, source: Source, path: str) -> ImportedTurn:
    """A turn as it was written; one that people have added may lack its id and its speaker."""
    number, speaker = turn.get("id"), turn.get("speaker")
    complete = {
        **turn,
        "id": place + 1 if number is None or isinstance(number, str) else number,
        "speaker": "unknown" if speaker in (None, "") else speaker,
    }
    return convert(complete, ImportedTurn, source.name, f"{path}.transcript[{place}]")


def _with_given_role(turn: ImportedTurn, context: ImportContext) -> ImportedTurn:
    roles = {label.casefold(): role for label, role in context.roles.items()}
    names = [name.casefold() for name in (turn.label, turn.speaker) if name]
    given = next((roles[name] for name in names if name in roles), None)
    if given is None:
        return turn
    return msgspec.structs.replace(
        turn, speaker=given, role_guessed=False, label=turn.label or turn.speaker
    )
