"""Transcripts of speech recognition: Deepgram, AssemblyAI, Whisper, WhisperX, Azure Speech."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.importers.conversation import ImportIterator, RawTurn
from callscore.importers.conversation_builder import CallDetails, ImportContext, build_conversation
from callscore.importers.source import Source, convert
from callscore.importers.timed_words import TimedWord, join_words
from callscore.importers.times import parse_duration

TICKS_PER_SECOND = 10_000_000
"""Azure counts in ticks of 100 nanoseconds."""
NO_SPEAKERS = "the file names no speakers; its turns have no role"


class _DeepgramWord(msgspec.Struct):
    word: str = ""
    punctuated_word: str | None = None
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    speaker: int | None = None


class _Utterance(msgspec.Struct):
    transcript: str | None = None
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    channel: int | None = None
    speaker: int | None = None


class _Sentence(msgspec.Struct):
    text: str = ""


class _Paragraph(msgspec.Struct):
    sentences: Sequence[_Sentence] = ()
    speaker: int | None = None
    start: float | None = None
    end: float | None = None


class _Paragraphs(msgspec.Struct):
    paragraphs: Sequence[_Paragraph] = ()


class _DeepgramText(msgspec.Struct):
    transcript: str = ""
    words: Sequence[_DeepgramWord] | None = None
    paragraphs: _Paragraphs | None = None


class _DeepgramChannel(msgspec.Struct):
    alternatives: Sequence[_DeepgramText] = ()
    detected_language: str | None = None


class _DeepgramResults(msgspec.Struct):
    channels: Sequence[_DeepgramChannel] = ()
    utterances: Sequence[_Utterance] | None = None


class _DeepgramMetadata(msgspec.Struct):
    request_id: str | None = None
    channels: int | None = None


class Deepgram(msgspec.Struct):
    """The fields of a Deepgram response that are read."""

    results: _DeepgramResults
    metadata: _DeepgramMetadata | None = None


def is_deepgram(source: Source) -> bool:
    """Whether the file has `results.channels` or `results.utterances`."""
    value = source.json
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, dict) and bool({"channels", "utterances"} & results.keys())


def read_deepgram(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Deepgram response: utterances, else paragraphs, else words."""
    file = convert(source.json, Deepgram, source.name)
    results = file.results
    has_channels = len(results.channels) > 1
    turns = list(_deepgram_turns(results, has_channels=has_channels))
    lang = next((one.detected_language for one in results.channels if one.detected_language), None)
    metadata = file.metadata or _DeepgramMetadata()
    yield from build_conversation(
        "deepgram", turns, CallDetails(metadata.request_id or "", lang), context
    )


def _deepgram_turns(results: _DeepgramResults, *, has_channels: bool) -> Iterator[RawTurn]:
    if results.utterances:
        for number, one in enumerate(results.utterances):
            label = f"channel {one.channel}" if has_channels else _speaker_label(one.speaker)
            path = f"$.results.utterances[{number}]"
            text = one.transcript or ""
            yield RawTurn(label, text, one.start, one.end, one.confidence, source=path)
        return
    words: list[TimedWord] = []
    for number, channel in enumerate(results.channels):
        best = channel.alternatives[0] if channel.alternatives else _DeepgramText()
        path = f"$.results.channels[{number}]"
        if best.paragraphs and best.paragraphs.paragraphs and not has_channels:
            yield from _paragraph_turns(best.paragraphs.paragraphs, path)
        elif best.words:
            label = f"channel {number}" if has_channels else ""
            words += [_timed_word(word, label) for word in best.words]
        elif best.transcript:
            yield RawTurn(f"channel {number}" if has_channels else "", best.transcript, source=path)
    yield from join_words(sorted(words, key=lambda word: word.start or 0.0), "$.results")


def _paragraph_turns(paragraphs: Sequence[_Paragraph], path: str) -> Iterator[RawTurn]:
    for number, one in enumerate(paragraphs):
        text = " ".join(sentence.text for sentence in one.sentences)
        where = f"{path}.alternatives[0].paragraphs.paragraphs[{number}]"
        yield RawTurn(_speaker_label(one.speaker), text, one.start, one.end, source=where)


def _timed_word(word: _DeepgramWord, label: str) -> TimedWord:
    text = word.punctuated_word or word.word
    speaker = label or _speaker_label(word.speaker)
    return TimedWord(text, speaker, word.start, word.end, word.confidence)


def _speaker_label(speaker: int | str | None) -> str:
    return "" if speaker is None else f"speaker {speaker}"


class _AssemblyAIUtterance(msgspec.Struct):
    speaker: str | int | None = None
    text: str | None = None
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    channel: str | int | None = None


class _Sentiment(msgspec.Struct):
    sentiment: str = ""
    start: float | None = None
    end: float | None = None


class AssemblyAI(msgspec.Struct):
    """The fields of an AssemblyAI transcript that are read."""

    id: str | None = None
    text: str | None = None
    language_code: str | None = None
    utterances: Sequence[_AssemblyAIUtterance] | None = None
    sentiment_analysis_results: Sequence[_Sentiment] | None = None


def is_assemblyai(source: Source) -> bool:
    """Whether the file has `utterances`, or `text` and a key that only AssemblyAI uses."""
    value = source.json
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("utterances"), list):
        return True
    return "text" in value and bool({"audio_url", "acoustic_model", "speech_model"} & value.keys())


