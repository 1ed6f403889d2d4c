"""Transcripts of speech recognition: Deepgram, AssemblyAI, Whisper, Azure Speech, Speechmatics."""

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
from callscore.importers.source_file import Source, convert, has_items, has_record, read_records
from callscore.importers.times import TimedWord, join_words, milliseconds, parse_duration

TICKS_PER_SECOND = 10_000_000
"""Azure counts in ticks of 100 nanoseconds (its page "Get speech recognition results")."""
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


class _AssemblyAIPart(msgspec.Struct):
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
    """The fields of an AssemblyAI transcript, or of its sentences or paragraphs, that are read."""

    id: str | None = None
    status: str | None = None
    error: str | None = None
    audio_url: str | None = None
    text: str | None = None
    language_code: str | None = None
    utterances: Sequence[_AssemblyAIPart] | None = None
    sentences: Sequence[_AssemblyAIPart] | None = None
    paragraphs: Sequence[_AssemblyAIPart] | None = None
    words: Sequence[_AssemblyAIPart] | None = None
    sentiment_analysis_results: Sequence[_Sentiment] | None = None


_ASSEMBLYAI_KEYS = frozenset(("audio_url", "acoustic_model", "speech_model", "speech_models",
                              "language_model", "language_code", "audio_duration"))  # fmt: skip
DELETED = "deleted by user"
"""A deleted transcript stays `completed`: its text is "Deleted by user.", and so is its URL
(assemblyai.com/docs/pre-recorded-audio/delete-transcripts)."""


def is_assemblyai(source: Source) -> bool:
    """Whether the file has a transcript of AssemblyAI, or the sentences or paragraphs of one."""
    return has_record(source, _is_assemblyai_record)


def _is_assemblyai_record(value: Mapping[str, Any]) -> bool:
    if any(has_items(value.get(key), "text", "start", "end", "words", "confidence")
           for key in ("utterances", "sentences", "paragraphs")):  # fmt: skip
        return True
    if not value.keys() & _ASSEMBLYAI_KEYS:
        return False
    is_whole = "text" in value and bool(_ASSEMBLYAI_KEYS - {"language_code"} & value.keys())
    return is_whole or isinstance(value.get("utterances"), list)


def read_assemblyai(source: Source, context: ImportContext) -> ImportIterator:
    """Read the calls of AssemblyAI: utterances, else sentences, paragraphs, words or the text."""
    for record in read_records(source, _is_assemblyai_record, AssemblyAI):
        if isinstance(record, SkippedPart):
            yield record
            continue
        path, file = record
        where = f"{source.name}: {path}"
        if DELETED in f"{file.text} {file.audio_url}".casefold().replace("_", " "):
            yield SkippedPart(where, "a transcript that was deleted by its user")
            continue
        if file.status in ("error", "queued", "processing"):
            reason = f": {file.error}" if file.error else ""
            yield SkippedPart(where, f"a transcript with the status {file.status!r}{reason}")
            continue
        turns = list(_assemblyai_turns(file, path))
        notes = [] if any(turn.label for turn in turns) else [NO_SPEAKERS]
        details = CallDetails(file.id or "", file.language_code, notes=notes)
        yield from build_conversation("assemblyai", turns, details, context)


def _assemblyai_turns(file: AssemblyAI, path: str) -> Iterator[RawTurn]:
    sentiments = file.sentiment_analysis_results or ()
    for key in ("utterances", "sentences", "paragraphs"):
        parts: Sequence[_AssemblyAIPart] = getattr(file, key) or ()
        for number, one in enumerate(parts):
            yield RawTurn(
                _assemblyai_label(one),
                one.text or "",
                milliseconds(one.start),
                milliseconds(one.end),
                one.confidence,
                _first_sentiment(sentiments, one),
                source=f"{path}.{key}[{number}]",
            )
        if parts:
            return
    words = [
        TimedWord(one.text or "", _assemblyai_label(one), milliseconds(one.start),
                  milliseconds(one.end), one.confidence)
        for one in file.words or ()
    ]  # fmt: skip
    yield from join_words(words, f"{path}.words")
    if not words:
        yield RawTurn("", file.text or "", source=f"{path}.text")


def _assemblyai_label(part: _AssemblyAIPart) -> str:
    if part.speaker is not None:
        return str(part.speaker)
    return "" if part.channel is None else f"channel {part.channel}"


def _first_sentiment(sentiments: Sequence[_Sentiment], spoken: _AssemblyAIPart) -> str | None:
    for one in sentiments:
        inside = one.start is not None and spoken.start is not None and spoken.end is not None
        if inside and spoken.start <= one.start < spoken.end:  # type: ignore[operator]
            return one.sentiment.lower() or None
    return None


