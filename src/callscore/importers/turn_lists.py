"""Calls in JSON, JSON Lines and YAML of any structure: lists of objects with a text.

A list is found where it is, nested or not, and its fields by the names that many systems use. The
mapping is said in a note, and `--map` sets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
    role_of,
)
from callscore.importers.labelled_text import has_speaker_labels, labelled_turns
from callscore.importers.source_file import Source, has_items
from callscore.importers.turn_fields import (
    CALL,
    LANGUAGE,
    SPEAKER,
    TRANSCRIPT,
    TurnFields,
    choose_fields,
    field_key,
    find_name,
    look_up,
    speaker_label,
    text_of,
)

LISTS = ("transcript", "turns", "messages", "utterances", "segments", "sentences", "dialogue",
         "dialog", "conversation", "traj", "trajectory", "log", "chat", "entries", "lines",
         "phrases", "events", "items", "history", "transcription", "transcripts")  # fmt: skip
"""Keys whose list is taken for turns even if it names no speaker, the best first."""
NOT_TURNS = ("words", "tokens", "alternatives", "questions", "options", "choices", "answers")
SCHEMAS = frozenset(("openapi", "asyncapi", "swagger", "$schema"))
"""Keys of descriptions of APIs, which have transcripts only as examples."""
INSTRUCTIONS = ("system", "developer")
MAX_DEPTH = 6
SAMPLE = 100
"""The number of items that decide on the fields of a list."""


class FoundCall(msgspec.Struct, frozen=True):
    """A call in a file: its list of turns, or its transcript as a text."""

    path: str
    turns: Any
    owner: Mapping[str, Any]
    """The single values of the objects around it, such as its id."""
    name: str = ""
    """The key of the call, in an object of calls."""
    fields: TurnFields | None = None
    notes: Sequence[str] = ()


def is_chat(source: Source) -> bool:
    """Whether the file has objects with `messages` that have a role and a content."""
    return any(
        isinstance(value, dict)
        and isinstance(messages := value.get("messages"), list)
        and any(isinstance(one, dict) and _is_message(one) for one in messages[:5])
        for value in source.objects[:5]
    )


def _is_message(item: Mapping[str, Any]) -> bool:
    return "role" in item and bool({"content", "tool_calls"} & item.keys())


def is_turn_lists(source: Source) -> bool:
    """Whether a call can be found in JSON, JSON Lines or YAML."""
    return next(_find_calls(source, {}), None) is not None


def read_turn_lists(source: Source, context: ImportContext) -> ImportIterator:
    """Read every call of the file."""
    found = list(_find_calls(source, context.fields))
    calls = [one for one in found if isinstance(one, FoundCall)]
    for one in found:
        if isinstance(one, SkippedPart):
            yield SkippedPart(f"{source.name}: {one.where}", one.why)
    if not calls:
        raise DataError(
            "has no list of turns; --map text=NAME,turns=LIST says where they are",
            place=source.name,
        )
    for number, call in enumerate(calls, start=1):
        fallback = context.fallback_id if len(calls) == 1 else f"{context.fallback_id}-{number}"
        yield from _read_call(call, fallback, source, context)


def _find_calls(source: Source, given: Mapping[str, str]) -> Iterator[FoundCall | SkippedPart]:
    value = source.json if source.json is not None else source.json_lines or source.yaml
    if value is None or (isinstance(value, dict) and value.keys() & SCHEMAS):
        return
    yield from _find(value, "$", FoundCall("", None, {}), given, 0)


def _find(
    value: Any, path: str, outer: FoundCall, given: Mapping[str, str], depth: int
) -> Iterator[FoundCall | SkippedPart]:
    """The calls in a value, the nearest first; lists inside the turns of a call are its parts."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        found = _as_turns(value, path, outer, given, is_top=depth == 0)
        if found is not None:
            yield from _split_by_call(found)
            return
        yield from _find_in_items(value, path, outer, given, depth)
    elif isinstance(value, dict):
        single = {key: one for key, one in value.items() if isinstance(one, str | int | float)}
        outer = msgspec.structs.replace(outer, owner={**outer.owner, **single})
        direct = [
            found
            for key, one in value.items()
            if (found := _as_turns(one, f"{path}.{key}", outer, given, key)) is not None
        ]
        if direct:
            yield from _split_by_call(_choose(direct))
            return
        yield from _find_in_members(value, path, outer, given, depth)


