"""From raw turns to a conversation: roles, order, times and ids in one form for every reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.importers.conversation import (
    Conversation,
    ImportedTurn,
    RawTurn,
    RecordedOutput,
    Role,
    Skipped,
)
from callscore.importers.roles import RoleMap

_SPACE = re.compile(r"[ \t\r\f\v\u00a0]+")
EPOCH_SECONDS = 1e8
"""A start beyond three years is no offset into a call: it is a date."""


class Details(msgspec.Struct, frozen=True):
    """What a reader knows about a call besides its turns."""

    call_id: str = ""
    lang: str | None = None
    metadata: Mapping[str, Any] = {}
    expected: Any = None
    outputs: Sequence[RecordedOutput] = ()
    notes: Sequence[str] = ()
    began: float | None = None
    """The start of the call as seconds since the epoch, where turns carry dates."""


class Context(msgspec.Struct, frozen=True):
    """What the user says about all files, and which file this is."""

    source: str
    fallback_id: str
    roles: Mapping[str, Role] = {}
    lang: str | None = None


def assemble(
    format_name: str, turns: Iterable[RawTurn], details: Details, context: Context
) -> Iterator[Conversation | Skipped]:
    """The conversation of some raw turns, preceded by the parts that hold no words."""
    spoken: list[RawTurn] = []
    for turn in turns:
        text = clean(turn.text)
        if text or turn.tool_calls:
            spoken.append(msgspec.structs.replace(turn, text=text, label=turn.label.strip()))
        else:
            yield Skipped(turn.source, "a turn without text")
    call_id = details.call_id.strip() or context.fallback_id
    if not spoken:
        yield Skipped(context.source, f"call {call_id!r} has no turn with text")
        return
    spoken, notes = _in_order(_relative(spoken, details.began))
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
        notes=[*details.notes, *notes, *roles.notes(), *_unknown(spoken, roles)],
    )


def clean(text: str) -> str:
    """The text without runs of blanks and outer space; line breaks become blanks."""
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


def _relative(turns: list[RawTurn], began: float | None) -> list[RawTurn]:
    """Times as seconds into the call, where the source has dates (epoch times)."""
    starts = [turn.start for turn in turns if turn.start is not None]
    if not starts or max(starts) < EPOCH_SECONDS:
        return turns
    origin = began if began is not None and began <= min(starts) else min(starts)

    def shifted(time: float | None) -> float | None:
        return None if time is None else time - origin if time >= EPOCH_SECONDS else time

    return [
        msgspec.structs.replace(turn, start=shifted(turn.start), end=shifted(turn.end))
        for turn in turns
    ]


def _in_order(turns: list[RawTurn]) -> tuple[list[RawTurn], list[str]]:
    """Turns by their start, where every turn has one; else as in the file."""
    if any(turn.start is None for turn in turns):
        return turns, []
    ordered = sorted(turns, key=lambda turn: turn.start or 0.0)
    return ordered, [] if ordered == turns else ["turns were not in order of time; sorted by start"]


def _unknown(turns: Sequence[RawTurn], roles: RoleMap) -> list[str]:
    unknown = sorted({turn.label for turn in turns if roles.role(turn.label) == "unknown"})
    if not unknown:
        return []
    shown = ", ".join(repr(label) if label else "turns without a speaker" for label in unknown)
    return [f"role unknown: {shown}; name it with --roles LABEL=agent"]
