"""Contact-centre platforms (Google CX Insights, Genesys Cloud, Twilio) and IETF vCon files."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    CallDetails,
    Conversation,
    ImportContext,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
)
from callscore.importers.source_file import Source, convert, has_items, has_record, read_records
from callscore.importers.times import milliseconds, parse_date


class _Entry(msgspec.Struct):
    text: str | None = None
    role: str | None = None
    user_id: str | int | None = None
    start_timestamp_usec: float | None = None


class GoogleEntries(msgspec.Struct):
    """The fields of the CX Insights upload format that are read."""

    entries: Sequence[_Entry]
    conversation_info: Mapping[str, Any] | None = None
    language_code: str | None = None


class _Participant(msgspec.Struct):
    role: str | None = None


class _GoogleSegment(msgspec.Struct, rename="camel"):
    text: str | None = None
    channel_tag: int | None = None
    message_time: str | None = None
    language_code: str | None = None
    confidence: float | None = None
    segment_participant: _Participant | None = None


class _GoogleTranscript(msgspec.Struct, rename="camel"):
    transcript_segments: Sequence[_GoogleSegment] = ()


class GoogleConversation(msgspec.Struct, rename="camel"):
    """The fields of a conversation of the CX Insights API that are read."""

    transcript: _GoogleTranscript
    name: str | None = None
    start_time: str | None = None
    language_code: str | None = None


def is_google(source: Source) -> bool:
    """Whether the file has `entries` with roles, or `transcript.transcriptSegments`."""
    value = source.json
    if not isinstance(value, dict):
        return False
    entries = value.get("entries")
    if isinstance(entries, list):
        return any(isinstance(one, dict) and "role" in one and "text" in one for one in entries[:5])
    transcript = value.get("transcript")
    return isinstance(transcript, dict) and "transcriptSegments" in transcript


def read_google(source: Source, context: ImportContext) -> ImportIterator:
    """Read the conversation of a CX Insights file."""
    if "entries" not in source.json:
        yield from _read_google_api(source, context)
        return
    file = convert(source.json, GoogleEntries, source.name)
    turns = [
        RawTurn(
            entry.role or f"user {entry.user_id}",
            entry.text or "",
            None if entry.start_timestamp_usec is None else entry.start_timestamp_usec / 1e6,
            source=f"$.entries[{number}]",
        )
        for number, entry in enumerate(file.entries)
    ]
    categories = (file.conversation_info or {}).get("categories") or []
    names = [one.get("display_name") for one in categories if isinstance(one, dict)]
    details = CallDetails(lang=file.language_code, metadata={"categories": names})
    yield from build_conversation("google-cx-insights", turns, details, context)


def _read_google_api(source: Source, context: ImportContext) -> ImportIterator:
    file = convert(source.json, GoogleConversation, source.name)
    turns = [
        RawTurn(
            (one.segment_participant.role if one.segment_participant else None)
            or f"channel {one.channel_tag}",
            one.text or "",
            parse_date(one.message_time),
            confidence=one.confidence,
            source=f"$.transcript.transcriptSegments[{number}]",
        )
        for number, one in enumerate(file.transcript.transcript_segments)
    ]
    lang = file.language_code or next(
        (one.language_code for one in file.transcript.transcript_segments if one.language_code),
        None,
    )
    call_id = (file.name or "").rpartition("/")[2]
    details = CallDetails(call_id, lang, started_at=parse_date(file.start_time))
    yield from build_conversation("google-cx-insights", turns, details, context)


class _Duration(msgspec.Struct):
    milliseconds: float | None = None


class _Phrase(msgspec.Struct, rename="camel"):
    text: str | None = None
    decorated_text: str | None = None
    participant_purpose: str | None = None
    confidence: float | None = None
    start_time_ms: float | None = None
    duration: _Duration | None = None


class _GenesysTranscript(msgspec.Struct, rename="camel"):
    phrases: Sequence[_Phrase] = ()
    language: str | None = None
    start_time: float | None = None


class Genesys(msgspec.Struct, rename="camel"):
    """The fields of a Genesys Cloud transcript file that are read."""

    transcripts: Sequence[_GenesysTranscript]
    conversation_id: str | None = None
    communication_id: str | None = None


def is_genesys(source: Source) -> bool:
    """Whether the file has `transcripts` with `phrases`."""
    value = source.json
    return isinstance(value, dict) and has_items(value.get("transcripts"), "phrases")


def read_genesys(source: Source, context: ImportContext) -> ImportIterator:
    """Read the conversation of a Genesys file; `startTimeMs` can be an offset or a date.

    The schema is at developer.genesys.cloud/analyticsdatamanagement/speechtextanalytics/, page
    `transcript-url`.
    """
    file = convert(source.json, Genesys, source.name)
    turns = [
        _phrase_turn(phrase, f"$.transcripts[{outer}].phrases[{inner}]")
        for outer, transcript in enumerate(file.transcripts)
        for inner, phrase in enumerate(transcript.phrases)
    ]
    lang = next((one.language for one in file.transcripts if one.language), None)
    starts = [one.start_time / 1000 for one in file.transcripts if one.start_time is not None]
    details = CallDetails(
        file.conversation_id or file.communication_id or "",
        lang,
        started_at=min(starts, default=None),
    )
    yield from build_conversation("genesys", turns, details, context)


def _phrase_turn(phrase: _Phrase, path: str) -> RawTurn:
    start = milliseconds(phrase.start_time_ms)
    length = phrase.duration.milliseconds if phrase.duration else None
    end = None if start is None or length is None else start + length / 1000
    return RawTurn(
        phrase.participant_purpose or "",
        phrase.decorated_text or phrase.text or "",
        start,
        end,
        phrase.confidence,
        source=path,
    )


class _Sentence(msgspec.Struct):
    transcript: str | None = None
    media_channel: int | None = None
    start_time: float | None = None
    end_time: float | None = None
    confidence: float | None = None
    channel_participant: str | None = None


class Twilio(msgspec.Struct):
    """The fields of Twilio Conversational Intelligence sentences that are read."""

    sentences: Sequence[_Sentence]
    transcript_sid: str | None = None
    sid: str | None = None
    language_code: str | None = None


def is_twilio(source: Source) -> bool:
    """Whether the file has `sentences` with `media_channel`."""
    value = source.json
    return isinstance(value, dict) and has_items(
        value.get("sentences"), "transcript", "media_channel"
    )


def read_twilio(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Twilio file; each channel is a speaker."""
    file = convert(source.json, Twilio, source.name)
    turns = [
        RawTurn(
            one.channel_participant or f"channel {one.media_channel}",
            one.transcript or "",
            one.start_time,
            one.end_time,
            one.confidence,
            source=f"$.sentences[{number}]",
        )
        for number, one in enumerate(file.sentences)
    ]
    details = CallDetails(file.transcript_sid or file.sid or "", file.language_code)
    yield from build_conversation("twilio", turns, details, context)


