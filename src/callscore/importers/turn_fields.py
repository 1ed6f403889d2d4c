"""Fields of turns under the names that many systems use: text, speaker, times, call, language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import UsageError
from callscore.importers.conversation import role_of
from callscore.importers.labelled_text import has_speaker_labels
from callscore.importers.times import parse_cell_time

CALL = ("call_id", "conversation_id", "contact_id", "interaction_id", "session_id", "recording_id",
        "dialogue_id", "dialog_id", "transcript_id", "task_id", "call_sid", "conversation_sid",
        "room_id", "video_id", "convo_id", "conv_id", "doc_id", "call", "conversation", "uuid",
        "sid", "id")  # fmt: skip
TEXT = ("human_transcript", "text", "utterance", "content", "message", "transcript", "sentence",
        "said", "phrase", "display_text", "body", "line", "transcription", "value", "original_text",
        "speech", "source_segment", "source_text")  # fmt: skip
SPEAKER = ("speaker_role", "participant_role", "role", "speaker", "participant", "speaker_label",
           "speaker_name", "display_name", "who", "author_role", "author", "sender_type", "sender",
           "sender_role", "from", "party", "user_role", "user_type", "participant_id", "speaker_id",
           "user_id", "channel", "channel_index", "media_channel", "name", "source",
           "type")  # fmt: skip
TURN = ("turn", "turn_id", "turn_number", "turn_index", "sequence", "seq", "index", "order",
        "line_number", "sentence_index", "utterance_id")  # fmt: skip
START = ("start", "start_time", "begin", "offset", "begin_offset", "start_offset",
         "seconds_from_start", "time_in_call", "timestamp", "start_timestamp", "time", "from_time",
         "begin_time", "started_at", "created_at", "sent_at", "date", "datetime")  # fmt: skip
END = ("end", "end_time", "end_offset", "until", "end_timestamp", "to_time", "ended_at")
_WEAK_SPEAKERS = ("type", "source", "name", "user_id")
"""Names of fields that have a speaker only if a value is the word of a role."""
LENGTH = ("duration", "length")
TRANSCRIPT = ("transcript", "transcription", "conversation", "dialogue", "dialog",
              "full_transcript", "call_transcript", "text", "content")  # fmt: skip
LANGUAGE = ("lang", "language", "language_code", "locale")
MAPPED = ("text", "speaker", "start", "end", "call_id", "lang", "turns")
"""The fields that `--map` sets; `turns` is the list of turns in a file."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")
_UNITS = {
    "ms": 1e3, "millis": 1e3, "msec": 1e3, "msecs": 1e3, "milliseconds": 1e3, "us": 1e6,
    "usec": 1e6, "micros": 1e6, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0,
}  # fmt: skip
"""Parts of a second in words at the end of a name."""
EPOCH_MILLIS = 1e11
"""Numbers above this are dates in milliseconds since the epoch."""
SLOWEST_SPEECH = 0.2
"""Characters per second; times that give less are milliseconds."""


class TimeField(msgspec.Struct, frozen=True):
    """A field with a time, and how many of its units make a second."""

    name: str
    per_second: float = 1.0

    def seconds(self, item: Mapping[str, Any]) -> float | None:
        """The time of an item in seconds; None if it has none, or it is not a time."""
        value = parse_cell_time(look_up(item, self.name))
        if value is None:
            return None
        return (
            value / 1000
            if self.per_second == 1 and value > EPOCH_MILLIS
            else (value / self.per_second)
        )