def _find_in_items(
    items: Sequence[Any], path: str, outer: FoundCall, given: Mapping[str, str], depth: int
) -> Iterator[FoundCall | SkippedPart]:
    """The calls of a list, and the objects in it that have none although others have."""
    without: list[SkippedPart] = []
    any_call = False
    for number, one in enumerate(items):
        has_call = False
        for found in _find(one, f"{path}[{number}]", outer, given, depth + 1):
            if not any_call and not has_call:
                yield from without
            has_call = True
            yield found
        any_call = any_call or has_call
        if not has_call:
            skipped = SkippedPart(f"{path}[{number}]", "has no list of turns")
            if any_call:
                yield skipped
            else:
                without.append(skipped)


def _find_in_members(
    value: Mapping[str, Any], path: str, outer: FoundCall, given: Mapping[str, str], depth: int
) -> Iterator[FoundCall | SkippedPart]:
    """The calls in the members of an object: all if their keys are ids of calls, else the best."""
    members = {
        str(key): calls
        for key, one in value.items()
        if isinstance(one, dict | list)
        and (calls := list(_find(one, f"{path}.{key}", outer, given, depth + 1)))
    }
    inside = [one for one in value.values() if isinstance(one, dict | list)]
    if len(members) > 1 and len(members) == len(inside) == len(value):
        for key, calls in members.items():
            for call in calls:
                is_unnamed = isinstance(call, FoundCall) and not call.name
                yield msgspec.structs.replace(call, name=key) if is_unnamed else call
    elif members:
        best = max(members.values(), key=len)
        yield from best
        for calls in members.values():
            if calls is not best:
                where = getattr(calls[0], "path", path)
                yield SkippedPart(where, "other turns; --map turns=NAME reads those")


def _as_turns(
    value: Any,
    path: str,
    outer: FoundCall,
    given: Mapping[str, str],
    key: str = "",
    *,
    is_top: bool = False,
) -> FoundCall | None:
    """The call of a member that is a list of turns or a transcript; None if it is neither."""
    name = field_key(key)
    if "turns" in given and not _is_path(path, given["turns"]):
        return None
    if isinstance(value, str):
        is_call = has_speaker_labels(value) if name in TRANSCRIPT else _has_two_roles(value)
        return msgspec.structs.replace(outer, path=path, turns=value) if is_call else None
    if not isinstance(value, list) or name in NOT_TURNS:
        return None
    if lines := _lines_of_pairs(value):
        return msgspec.structs.replace(outer, path=path, turns=lines)
    items = [flat_item(one) for one in value[:SAMPLE] if isinstance(one, dict)]
    if not items or len(items) < 0.8 * len(value[:SAMPLE]):
        return None
    fields = choose_fields(items, given)
    if fields is None:
        return None
    is_named = name in LISTS or is_top or "text" in given
    if not (is_named or ((fields.speaker or fields.start) and len(items) > 1)):
        return None
    return msgspec.structs.replace(outer, path=path, turns=value, fields=fields)


def _has_two_roles(text: str) -> bool:
    """Whether a text of any name is a transcript: its lines begin with the words of two roles."""
    if "\n" not in text or not has_speaker_labels(text):
        return False
    turns = labelled_turns(text)
    return len({role_of(turn.label) for turn in turns if isinstance(turn, RawTurn)} - {None}) > 1


def _is_path(path: str, wanted: str) -> bool:
    """Whether a JSON path ends with the wanted keys, whatever the numbers in it."""
    keys = [part.partition("[")[0] for part in path.split(".")]
    return keys[-len(wanted.split(".")) :] == wanted.split(".")


def _lines_of_pairs(value: Sequence[Any]) -> str:
    """The text of a list of labelled lines, or of pairs of a speaker and a text; else empty."""
    if value and all(isinstance(one, str) for one in value):
        text = "\n".join(" ".join(one.split()) for one in value)
        return text if has_speaker_labels(text) else ""
    is_pairs = value and all(
        isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) for part in one)
        for one in value
    )
    if not is_pairs:
        return ""
    text = "\n".join(f"{speaker}: {' '.join(said.split())}" for speaker, said in value)
    return text if has_speaker_labels(text) else ""


