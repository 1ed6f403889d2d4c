"""Speech recognisers: Deepgram, AssemblyAI, Whisper and WhisperX, Azure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from callscore.importers.assemble import Context, Details, assemble
from callscore.importers.conversation import Imported, RawTurn
from callscore.importers.source import Source, typed
from callscore.importers.times import duration_seconds
from callscore.importers.words import TimedWord, turns_of_words

TICKS = 10_000_000
"""Of 100 nanoseconds, a second."""
ONE_TURN = "the file names no speakers: its turns have no role"


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


class _DeepgramAbout(msgspec.Struct):
    request_id: str | None = None
    channels: int | None = None


class Deepgram(msgspec.Struct):
    """A Deepgram response, as far as it is read."""

    results: _DeepgramResults
    metadata: _DeepgramAbout | None = None


def is_deepgram(source: Source) -> bool:
    """`results.channels` or `results.utterances`."""
    value = source.json
    results = value.get("results") if isinstance(value, dict) else None
    return isinstance(results, dict) and bool({"channels", "utterances"} & results.keys())


def read_deepgram(source: Source, context: Context) -> Imported:
    """The call of a Deepgram response: utterances, else paragraphs, else words."""
    file = typed(source.json, Deepgram, source.name)
    results = file.results
    several = len(results.channels) > 1
    turns = list(_deepgram_turns(results, several=several))
    lang = next((one.detected_language for one in results.channels if one.detected_language), None)
    about = file.metadata or _DeepgramAbout()
    yield from assemble("deepgram", turns, Details(about.request_id or "", lang), context)


def _deepgram_turns(results: _DeepgramResults, *, several: bool) -> Iterator[RawTurn]:
    if results.utterances:
        for number, one in enumerate(results.utterances):
            label = f"channel {one.channel}" if several else _numbered(one.speaker)
            path = f"$.results.utterances[{number}]"
            text = one.transcript or ""
            yield RawTurn(label, text, one.start, one.end, one.confidence, source=path)
        return
    words: list[TimedWord] = []
    for number, channel in enumerate(results.channels):
        best = channel.alternatives[0] if channel.alternatives else _DeepgramText()
        path = f"$.results.channels[{number}]"
        if best.paragraphs and best.paragraphs.paragraphs and not several:
            yield from _paragraphs(best.paragraphs.paragraphs, path)
        elif best.words:
            label = f"channel {number}" if several else ""
            words += [_word(word, label) for word in best.words]
        elif best.transcript:
            yield RawTurn(f"channel {number}" if several else "", best.transcript, source=path)
    yield from turns_of_words(sorted(words, key=lambda word: word.start or 0.0), "$.results")


def _paragraphs(paragraphs: Sequence[_Paragraph], path: str) -> Iterator[RawTurn]:
    for number, one in enumerate(paragraphs):
        text = " ".join(sentence.text for sentence in one.sentences)
        where = f"{path}.alternatives[0].paragraphs.paragraphs[{number}]"
        yield RawTurn(_numbered(one.speaker), text, one.start, one.end, source=where)


def _word(word: _DeepgramWord, label: str) -> TimedWord:
    text = word.punctuated_word or word.word
    speaker = label or _numbered(word.speaker)
    return TimedWord(text, speaker, word.start, word.end, word.confidence)


def _numbered(speaker: int | str | None) -> str:
    return "" if speaker is None else f"speaker {speaker}"


class _Spoken(msgspec.Struct):
    speaker: str | int | None = None
    text: str | None = None
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    channel: str | int | None = None


class _Feeling(msgspec.Struct):
    sentiment: str = ""
    start: float | None = None
    end: float | None = None


class AssemblyAI(msgspec.Struct):
    """An AssemblyAI transcript, as far as it is read."""

    id: str | None = None
    text: str | None = None
    language_code: str | None = None
    utterances: Sequence[_Spoken] | None = None
    sentiment_analysis_results: Sequence[_Feeling] | None = None


def is_assemblyai(source: Source) -> bool:
    """`utterances`, or `text` with the keys that only AssemblyAI writes."""
    value = source.json
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("utterances"), list):
        return True
    return "text" in value and bool({"audio_url", "acoustic_model", "speech_model"} & value.keys())


def read_assemblyai(source: Source, context: Context) -> Imported:
    """The call of an AssemblyAI transcript; a turn has the sentiment of its first sentence."""
    file = typed(source.json, AssemblyAI, source.name)
    feelings = file.sentiment_analysis_results or ()
    turns = [
        RawTurn(
            "" if one.speaker is None else str(one.speaker),
            one.text or "",
            _millis(one.start),
            _millis(one.end),
            one.confidence,
            _feeling(feelings, one),
            source=f"$.utterances[{number}]",
        )
        for number, one in enumerate(file.utterances or ())
    ]
    notes = () if turns else (ONE_TURN,)
    turns = turns or [RawTurn("", file.text or "", source="$.text")]
    details = Details(file.id or "", file.language_code, notes=notes)
    yield from assemble("assemblyai", turns, details, context)


def _feeling(feelings: Sequence[_Feeling], spoken: _Spoken) -> str | None:
    for one in feelings:
        inside = one.start is not None and spoken.start is not None and spoken.end is not None
        if inside and spoken.start <= one.start < spoken.end:  # type: ignore[operator]
            return one.sentiment.lower() or None
    return None


def _millis(value: float | None) -> float | None:
    return None if value is None else value / 1000


class _Segment(msgspec.Struct):
    text: str | None = None
    start: float | None = None
    end: float | None = None
    speaker: str | int | None = None


class Whisper(msgspec.Struct):
    """A Whisper or WhisperX file, as far as it is read."""

    segments: Sequence[_Segment]
    language: str | None = None


def is_whisper(source: Source) -> bool:
    """`segments` with `start`, `end` and `text`."""
    value = source.json
    segments = value.get("segments") if isinstance(value, dict) else None
    return isinstance(segments, list) and any(
        isinstance(one, dict) and {"start", "end", "text"} <= one.keys() for one in segments[:5]
    )


def read_whisper(source: Source, context: Context) -> Imported:
    """The call of a Whisper file: a segment a turn; plain Whisper names no speakers."""
    file = typed(source.json, Whisper, source.name)
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
    notes = () if any(turn.label for turn in turns) else (ONE_TURN,)
    details = Details(lang=file.language, notes=notes)
    yield from assemble("whisper", turns, details, context)


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
    """A fast or batch transcription of Azure Speech, as far as it is read."""

    phrases: Sequence[_AzurePhrase] = ()
    recognized_phrases: Sequence[_AzurePhrase] = ()


def is_azure(source: Source) -> bool:
    """`combinedPhrases`, or `recognizedPhrases` of a batch."""
    value = source.json
    if not isinstance(value, dict):
        return False
    combined = {"combinedPhrases", "combinedRecognizedPhrases", "recognizedPhrases"} & value.keys()
    return bool(combined) and bool({"phrases", "recognizedPhrases"} & value.keys())


def read_azure(source: Source, context: Context) -> Imported:
    """The call of an Azure file; speakers by number, else channels."""
    file = typed(source.json, Azure, source.name)
    key = "phrases" if file.phrases else "recognizedPhrases"
    phrases = file.phrases or file.recognized_phrases
    several = len({one.channel for one in phrases if one.channel is not None}) > 1
    turns = [_azure_turn(one, several, f"$.{key}[{number}]") for number, one in enumerate(phrases)]
    lang = next((one.locale for one in phrases if one.locale), None)
    yield from assemble("azure", turns, Details(lang=lang), context)


def _azure_turn(phrase: _AzurePhrase, several: bool, path: str) -> RawTurn:
    best = phrase.n_best[0] if phrase.n_best else _AzureText()
    start = _azure_time(phrase.offset_milliseconds, phrase.offset_in_ticks, phrase.offset)
    length = _azure_time(phrase.duration_milliseconds, phrase.duration_in_ticks, phrase.duration)
    label = f"channel {phrase.channel}" if several else _numbered(phrase.speaker)
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
    """Milliseconds, ticks, or the older form: milliseconds as a number, a duration as a text."""
    if millis is not None:
        return millis / 1000
    if ticks is not None:
        return ticks / TICKS
    if isinstance(plain, str):
        return duration_seconds(plain)
    return None if plain is None else plain / 1000
