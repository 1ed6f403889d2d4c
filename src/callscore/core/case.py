"""A case and its reply: Case → Prompt → Reply → output | Malformed, or Failed."""

# No postponed annotations here: msgspec would evaluate each of them at every start.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.lazy import lazy_regex

JsonObject = Mapping[str, Any]
"""Parsed JSON, not yet validated."""


class Turn(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One turn of a call. Searches use `text` alone (C-122)."""

    text: str
    id: int | str | None = None
    speaker: str | None = None
    start: float | None = None


class Case(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call and one task (C-123): one line of a case file."""

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
        """Whether the reference declares this part `absent`, in exactly this word (C-127)."""
        return self.expected_parts is not None and self.expected_parts.get(part) == "absent"


class SentCall(msgspec.Struct, frozen=True):
    """A function call of a model as later requests repeat it; `arguments` is text."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation with a model; `tool` has the result of one call."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: Sequence[SentCall] = ()
    """Of the assistant only: the calls that it made."""
    call: SentCall | None = None
    """Of a tool only: the call that it answers."""


class Tool(msgspec.Struct, frozen=True):
    """A function that a model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: JsonObject


class Prompt(msgspec.Struct, frozen=True):
    """The input of a model: messages, the JSON schema of the answer, the tools it may call."""

    messages: Sequence[Message]
    schema: JsonObject | None = None
    tools: Sequence[Tool] = ()
    max_tokens: int | msgspec.UnsetType = msgspec.UNSET
    """A limit of the reply below that of the model's parameters. Only `openai`, the API of local
    servers, sends it: other APIs may refuse a limit that leaves no room for thoughts."""


class ToolCall(msgspec.Struct, frozen=True):
    """A function call as the model wrote it; `arguments` is text, valid JSON or not."""

    name: str
    arguments: str


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The reply of a model: text, or JSON bytes if the recorded output was an object."""

    text: str | bytes
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tool_calls: Sequence[ToolCall] = ()
    model: str | None = None
    """The model's name as the provider returned it."""
    asked_as: str | None = None
    """How the schema was enforced if the API refused the default way (`AnswerForm`)."""
    latency_ms: float | None = None
    """Duration of the successful attempt. Stored and logged; never part of a score."""


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """The reply has the wrong structure. It counts against the model (structure rule)."""

    cause: str
    detail: str = ""


class Failed(msgspec.Struct, frozen=True):
    """A stage could not be carried out. It is reported and repeated, and counts against no
    model.
    """

    stage: str
    why: str
    cost_usd: float | None = None
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    stored: int = 0
    """Answers of a judge that came from the store; `requests` are those that were sent (C-140)."""
    unusable: Mapping[str, int] = {}
    """By reason: how many answers of a judge could not be used, entirely or in part."""


_PREFIX = lazy_regex(
    r"\s*(?:\[(?:(\d{1,3}):)?(\d{1,3}):(\d{2})(?:\.\d+)?\]\s*)?"  # [hh:mm:ss] or [mm:ss]
    r"(?:([^\W\d_][^:\n]{0,38}):\s+)?"  # Speaker:
)


def turns(transcript: str | Sequence[Turn]) -> Sequence[Turn]:
    """The turns of a transcript; a string gives one turn per non-empty line."""
    if not isinstance(transcript, str):
        return transcript
    lines = (line for line in transcript.splitlines() if line.strip())
    return [_turn(number, line) for number, line in enumerate(lines, start=1)]


def _turn(number: int, line: str) -> Turn:
    prefix = _PREFIX.match(line)
    assert prefix is not None  # every part of the pattern is optional
    hours, minutes, seconds, speaker = prefix.groups()
    start = None
    if seconds is not None:
        start = float(int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds))
    return Turn(text=line[prefix.end() :].strip(), id=number, speaker=speaker, start=start)


def clock(seconds: float) -> str:
    """A time in a call as mm:ss, as transcripts and reasons write it."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"


def turn_fields(turn: Turn) -> JsonObject:
    """A turn as prompts have it; its time as mm:ss, as reasons are to cite it."""
    fields: dict[str, Any] = {}
    if turn.id is not None:
        fields["id"] = turn.id
    if turn.speaker is not None:
        fields["speaker"] = turn.speaker
    if turn.start is not None:
        fields["start"] = clock(turn.start)
    fields["text"] = turn.text
    return fields


def spoken_text(transcript: str | Sequence[Turn]) -> str:
    """The text of all turns, one per line, without speakers, times and ids."""
    return "\n".join(turn.text for turn in turns(transcript))
