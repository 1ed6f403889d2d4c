"""The result of every importer: conversations with normalised turns, and skipped parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

Role = Literal["agent", "customer", "bot", "system", "supervisor", "unknown"]


class ImportedTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of an imported call: the fields of a case file, and others that the source has."""

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
    """The place in the file: a JSON path, a line or a row."""


class RecordedOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The output of a model for a conversation, as stored in the source."""

    model: str
    output: Any
    run: int = 1
    error: str | None = None
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """An imported call."""

    call_id: str
    turns: Sequence[ImportedTurn]
    format: str
    source: str
    lang: str | None = None
    metadata: Mapping[str, Any] = {}
    """Further properties of the call, such as categories, issues and duration."""
    expected: Any = None
    """The expected answer of a data set, unchanged."""
    outputs: Sequence[RecordedOutput] = ()
    notes: Sequence[str] = ()
    """Guesses and corrections that a person should check."""


class SkippedPart(msgspec.Struct, frozen=True):
    """A part of a file that was not imported, and the reason."""

    where: str
    why: str


ImportIterator = Iterator[Conversation | SkippedPart]
"""What the reader of a format yields."""


class RawTurn(msgspec.Struct, frozen=True):
    """A turn as it is in the source, before roles and times are normalised."""

    label: str
    """The speaker as the source names it; empty if it names none."""
    text: str
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    sentiment: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    source: str = ""