class TurnFields(msgspec.Struct, frozen=True):
    """Which field of a list of turns has what."""

    text: str
    speaker: str | None = None
    start: TimeField | None = None
    end: TimeField | None = None
    length: TimeField | None = None
    call: str | None = None
    lang: str | None = None
    turn: str | None = None
    other_texts: Sequence[str] = ()
    """Further fields that could be the text."""

    def times(self, item: Mapping[str, Any]) -> tuple[float | None, float | None]:
        """Start and end of a turn in seconds."""
        start = self.start.seconds(item) if self.start else None
        end = self.end.seconds(item) if self.end else None
        if end is None and start is not None and self.length is not None:
            length = self.length.seconds(item)
            end = None if length is None else start + length
        return start, end

    @property
    def is_plain(self) -> bool:
        """Whether the fields have their own names, and nothing else could be meant."""
        times = [field for field in (self.start, self.end) if field is not None]
        names = {self.text, self.speaker or "speaker", *(field.name for field in times)}
        is_usual = {name.casefold() for name in names} <= {"text", "speaker", "start", "end"}
        return is_usual and not self.other_texts and all(one.per_second == 1 for one in times)

    def describe(self) -> str:
        """The mapping, as it is given with `--map`, and what else could have been meant."""
        chosen = {
            "text": self.text,
            "speaker": self.speaker,
            "start": self.start.name if self.start else None,
            "end": self.end.name if self.end else self.length.name if self.length else None,
        }
        shown = ",".join(f"{key}={value}" for key, value in chosen.items() if value)
        if self.start is not None and self.start.per_second == 1e3:
            shown += " (milliseconds)"
        if self.other_texts:
            shown += f"; also has {', '.join(map(repr, self.other_texts))}: --map text=NAME"
        return shown


def parse_map(texts: Sequence[str]) -> dict[str, str]:
    """Names of fields, from `FIELD=NAME` pairs separated by commas."""
    names: dict[str, str] = {}
    for text in (pair for option in texts for pair in option.split(",")):
        field, equals, name = (part.strip() for part in text.partition("="))
        if field not in MAPPED or not equals or not name:
            raise UsageError(
                f"{text!r}; expected FIELD=NAME with a field of {', '.join(MAPPED)}, "
                "such as 'text=utterance,speaker=who'"
            )
        names[field] = name
    return names


def field_key(name: object) -> str:
    """The name in lower case with underscores: `startTime` and `Start Time` become `start_time`."""
    return _SEPARATORS.sub("_", _CAMEL.sub("_", str(name).strip()).casefold()).strip("_")


def look_up(item: Mapping[str, Any], name: str) -> Any:
    """The value of a field; `message.text` is the field of an object in a field."""
    if name in item:
        return item[name]
    first, dot, rest = name.partition(".")
    inner = item.get(first) if dot else None
    return look_up(inner, rest) if isinstance(inner, Mapping) else None


def find_name(names: Iterable[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted names that exists, as it is written."""
    by_key = {field_key(name): name for name in reversed(list(names))}
    return next((by_key[key] for key in wanted if key in by_key), None)


def choose_fields(
    items: Sequence[Mapping[str, Any]], given: Mapping[str, str]
) -> TurnFields | None:
    """The fields of a list of turns; None if its items have no text."""
    names = list(dict.fromkeys(str(name) for item in items for name in item))
    read = text_of if "text" in given else _words_of
    texts = _filled([given["text"]] if "text" in given else _known(names, TEXT), items, read)
    if not texts:
        return None
    speakers = _known([name for name in names if name not in texts], SPEAKER)
    speakers = _filled([given["speaker"]] if "speaker" in given else speakers, items, speaker_label)
    fields = TurnFields(
        texts[0],
        _best_speaker(speakers, items),
        _time_field(names, START, given.get("start")),
        _time_field(names, END, given.get("end")),
        _time_field(names, LENGTH, None),
        given.get("call_id") or _call_field(names, items),
        given.get("lang") or find_name(names, LANGUAGE),
        find_name(names, TURN),
        [] if "text" in given else texts[1:],
    )
    return _with_unit(fields, items)


def text_of(value: Any) -> str:
    """The text of a value, if it is one or has parts that are."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        return next((text for key in ("text", "transcript", "content")
                     if (text := text_of(value.get(key)))), "")  # fmt: skip
    if isinstance(value, list):
        return "\n".join(text for part in value if (text := text_of(part)))
    return ""


