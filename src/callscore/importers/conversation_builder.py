"""Builds a conversation from raw turns, with normalised roles, order, times and ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    Conversation,
    ImportedTurn,
    RawTurn,
    RecordedOutput,
    Role,
    SkippedPart,
)
from callscore.importers.roles import RoleMap

_SPACE = re.compile(r"[ \t\r\f\v\u00a0]+")
MAX_TURNS = 100_000
"""The most turns of a call: a day with one turn a second. More is a damaged or hostile file."""
EPOCH_SECONDS = 1e8
"""Times above this (about three years) are dates since the epoch, not offsets into a call."""


class CallDetails(msgspec.Struct, frozen=True):
    """The properties of a call besides its turns."""

    call_id: str = ""
    lang: str | None = None
    metadata: Mapping[str, Any] = {}
    expected: Any = None
    outputs: Sequence[RecordedOutput] = ()
    notes: Sequence[str] = ()
    started_at: float | None = None
    """The start of the call in seconds since the epoch, if the times of turns are dates."""


class ImportContext(msgspec.Struct, frozen=True):
    """The file that is read, and the user's settings for all files."""

    source: str
    fallback_id: str
    """The id of a call without an id."""
    roles: Mapping[str, Role] = {}
    lang: str | None = None
    fields: Mapping[str, str] = {}
    """The names that the fields of turns have, where the user gives them."""


def build_conversation(
    format_name: str, turns: Iterable[RawTurn], details: CallDetails, context: ImportContext
) -> Iterator[Conversation | SkippedPart]:
    """Yield the turns without text as skipped, then the conversation of the others."""
    spoken: list[RawTurn] = []
    for turn in turns:
        text = join_lines(turn.text)
        if text or turn.tool_calls:
            spoken.append(msgspec.structs.replace(turn, text=text, label=turn.label.strip()))
            if len(spoken) > MAX_TURNS:
                raise DataError(
                    f"call {details.call_id or context.fallback_id!r} has more than {MAX_TURNS:,} "
                    "turns; expected one call",
                    place=context.source,
                )
        else:
            yield SkippedPart(turn.source, "a turn without text")
    call_id = details.call_id.strip() or context.fallback_id
    if not spoken:
        yield SkippedPart(context.source, f"call {call_id!r} has no turn with text")
        return
    spoken, notes = _sort_by_start(_to_relative_times(spoken, details.started_at))
    roles = RoleMap(spoken, context.roles)
    yield Conversation(
        call_id,
        [_turn(number, turn, roles) for number, turn in enumerate(spoken, start=1)],
        format_name,
        context.source,
        lang=details.lang or context.lang,
        metadata={key: value for key, value in details.metadata.items() if value not in (None, [])},
        expected=details.expected,
        outputs=details.outputs,
        notes=[*details.notes, *notes, *roles.notes(), *_unknown_roles(spoken, roles)],
    )


def join_lines(text: str) -> str:
    """The text on one line, with single spaces and without outer ones."""
    return _SPACE.sub(" ", " ".join(text.split("\n"))).strip()


def _turn(number: int, turn: RawTurn, roles: RoleMap) -> ImportedTurn:
    role = roles.role(turn.label)
    speaker = role if role != "unknown" else turn.label or "unknown"
    return ImportedTurn(
        number,
        speaker,
        turn.text,
        start=_seconds(turn.start),
        end=_seconds(turn.end),
        role_guessed=turn.label in roles.guessed,
        label=turn.label if turn.label and turn.label.casefold() != speaker else None,
        confidence=turn.confidence,
        sentiment=turn.sentiment,
        tool_calls=turn.tool_calls,
        source=turn.source,
    )


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _to_relative_times(turns: list[RawTurn], started_at: float | None) -> list[RawTurn]:
    """The turns with dates replaced by seconds from the start of the call."""
    starts = [turn.start for turn in turns if turn.start is not None]
    if not starts or max(starts) < EPOCH_SECONDS:
        return turns
    origin = min(starts)
    if started_at is not None and started_at < origin:
        origin = started_at

    def shift(time: float | None) -> float | None:
        return None if time is None else time - origin if time >= EPOCH_SECONDS else time

    return [
        msgspec.structs.replace(turn, start=shift(turn.start), end=shift(turn.end))
        for turn in turns
    ]


def _sort_by_start(turns: list[RawTurn]) -> tuple[list[RawTurn], list[str]]:
    """The turns sorted by start if every turn has one, with a note if that moved any."""
    if any(turn.start is None for turn in turns):
        return turns, []
    ordered = sorted(turns, key=lambda turn: turn.start or 0.0)
    return ordered, [] if ordered == turns else [
        "turns were not in chronological order; sorted by start"
    ]


def _unknown_roles(turns: Sequence[RawTurn], roles: RoleMap) -> list[str]:
    unknown = sorted({turn.label for turn in turns if roles.role(turn.label) == "unknown"})
    if not unknown:
        return []
    shown = ", ".join(repr(label) if label else "turns without a speaker" for label in unknown)
    return [f"role unknown: {shown}; set it with --roles LABEL=agent"]
