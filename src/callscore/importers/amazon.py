"""Amazon Contact Lens (post-call, real-time, chat), Transcribe, and its Call Analytics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.importers.conversation import ImportIterator, RawTurn, SkippedPart
from callscore.importers.conversation_builder import CallDetails, ImportContext, build_conversation
from callscore.importers.source import Source, convert
from callscore.importers.timed_words import TimedWord, join_words
from callscore.importers.times import parse_date


class _Utterance(msgspec.Struct, rename="pascal"):
    content: str | None = None
    participant_id: str | None = None
    participant_role: str | None = None
    begin_offset_millis: float | None = None
    end_offset_millis: float | None = None
    sentiment: str | None = None
    absolute_time: str | None = None
    type: str | None = None
    issues_detected: Sequence[Mapping[str, Any]] | None = None
    outcomes_detected: Sequence[Mapping[str, Any]] | None = None
    action_items_detected: Sequence[Mapping[str, Any]] | None = None


class _Participant(msgspec.Struct, rename="pascal"):
    participant_id: str
    participant_role: str | None = None


class _Segment(msgspec.Struct, rename="pascal"):
    transcript: _Utterance | None = None
    utterance: _Utterance | None = None


class _CustomerMetadata(msgspec.Struct, rename="pascal"):
    contact_id: str | None = None


class ContactLens(msgspec.Struct, rename="pascal"):
    """The fields of a Contact Lens or Call Analytics file that are read."""

    transcript: Sequence[_Utterance] = ()
    segments: Sequence[_Segment] = ()
    participants: Sequence[_Participant] | None = None
    language_code: str | None = None
    channel: str | None = None
    job_name: str | None = None
    contact_id: str | None = None
    customer_metadata: _CustomerMetadata | None = None
    categories: Mapping[str, Any] | None = None
    conversation_characteristics: Mapping[str, Any] | None = None
    content_metadata: Mapping[str, Any] | None = None


def is_contact_lens(source: Source) -> bool:
    """Whether the file has a `Transcript` with participants, or real-time `Segments`."""
    value = source.json
    if not isinstance(value, dict):
        return False
    turns = value.get("Transcript")
    if isinstance(turns, list):
        known = {"ParticipantId", "ParticipantRole"}
        return "Participants" in value or any(
            isinstance(turn, dict) and known & turn.keys() for turn in turns[:5]
        )
    segments = value.get("Segments")
    return isinstance(segments, list) and any(
        isinstance(part, dict) and {"Transcript", "Utterance", "Categories"} & part.keys()
        for part in segments[:5]
    )


def read_contact_lens(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Contact Lens file; issues, outcomes and action items become metadata."""
    file = convert(source.json, ContactLens, source.name)
    participants = file.participants or ()
    roles = {one.participant_id: one.participant_role or "" for one in participants}
    turns: list[RawTurn] = []
    detected: dict[str, list[str]] = {"issues": [], "outcomes": [], "action_items": []}
    for path, spoken in _utterances(file):
        if spoken is None:
            yield SkippedPart(f"{source.name}: {path}", "a segment without text (categories)")
            continue
        if (spoken.type or "MESSAGE") not in ("MESSAGE", "TRANSCRIPT"):
            yield SkippedPart(f"{source.name}: {path}", f"an event ({spoken.type}) without text")
            continue
        turns.append(_raw_turn(spoken, roles, path))
        _collect_detected(detected, spoken)
    characteristics = file.conversation_characteristics or {}
    metadata = {
        "channel": file.channel,
        "categories": list((file.categories or {}).get("MatchedCategories") or []),
        "overall_sentiment": _overall_sentiment(characteristics),
        "duration_ms": characteristics.get("TotalConversationDurationMillis"),
        "content": (file.content_metadata or {}).get("Output"),
        **detected,
    }
    contact_id = file.customer_metadata.contact_id if file.customer_metadata else None
    call_id = contact_id or file.contact_id or file.job_name or ""
    details = CallDetails(call_id, file.language_code, metadata)
    yield from build_conversation("contact-lens", turns, details, context)


def _utterances(file: ContactLens) -> Iterator[tuple[str, _Utterance | None]]:
    for number, spoken in enumerate(file.transcript):
        yield f"$.Transcript[{number}]", spoken
    for number, segment in enumerate(file.segments):
        yield f"$.Segments[{number}]", segment.transcript or segment.utterance


def _raw_turn(spoken: _Utterance, roles: Mapping[str, str], path: str) -> RawTurn:
    label = spoken.participant_role or roles.get(spoken.participant_id or "") or ""
    start = _seconds(spoken.begin_offset_millis)
    if start is None and spoken.absolute_time:
        start = parse_date(spoken.absolute_time)
    return RawTurn(
        label or spoken.participant_id or "",
        spoken.content or "",
        start,
        _seconds(spoken.end_offset_millis),
        sentiment=spoken.sentiment.lower() if spoken.sentiment else None,
        source=path,
    )