def _words_of(value: Any) -> str:
    """The text of a value that is what one speaker said: no list of turns, no whole transcript."""
    if isinstance(value, list):
        is_parts = all(isinstance(part, Mapping) and "type" in part for part in value)
        return text_of(value) if is_parts else ""
    text = text_of(value)
    return "" if "\n" in text and has_speaker_labels(text) else text


def speaker_label(value: Any) -> str:
    """The label of a speaker: a text, a number, or the role or name of an object."""
    if isinstance(value, Mapping):
        name = find_name(value, ("role", "participant_role", "name", "display_name", "id"))
        return speaker_label(value[name]) if name is not None else ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return value.strip() if isinstance(value, str) else f"speaker {value:g}"


def _known(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    by_key = {field_key(name): name for name in reversed(names)}
    return [by_key[key] for key in wanted if key in by_key]


def _filled(names: Iterable[str], items: Sequence[Mapping[str, Any]], read: Any) -> list[str]:
    """The names whose field has a value in at least a third of the items."""
    return [
        name
        for name in names
        if 3 * sum(bool(read(look_up(one, name))) for one in items) >= len(items)
    ]


def _best_speaker(names: Sequence[str], items: Sequence[Mapping[str, Any]]) -> str | None:
    """The first field that tells speakers apart; a field that is unique to each turn does not."""
    usable = []
    for name in names:
        labels = {speaker_label(look_up(item, name)) for item in items} - {""}
        is_role = any(role_of(label) is not None for label in labels)
        if is_role or field_key(name) not in _WEAK_SPEAKERS:
            usable.append(name)
            if len(labels) >= 2 and (is_role or len(labels) <= max(2, len(items) // 2)):
                return name
    return usable[0] if usable else None


def _call_field(names: Sequence[str], items: Sequence[Mapping[str, Any]]) -> str | None:
    """The field that says to which call a turn belongs; an `id` of its own is the turn's."""
    name = find_name(names, CALL)
    if name is None or field_key(name) not in ("id", "uuid", "sid", "call", "conversation"):
        return name
    values = {str(look_up(item, name)) for item in items}
    return name if len(values) < len(items) else None


def _time_field(names: Sequence[str], wanted: Sequence[str], given: str | None) -> TimeField | None:
    """The first of the wanted names that exists, with or without a unit at its end."""
    found: dict[str, TimeField] = {}
    for name in [given] if given else reversed(names):
        key = field_key(name)
        base, _, unit = key.rpartition("_")
        field = TimeField(name, _UNITS.get(unit, 1.0))
        if given:
            return field
        found[base if unit in _UNITS else key] = field
    return next((found[key] for key in wanted if key in found), None)


def _with_unit(fields: TurnFields, items: Sequence[Mapping[str, Any]]) -> TurnFields:
    """The fields with times in milliseconds, if no one could speak as slowly in seconds."""
    if fields.start is None or fields.start.per_second != 1:
        return fields
    starts = [look_up(item, fields.start.name) for item in items]
    numbers = [float(value) for value in starts if _is_whole(value)]
    if not numbers or len(numbers) < len(items) or max(numbers) > EPOCH_MILLIS:
        return fields
    span = max(numbers) - min(numbers)
    if fields.end is not None:
        ends = [look_up(item, fields.end.name) for item in items]
        span = max([float(value) for value in ends if _is_whole(value)], default=0.0) - min(numbers)
    letters = sum(len(text_of(look_up(item, fields.text))) for item in items)
    if span < 1000 or letters >= SLOWEST_SPEECH * span:
        return fields
    millis = {
        name: TimeField(field.name, 1e3)
        for name in ("start", "end", "length")
        if (field := getattr(fields, name)) is not None and field.per_second == 1
    }
    return msgspec.structs.replace(fields, **millis)


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().isdigit()
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    )
