"""Amazon: Contact Lens, Transcribe, Call and Post Call Analytics, Bedrock Data Automation.

The schemas: Contact Lens in docs.aws.amazon.com/connect/latest/adminguide/, page
`contact-lens-example-output-files.html`; Transcribe in docs.aws.amazon.com/transcribe/latest/dg/,
page `diarization-output-batch.html`. Transcribe writes times as strings (`"4.87"`), and punctuation
has none. Contact Lens has real-time segments in place of a transcript, and roles of its own:
`CUSTOM_BOT`, `SYSTEM`, `SUPERVISOR`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.importers.conversation import (
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
)
from callscore.importers.source_file import Source, convert
from callscore.importers.times import TimedWord, join_words, milliseconds, parse_date


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
    participant_id: str | None = None
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
    roles = {
        one.participant_id: one.participant_role or "" for one in participants if one.participant_id
    }
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
    start = milliseconds(spoken.begin_offset_millis)
    if start is None and spoken.absolute_time:
        start = parse_date(spoken.absolute_time)
    return RawTurn(
        label or spoken.participant_id or "",
        spoken.content or "",
        start,
        milliseconds(spoken.end_offset_millis),
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
    begin = offsets.get("BeginOffsetChar", offsets.get("Begin"))
    end = offsets.get("EndOffsetChar", offsets.get("End"))
    return text[begin:end] if isinstance(begin, int) and isinstance(end, int) else ""


def _overall_sentiment(characteristics: Mapping[str, Any]) -> Any:
    sentiment = characteristics.get("Sentiment")
    return sentiment.get("OverallSentiment") if isinstance(sentiment, dict) else None


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


class _PcaSegment(msgspec.Struct, rename="pascal"):
    segment_speaker: str | None = None
    display_text: str | None = None
    original_text: str | None = None
    segment_start_time: float | None = None
    segment_end_time: float | None = None
    sentiment_is_positive: int | bool | None = None
    sentiment_is_negative: int | bool | None = None


class _PcaSpeaker(msgspec.Struct, rename="pascal"):
    speaker: str = ""
    display_text: str = ""


class _PcaAnalytics(msgspec.Struct, rename="pascal"):
    speaker_labels: Sequence[_PcaSpeaker] = ()
    language_code: str | None = None
    guid: str | None = msgspec.field(default=None, name="GUID")
    categories_detected: Sequence[Mapping[str, Any]] = ()
    issues_detected: Sequence[Mapping[str, Any]] = ()
    source_information: Sequence[Mapping[str, Any]] = ()


class PostCallAnalytics(msgspec.Struct, rename="pascal"):
    """The fields of an AWS Post Call Analytics file that are read."""

    conversation_analytics: _PcaAnalytics
    speech_segments: Sequence[_PcaSegment]


def is_post_call_analytics(source: Source) -> bool:
    """Whether the file has `ConversationAnalytics` and `SpeechSegments`."""
    value = source.json
    return isinstance(value, dict) and {"ConversationAnalytics", "SpeechSegments"} <= value.keys()


def read_post_call_analytics(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Post Call Analytics file; its own labels name the speakers."""
    file = convert(source.json, PostCallAnalytics, source.name)
    analytics = file.conversation_analytics
    labels = {one.speaker: one.display_text for one in analytics.speaker_labels}
    turns = [
        RawTurn(
            labels.get(one.segment_speaker or "") or one.segment_speaker or "",
            one.display_text or one.original_text or "",
            one.segment_start_time,
            one.segment_end_time,
            sentiment=_pca_sentiment(one),
            source=f"$.SpeechSegments[{number}]",
        )
        for number, one in enumerate(file.speech_segments)
    ]
    jobs = [one.get("TranscribeJobInfo") for one in analytics.source_information]
    names = [job.get("TranscriptionJobName") for job in jobs if isinstance(job, dict)]
    # a recording without a GUID in its name has the text "None"
    guid = analytics.guid if analytics.guid not in (None, "None", "") else None
    call_id = guid or next((name for name in names if isinstance(name, str)), "")
    categories = [one.get("Name") for one in analytics.categories_detected if one.get("Instances")]
    issues = [one.get("Text") for one in analytics.issues_detected if one.get("Text")]
    metadata = {"categories": categories, "issues": issues}
    details = CallDetails(call_id, analytics.language_code, metadata)
    yield from build_conversation("post-call-analytics", turns, details, context)


def _pca_sentiment(segment: _PcaSegment) -> str | None:
    if segment.sentiment_is_positive:
        return "positive"
    return "negative" if segment.sentiment_is_negative else None


class _BdaLabel(msgspec.Struct):
    speaker_label: str | None = None
    speaker_name: str | None = None
    speaker_role: str | None = None
    channel_label: str | None = None


class _BdaSegment(msgspec.Struct):
    text: str | None = None
    type: str | None = None
    start_timestamp_millis: float | None = None
    end_timestamp_millis: float | None = None
    speaker: _BdaLabel | None = None
    channel: _BdaLabel | None = None
    language: str | None = None


class _BdaMetadata(msgspec.Struct):
    s3_key: str | None = None
    dominant_asset_language: str | None = None


class BedrockDataAutomation(msgspec.Struct):
    """The fields of the standard output of Bedrock Data Automation for audio that are read."""

    audio_segments: Sequence[_BdaSegment]
    metadata: _BdaMetadata | None = None
    audio: Mapping[str, Any] | None = None


def is_bedrock_automation(source: Source) -> bool:
    """Whether the file has `audio_segments`."""
    value = source.json
    return isinstance(value, dict) and isinstance(value.get("audio_segments"), list)


def read_bedrock_automation(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Bedrock Data Automation file; several channels are the speakers."""
    file = convert(source.json, BedrockDataAutomation, source.name)
    segments = file.audio_segments
    turns: list[RawTurn] = []
    for number, one in enumerate(segments):
        where = f"$.audio_segments[{number}]"
        if (one.type or "TRANSCRIPT") != "TRANSCRIPT":
            yield SkippedPart(f"{source.name}: {where}", f"a segment of type {one.type!r}")
            continue
        turns.append(
            RawTurn(
                _bda_label(one),
                one.text or "",
                milliseconds(one.start_timestamp_millis),
                milliseconds(one.end_timestamp_millis),
                source=where,
            )
        )
    metadata = file.metadata or _BdaMetadata()
    summary = (file.audio or {}).get("summary")
    details = CallDetails(
        (metadata.s3_key or "").rpartition("/")[2],
        metadata.dominant_asset_language,
        {"summary": summary if isinstance(summary, str) else None},
    )
    yield from build_conversation("bedrock-data-automation", turns, details, context)


def _bda_label(segment: _BdaSegment) -> str:
    """The speaker by role, name or label, else the channel."""
    speaker, channel = segment.speaker or _BdaLabel(), segment.channel or _BdaLabel()
    names = (speaker.speaker_role, speaker.speaker_name, speaker.speaker_label,
             channel.channel_label)  # fmt: skip
    return next((name for name in names if name), "")