def _collect_detected(detected: Mapping[str, list[str]], spoken: _Utterance) -> None:
    parts = (
        ("issues", spoken.issues_detected),
        ("outcomes", spoken.outcomes_detected),
        ("action_items", spoken.action_items_detected),
    )
    for name, matches in parts:
        for one in matches or ():
            text = one.get("Text") or _slice_text(spoken.content or "", one.get("CharacterOffsets"))
            if text:
                detected[name].append(str(text))


def _slice_text(text: str, offsets: Any) -> str:
    if not isinstance(offsets, dict):
        return ""
    begin, end = offsets.get("BeginOffsetChar"), offsets.get("EndOffsetChar")
    return text[begin:end] if isinstance(begin, int) and isinstance(end, int) else ""


def _overall_sentiment(characteristics: Mapping[str, Any]) -> Any:
    sentiment = characteristics.get("Sentiment")
    return sentiment.get("OverallSentiment") if isinstance(sentiment, dict) else None


def _seconds(value: float | None) -> float | None:
    return None if value is None else value / 1000


class _Alternative(msgspec.Struct):
    content: str = ""
    confidence: float | None = None


class _Word(msgspec.Struct):
    alternatives: Sequence[_Alternative] = ()
    start_time: float | None = None
    end_time: float | None = None
    type: str = "pronunciation"
    speaker_label: str | None = None


class _Channel(msgspec.Struct):
    channel_label: str = ""
    items: Sequence[_Word] = ()


class _Channels(msgspec.Struct):
    channels: Sequence[_Channel] = ()


class _SpeakerSegment(msgspec.Struct):
    speaker_label: str = ""
    start_time: float | None = None
    end_time: float | None = None


class _SpeakerLabels(msgspec.Struct):
    segments: Sequence[_SpeakerSegment] = ()


class _Text(msgspec.Struct):
    transcript: str = ""


class _Results(msgspec.Struct):
    transcripts: Sequence[_Text] = ()
    items: Sequence[_Word] = ()
    channel_labels: _Channels | None = None
    speaker_labels: _SpeakerLabels | None = None
    language_code: str | None = None


class Transcribe(msgspec.Struct):
    """The fields of an Amazon Transcribe file that are read."""

    results: _Results
    jobName: str | None = None  # noqa: N815  the name in the file


def is_transcribe(source: Source) -> bool:
    """Whether the file has `results.transcripts`."""
    value = source.json
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, dict) and "transcripts" in results


def read_transcribe(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Transcribe file; words are joined to turns by channel or speaker."""
    file = convert(source.json, Transcribe, source.name)
    results = file.results
    words = list(_words(results))
    turns = list(join_words(words, "$.results"))
    notes: list[str] = []
    if not turns:
        text = " ".join(one.transcript for one in results.transcripts)
        turns = [RawTurn("", text, source="$.results.transcripts")]
        notes = ["the file names no speakers; the whole call is one turn"]
    details = CallDetails(file.jobName or "", results.language_code, notes=notes)
    yield from build_conversation("transcribe", turns, details, context)


def _words(results: _Results) -> Iterator[TimedWord]:
    if results.channel_labels is not None and results.channel_labels.channels:
        channels = results.channel_labels.channels
        tagged = [word for one in channels for word in _timed_words(one.items, one.channel_label)]
        yield from sorted(tagged, key=lambda word: word.start or 0.0)
        return
    segments = results.speaker_labels.segments if results.speaker_labels else ()
    for word in _timed_words(results.items, ""):
        speaker = word.speaker or _speaker_at(segments, word.start)
        yield msgspec.structs.replace(word, speaker=speaker)


def _timed_words(items: Sequence[_Word], speaker: str) -> Iterator[TimedWord]:
    """The words with times and speakers; punctuation has those of the previous word."""
    last: float | None = None
    label = speaker
    for item in items:
        best = item.alternatives[0] if item.alternatives else _Alternative()
        attached = item.type == "punctuation"
        last = item.start_time if item.start_time is not None else last
        label = item.speaker_label or (label if attached else speaker)
        yield TimedWord(best.content, label, last, item.end_time, best.confidence, attached)


def _speaker_at(segments: Sequence[_SpeakerSegment], time: float | None) -> str:
    if time is None:
        return segments[0].speaker_label if segments else ""
    for segment in segments:
        if (segment.start_time or 0) <= time <= (segment.end_time or 0):
            return segment.speaker_label
    return ""