def read_assemblyai(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of an AssemblyAI transcript; a turn has the sentiment of its first sentence."""
    file = convert(source.json, AssemblyAI, source.name)
    sentiments = file.sentiment_analysis_results or ()
    turns = [
        RawTurn(
            "" if one.speaker is None else str(one.speaker),
            one.text or "",
            _seconds(one.start),
            _seconds(one.end),
            one.confidence,
            _first_sentiment(sentiments, one),
            source=f"$.utterances[{number}]",
        )
        for number, one in enumerate(file.utterances or ())
    ]
    notes = () if turns else (NO_SPEAKERS,)
    turns = turns or [RawTurn("", file.text or "", source="$.text")]
    details = CallDetails(file.id or "", file.language_code, notes=notes)
    yield from build_conversation("assemblyai", turns, details, context)


def _first_sentiment(sentiments: Sequence[_Sentiment], spoken: _AssemblyAIUtterance) -> str | None:
    for one in sentiments:
        inside = one.start is not None and spoken.start is not None and spoken.end is not None
        if inside and spoken.start <= one.start < spoken.end:  # type: ignore[operator]
            return one.sentiment.lower() or None
    return None


def _seconds(value: float | None) -> float | None:
    return None if value is None else value / 1000


class _Segment(msgspec.Struct):
    text: str | None = None
    start: float | None = None
    end: float | None = None
    speaker: str | int | None = None


class Whisper(msgspec.Struct):
    """The fields of a Whisper or WhisperX file that are read."""

    segments: Sequence[_Segment]
    language: str | None = None


def is_whisper(source: Source) -> bool:
    """Whether the file has `segments` with `start`, `end` and `text`."""
    value = source.json
    segments = value.get("segments") if isinstance(value, dict) else None
    return isinstance(segments, list) and any(
        isinstance(one, dict) and {"start", "end", "text"} <= one.keys() for one in segments[:5]
    )


def read_whisper(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Whisper file, one turn per segment; only WhisperX names speakers."""
    file = convert(source.json, Whisper, source.name)
    turns = [
        RawTurn(
            "" if one.speaker is None else str(one.speaker),
            one.text or "",
            one.start,
            one.end,
            source=f"$.segments[{number}]",
        )
        for number, one in enumerate(file.segments)
    ]
    notes = () if any(turn.label for turn in turns) else (NO_SPEAKERS,)
    details = CallDetails(lang=file.language, notes=notes)
    yield from build_conversation("whisper", turns, details, context)


class _AzureText(msgspec.Struct):
    display: str = ""
    confidence: float | None = None


class _AzurePhrase(msgspec.Struct, rename="camel"):
    text: str | None = None
    channel: int | None = None
    speaker: int | None = None
    offset_milliseconds: float | None = None
    duration_milliseconds: float | None = None
    offset: float | str | None = None
    duration: float | str | None = None
    offset_in_ticks: float | None = None
    duration_in_ticks: float | None = None
    confidence: float | None = None
    locale: str | None = None
    n_best: Sequence[_AzureText] | None = msgspec.field(default=None, name="nBest")


class Azure(msgspec.Struct, rename="camel"):
    """The fields of an Azure Speech fast or batch transcription that are read."""

    phrases: Sequence[_AzurePhrase] = ()
    recognized_phrases: Sequence[_AzurePhrase] = ()


def is_azure(source: Source) -> bool:
    """Whether the file has `combinedPhrases`, or `recognizedPhrases` of a batch."""
    value = source.json
    if not isinstance(value, dict):
        return False
    combined = {"combinedPhrases", "combinedRecognizedPhrases", "recognizedPhrases"} & value.keys()
    return bool(combined) and bool({"phrases", "recognizedPhrases"} & value.keys())


def read_azure(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of an Azure file; each channel or each numbered speaker is a speaker."""
    file = convert(source.json, Azure, source.name)
    key = "phrases" if file.phrases else "recognizedPhrases"
    phrases = file.phrases or file.recognized_phrases
    has_channels = len({one.channel for one in phrases if one.channel is not None}) > 1
    turns = [
        _azure_turn(one, has_channels, f"$.{key}[{number}]") for number, one in enumerate(phrases)
    ]
    lang = next((one.locale for one in phrases if one.locale), None)
    yield from build_conversation("azure", turns, CallDetails(lang=lang), context)


def _azure_turn(phrase: _AzurePhrase, has_channels: bool, path: str) -> RawTurn:
    best = phrase.n_best[0] if phrase.n_best else _AzureText()
    start = _azure_time(phrase.offset_milliseconds, phrase.offset_in_ticks, phrase.offset)
    length = _azure_time(phrase.duration_milliseconds, phrase.duration_in_ticks, phrase.duration)
    label = f"channel {phrase.channel}" if has_channels else _speaker_label(phrase.speaker)
    return RawTurn(
        label,
        phrase.text or best.display,
        start,
        None if start is None or length is None else start + length,
        phrase.confidence if phrase.confidence is not None else best.confidence,
        source=path,
    )


def _azure_time(
    millis: float | None, ticks: float | None, plain: float | str | None
) -> float | None:
    """The seconds of milliseconds, of ticks, or of `offset` and `duration` of older files."""
    if millis is not None:
        return millis / 1000
    if ticks is not None:
        return ticks / TICKS_PER_SECOND
    if isinstance(plain, str):
        return parse_duration(plain)
    return None if plain is None else plain / 1000
