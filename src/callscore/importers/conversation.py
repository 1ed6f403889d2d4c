"""What every importer returns: conversations with turns in one form, and what was skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

Role = Literal["agent", "customer", "bot", "system", "supervisor", "unknown"]


class ImportedTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of a call in the form of a case file, with its source and what else is known."""

    id: int
    speaker: str
    """The role if it is known, else the label of the source."""
    text: str
    start: float | None = None
    """Seconds from the start of the call."""
    end: float | None = None
    role_guessed: bool = False
    label: str | None = None
    """The speaker as the source names it, if that is not the role."""
    confidence: float | None = None
    sentiment: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    source: str = ""
    """Where in the file the turn was found: a JSON path, a line or a row."""


class RecordedOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model answered to a conversation, where the source holds it."""

    model: str
    output: Any
    run: int = 1
    error: str | None = None
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call as it was imported."""

    call_id: str
    turns: Sequence[ImportedTurn]
    format: str
    source: str
    lang: str | None = None
    metadata: Mapping[str, Any] = {}
    """What the source says about the call besides its words (categories, issues, duration)."""
    expected: Any = None
    """The expected answer of a data set, as it was written."""
    outputs: Sequence[RecordedOutput] = ()
    notes: Sequence[str] = ()
    """Guesses and repairs that a person should look at."""


class Skipped(msgspec.Struct, frozen=True):
    """A part of a file that did not become a turn, and why."""

    where: str
    why: str


Imported = Iterator[Conversation | Skipped]


class RawTurn(msgspec.Struct, frozen=True):
    """A turn as a reader finds it, before roles and times are normalised."""

    label: str
    """Who spoke, in the words of the source; empty if it does not say."""
    text: str
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    sentiment: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    source: str = ""
