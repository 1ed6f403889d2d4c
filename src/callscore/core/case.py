"""A case and what comes back for it: Case → Prompt → Reply → output | Malformed, or Failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

JsonObject = Mapping[str, Any]
"""Parsed JSON as it came: only readers look inside."""


class Turn(msgspec.Struct, frozen=True):
    """One turn of a call. Searches use `text` alone (C-122)."""

    text: str
    id: int | str | None = None
    speaker: str | None = None
    start: float | None = None


class Case(msgspec.Struct, frozen=True):
    """One call and one task (C-123), as it stands on one line of a case file."""

    id: str
    task: str
    transcript: str | Sequence[Turn]
    config: JsonObject
    expected_outcome: JsonObject
    call_id: str | int | None = None
    lang: str | None = None
    question: str | None = None
    annotations: JsonObject | None = None
    expected_parts: JsonObject | None = None
    tags: Any = None
    provenance: Any = None
    model_output: Any = None

    def is_absent(self, part: str) -> bool:
        """Whether the reference declares this part absent: the exact word only (C-127)."""
        return self.expected_parts is not None and self.expected_parts.get(part) == "absent"


class Prompt(msgspec.Struct, frozen=True):
    """What a model is sent: instructions, the user's text, the JSON schema of the answer."""

    system: str
    user: str
    schema: JsonObject | None = None


class Reply(msgspec.Struct, frozen=True):
    """What a model answered: raw text, or JSON bytes where the record holds an object."""

    text: str | bytes
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Malformed(msgspec.Struct, frozen=True):
    """The model answered in the wrong shape: its own fault, scored by the structure rule."""

    cause: str
    detail: str = ""


class Failed(msgspec.Struct, frozen=True):
    """A stage could not be carried out: nobody's score; counted, shown and repeated."""

    stage: str
    why: str
    cost_usd: float | None = None