def flat_item(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """An item with the fields of its `message`, or with the text of its sentences."""
    for key in ("message", "item", "data"):
        inner = item.get(key)
        if isinstance(inner, dict) and (set(inner) & {"text", "content", "role", "message"}):
            return {**item, **inner}
    for key in ("sentences", "paragraphs", "parts", "segments"):
        parts = item.get(key)
        if has_items(parts, "text") and find_name(item, SPEAKER) is not None:
            spoken = [part for part in parts or () if isinstance(part, dict)]
            times = {
                name: part.get(name)
                for name, part in (("start", spoken[0]), ("end", spoken[-1]))
                if part.get(name) is not None
            }
            text = " ".join(text_of(part.get("text")) for part in spoken)
            return {**item, "text": text, **times}
    return item


def _choose(found: Sequence[FoundCall]) -> FoundCall:
    """The best list of an object: with speakers, a usual name, times; others are named."""

    def merit(call: FoundCall) -> tuple[bool, int, bool, int]:
        fields = call.fields
        key = field_key(call.path.rpartition(".")[2])
        rank = -LISTS.index(key) if key in LISTS else -len(LISTS)
        has_times = fields is not None and fields.start is not None
        has_speaker = fields is not None and fields.speaker is not None
        return has_speaker, rank, has_times, len(call.turns)

    best = max(found, key=merit)
    others = [f"also has turns in {one.path}; --map turns=NAME reads those"
              for one in found if one is not best]  # fmt: skip
    return msgspec.structs.replace(best, notes=[*best.notes, *others])


def _split_by_call(call: FoundCall) -> Iterator[FoundCall]:
    """One call per value of the field that says to which call a turn belongs."""
    field = call.fields.call if call.fields is not None else None
    values = [] if field is None else [str(look_up(flat_item(one), field)) for one in call.turns
                                       if isinstance(one, dict)]  # fmt: skip
    if field is None or len(values) < len(call.turns) or len(set(values)) < 2:
        yield call
        return
    groups: dict[str, list[Any]] = {}
    for one, value in zip(call.turns, values, strict=True):
        groups.setdefault(value, []).append(one)
    for value, turns in groups.items():
        yield msgspec.structs.replace(call, turns=turns, name=value)


def _read_call(
    call: FoundCall, fallback: str, source: Source, context: ImportContext
) -> ImportIterator:
    turns: list[RawTurn] = []
    notes = list(call.notes)
    name = "turns"
    if call.fields is None:
        for turn in labelled_turns(call.turns, context.roles):
            if isinstance(turn, SkippedPart):
                yield SkippedPart(f"{source.name}: {call.path}, {turn.where}", turn.why)
            else:
                turns.append(msgspec.structs.replace(turn, source=f"{call.path}, {turn.source}"))
    else:
        is_chat_list = call.fields.text == "content" and call.fields.speaker == "role"
        name = "chat" if is_chat_list and call.path.endswith(".messages") else "turns"
        for item in list_turns(call.turns, call.fields, call.path):
            if isinstance(item, SkippedPart):
                yield SkippedPart(f"{source.name}: {item.where}", item.why)
            else:
                turns.append(item)
        if name != "chat":
            notes.insert(0, f"turns read with {call.fields.describe()}")
    field = find_name(call.owner, CALL)
    call_id = call.name or (str(call.owner[field]) if field else "") or fallback
    lang_field = context.fields.get("lang") or find_name(call.owner, LANGUAGE)
    lang = call.owner.get(lang_field) if lang_field else None
    details = CallDetails(call_id, lang if isinstance(lang, str) else None, notes=notes)
    yield from build_conversation(name, turns, details, context)


def list_turns(
    items: Sequence[Any], fields: TurnFields, path: str
) -> Iterator[RawTurn | SkippedPart]:
    """One turn per object of a list; instructions to a model are skipped."""
    is_chat_list = fields.speaker == "role"
    for number, one in enumerate(items):
        where = f"{path}[{number}]"
        if not isinstance(one, dict):
            yield SkippedPart(where, "is not an object with a text")
            continue
        item = flat_item(one)
        label = speaker_label(look_up(item, fields.speaker)) if fields.speaker else ""
        if is_chat_list and label in INSTRUCTIONS:
            yield SkippedPart(where, "a system message")
            continue
        start, end = fields.times(item)
        if is_chat_list and role_of(label) == "system":
            label = "tool"
        yield RawTurn(
            label,
            text_of(look_up(item, fields.text)),
            start,
            end,
            tool_calls=tool_calls_of(item),
            source=where,
        )


def tool_calls_of(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a message, in the form of any API."""
    calls = item.get("tool_calls") or item.get("toolCalls") or ()
    return [normalise_tool_call(call) for call in calls if isinstance(call, dict)] if isinstance(
        calls, list) else []  # fmt: skip


def normalise_tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call of any API as `name` and `arguments`."""
    function = call.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, dict) else call
    name = inner.get("name") or inner.get("tool_name") or inner.get("function") or ""
    arguments: Any = next(
        (inner[key] for key in ("arguments", "params_as_json", "input", "args") if key in inner), {}
    )
    if isinstance(arguments, str):
        with suppress(msgspec.DecodeError, RecursionError):
            arguments = msgspec.json.decode(arguments or "{}")
    return {"name": str(name), "arguments": arguments}