class _GongSentence(msgspec.Struct):
    text: str | None = None
    start: float | None = None
    end: float | None = None


class _GongMonologue(msgspec.Struct, rename="camel"):
    speaker_id: str | int | None = None
    sentences: Sequence[_GongSentence] = ()


class _GongParty(msgspec.Struct, rename="camel"):
    speaker_id: str | int | None = None
    name: str | None = None
    affiliation: str | None = None


class Gong(msgspec.Struct, rename="camel"):
    """The fields of a Gong call transcript that are read; parties are in the extensive call."""

    transcript: Sequence[_GongMonologue]
    call_id: str | int | None = None
    parties: Sequence[_GongParty] | None = None


def is_gong(source: Source) -> bool:
    """Whether the file has `callTranscripts` with sentences of speakers."""
    return has_record(source, _is_gong_call)


def _is_gong_call(value: Mapping[str, Any]) -> bool:
    return has_items(value.get("transcript"), "speakerId", "sentences")


def read_gong(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of Gong, one turn per monologue; times are milliseconds.

    The transcript has ids of speakers only. Who they are is in `parties` of another endpoint,
    `/v2/calls/extensive`; without it, nothing says who is the agent.
    """
    for record in read_records(source, _is_gong_call, Gong):
        if isinstance(record, SkippedPart):
            yield record
            continue
        path, call = record
        parties = {one.speaker_id: one for one in call.parties or ()}
        turns = [
            RawTurn(
                _gong_label(parties.get(one.speaker_id), one.speaker_id),
                " ".join(sentence.text or "" for sentence in one.sentences),
                milliseconds(one.sentences[0].start if one.sentences else None),
                milliseconds(one.sentences[-1].end if one.sentences else None),
                source=f"{path}.transcript[{number}]",
            )
            for number, one in enumerate(call.transcript)
        ]
        call_id = "" if call.call_id is None else str(call.call_id)
        yield from build_conversation("gong", turns, CallDetails(call_id), context)


def _gong_label(party: _GongParty | None, speaker: str | int | None) -> str:
    if party is None:
        return "" if speaker is None else f"speaker {speaker}"
    known = {"internal": "agent", "external": "customer"}
    return known.get((party.affiliation or "").casefold()) or party.name or f"speaker {speaker}"


class _PartyMeta(msgspec.Struct):
    role: str | None = None


class _Party(msgspec.Struct):
    name: str | None = None
    role: str | None = None
    meta: _PartyMeta | None = None

    @property
    def known_role(self) -> str | None:
        """Its role, in its own field or in `meta`."""
        return self.role or (self.meta.role if self.meta else None)


class _Dialog(msgspec.Struct):
    type: str = ""
    start: str | None = None
    parties: int | Sequence[int] | None = None
    originator: int | None = None
    body: Any = None
    encoding: str | None = None
    url: Any = None
    mediatype: Any = None
    mimetype: Any = None


class _Analysis(msgspec.Struct):
    type: str = ""
    body: Any = None
    encoding: str | None = None


class Vcon(msgspec.Struct):
    """The fields of a vCon that are read."""

    uuid: str | None = None
    subject: str | None = None
    parties: Sequence[_Party] | None = None
    dialog: Sequence[_Dialog] | None = None
    analysis: Sequence[_Analysis] | None = None


class _VconLine(msgspec.Struct):
    message: str | None = None
    text: str | None = None
    speaker: str | int | None = None
    party: int | None = None
    start: float | None = None
    end: float | None = None


ReadAny = Callable[[Source, ImportContext], ImportIterator]
"""Reads a file of any format."""


def is_vcon(source: Source) -> bool:
    """Whether the file has a `vcon` version, or `parties` with `dialog` and `uuid`."""
    value = source.json
    return isinstance(value, dict) and (
        ("vcon" in value and ("dialog" in value or "analysis" in value))
        or {"parties", "dialog", "uuid"} <= value.keys()
    )


def read_vcon(
    source: Source, context: ImportContext, read_any: ReadAny | None = None
) -> ImportIterator:
    """Read the text dialogs and transcripts of a vCon; recordings are skipped."""
    file = convert(source.json, Vcon, source.name)
    parties = file.parties or ()
    turns: list[RawTurn] = []
    has_transcript = any(one.type == "transcript" for one in file.analysis or ())
    for number, analysis in enumerate(file.analysis or ()):
        where = f"{source.name}: $.analysis[{number}]"
        body = _decode_body(analysis.body, analysis.encoding)
        lines = _vcon_transcript(body, parties, f"$.analysis[{number}]")
        if analysis.type != "transcript" and (has_transcript or lines is None):
            yield SkippedPart(where, f"an analysis of type {analysis.type!r}")
        elif lines is None:
            yield from _read_embedded(f"{where}.body", body, context, file.uuid, read_any)
        turns += lines or []
    for number, dialog in enumerate(file.dialog or ()):
        path = f"$.dialog[{number}]"
        text = _decode_body(dialog.body, dialog.encoding)
        kind = str(dialog.mediatype or dialog.mimetype or "text/plain").partition(";")[0]
        if dialog.type == "text" and isinstance(text, str) and kind in ("text/plain", "text/html"):
            label = _dialog_speaker(dialog, parties)
            turns.append(RawTurn(label, text, parse_date(dialog.start), source=path))
        elif isinstance(text, str) and text.strip() and kind.startswith(_TEXT_MEDIA):
            yield from _read_embedded(
                f"{source.name}: {path}.body", text, context, file.uuid, read_any
            )
        else:
            yield SkippedPart(f"{source.name}: {path}", _why_no_text(dialog))
    if turns:
        details = CallDetails(file.uuid or "", metadata={"subject": file.subject})
        yield from build_conversation("vcon", turns, details, context)


_TEXT_MEDIA = ("text/", "application/json", "application/x-subrip", "application/ttml")


def _why_no_text(dialog: _Dialog) -> str:
    if dialog.body is None and dialog.url and dialog.type == "text":
        return "a dialog whose text is at a URL, which is not fetched"
    return f"a dialog of type {dialog.type!r} has no text"


def _read_embedded(
    name: str, body: Any, context: ImportContext, call_id: str | None, read: ReadAny | None
) -> ImportIterator:
    """Read a transcript of another format inside a vCon; it gets the id of the vCon."""
    if isinstance(body, dict) and isinstance(body.get("alternatives"), list):
        body = {"results": {"channels": [body]}}
    elif isinstance(body, dict) and has_items(body.get("words"), "word", "start"):
        # one of Deepgram's alternatives, without what is around it
        body = {"results": {"channels": [{"alternatives": [body]}]}}
    source = Source(name, _encode_body(body))
    if read is None or body is None:
        yield SkippedPart(name, "a transcript of an unknown format")
        return
    try:
        for part in read(source, context):
            if isinstance(part, Conversation) and call_id:
                yield msgspec.structs.replace(part, call_id=call_id)
            else:
                yield part
    except DataError as error:
        yield SkippedPart(source.name, error.problem)


def _vcon_transcript(body: Any, parties: Sequence[_Party], path: str) -> list[RawTurn] | None:
    if isinstance(body, dict) and isinstance(body.get("transcript"), list):
        body = body["transcript"]
    if not isinstance(body, list) or not all(isinstance(line, dict) for line in body):
        return None
    try:
        lines = msgspec.convert(body, list[_VconLine], strict=False)
    except msgspec.ValidationError:
        return None
    if not any(line.message or line.text for line in lines):
        return None
    return [
        RawTurn(
            _party_label(line.speaker if line.speaker is not None else line.party, parties),
            line.message or line.text or "",
            line.start,
            line.end,
            source=f"{path}.body[{number}]",
        )
        for number, line in enumerate(lines)
    ]


def _dialog_speaker(dialog: _Dialog, parties: Sequence[_Party]) -> str:
    if dialog.originator is not None:
        return _party_label(dialog.originator, parties)
    parties_ = dialog.parties
    first = parties_ if isinstance(parties_, int) else parties_[0] if parties_ else None
    return _party_label(first, parties)


def _party_label(speaker: str | int | None, parties: Sequence[_Party]) -> str:
    """The role of a party, else its name, else `party N`."""
    if isinstance(speaker, int):
        if not 0 <= speaker < len(parties):
            return f"party {speaker}"
        party = parties[speaker]
        return party.known_role or party.name or f"party {speaker}"
    named = next((one for one in parties if speaker and one.name == speaker), None)
    return (named.known_role if named else None) or speaker or ""


def _decode_body(body: Any, encoding: str | None) -> Any:
    if not isinstance(body, str):
        return body
    if encoding == "base64url":
        try:
            raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
            body = raw.decode()
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return None
    # writers leave `encoding` out, which the draft tolerates (draft-ietf-vcon-vcon-core)
    if encoding == "json" or body[:1] in "{[":
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return body
    return body


def _encode_body(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)