class _Offsets(msgspec.Struct, rename={"start": "from", "end": "to"}):
    start: float | None = None
    end: float | None = None


class _Segment(msgspec.Struct):
    text: str | None = None
    start: float | None = None
    end: float | None = None
    speaker: str | int | None = None
    offsets: _Offsets | None = None


class _WhisperResult(msgspec.Struct):
    language: str | None = None


class Whisper(msgspec.Struct):
    """The fields of a file of Whisper, WhisperX, whisper.cpp or OpenAI that are read."""

    segments: Sequence[_Segment] | None = None
    transcription: Sequence[_Segment] | None = None
    text: str | None = None
    language: str | None = None
    result: _WhisperResult | None = None


_WHISPER_TEXT_KEYS = frozenset(
    ("text", "language", "duration", "task", "usage", "words", "logprobs")
)


def is_whisper(source: Source) -> bool:
    """Whether the file has segments with times, those of whisper.cpp, or only OpenAI's `text`."""
    value = source.json
    if not isinstance(value, dict):
        return False
    if has_items(value.get("segments"), "start", "end", "text"):
        return True
    if has_items(value.get("transcription"), "offsets", "text"):
        return True
    return isinstance(value.get("text"), str) and value.keys() <= _WHISPER_TEXT_KEYS


def read_whisper(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Whisper file, one turn per segment; most of them name no speakers."""
    file = convert(source.json, Whisper, source.name)
    key = "segments" if file.segments is not None else "transcription"
    turns = [
        RawTurn(
            "" if one.speaker is None else str(one.speaker),
            one.text or "",
            milliseconds(one.offsets.start) if one.offsets else one.start,
            milliseconds(one.offsets.end) if one.offsets else one.end,
            source=f"$.{key}[{number}]",
        )
        for number, one in enumerate(file.segments or file.transcription or ())
    ]
    turns = turns or [RawTurn("", file.text or "", source="$.text")]
    notes = () if any(turn.label for turn in turns) else (NO_SPEAKERS,)
    lang = file.language or (file.result.language if file.result else None)
    yield from build_conversation("whisper", turns, CallDetails(lang=lang, notes=notes), context)


class _SpeechmaticsWord(msgspec.Struct):
    content: str = ""
    confidence: float | None = None
    speaker: str | None = None
    language: str | None = None


class _SpeechmaticsResult(msgspec.Struct):
    alternatives: Sequence[_SpeechmaticsWord] | None = None
    type: str = "word"
    start_time: float | None = None
    end_time: float | None = None
    channel: str | None = None
    attaches_to: str | None = None


class _SpeechmaticsJob(msgspec.Struct):
    id: str | None = None


class Speechmatics(msgspec.Struct):
    """The fields of a Speechmatics transcript (`json-v2`) that are read."""

    results: Sequence[_SpeechmaticsResult]
    job: _SpeechmaticsJob | None = None
    metadata: Mapping[str, Any] | None = None


def is_speechmatics(source: Source) -> bool:
    """Whether the file has `results` of words with alternatives."""
    value = source.json
    results = value.get("results") if isinstance(value, dict) else None
    return has_items(results, "alternatives", "start_time", "type")


def read_speechmatics(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a Speechmatics file; words are joined to turns by speaker or channel."""
    file = convert(source.json, Speechmatics, source.name)
    config = (file.metadata or {}).get("transcription_config")
    lang = config.get("language") if isinstance(config, dict) else None
    words = []
    for one in file.results:
        best = one.alternatives[0] if one.alternatives else _SpeechmaticsWord()
        # UU is a speaker that was not identified
        speaker = best.speaker if best.speaker not in (None, "UU") else one.channel
        attached = one.type == "punctuation" and one.attaches_to != "next"
        words.append(TimedWord(best.content, speaker or "", one.start_time, one.end_time,
                               best.confidence, attached))  # fmt: skip
    if any(one.channel for one in file.results):
        words.sort(key=lambda word: word.start or 0.0)
    turns = list(join_words(words, "$.results"))
    notes = () if any(turn.label for turn in turns) else (NO_SPEAKERS,)
    details = CallDetails(
        (file.job.id if file.job else None) or "",
        lang if isinstance(lang, str) else None,
        notes=notes,
    )
    yield from build_conversation("speechmatics", turns, details, context)


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
        return milliseconds(millis)
    if ticks is not None:
        return ticks / TICKS_PER_SECOND
    if isinstance(plain, str):
        return parse_duration(plain)
    return milliseconds(plain)
