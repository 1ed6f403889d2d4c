"""WebVTT and SRT files; `<v …>` tags or labels such as `Agent: …` name the speakers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from callscore.core.errors import DataError
from callscore.importers.conversation import ImportIterator, RawTurn
from callscore.importers.conversation_builder import CallDetails, ImportContext, build_conversation
from callscore.importers.labelled_text import labelled_turns
from callscore.importers.source import Source, missing_extra

_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG = re.compile(r"</?(?:[cibu]|ruby|rt|lang|v)(?:[.\s][^>]*)?>|<\d[\d:.]*>")
_SRT_TIME = re.compile(r"\d{1,2}:\d{2}:\d{2}[,.]\d{1,3}\s+-->\s+\d{1,2}:\d{2}:\d{2}[,.]\d{1,3}")


def is_subtitles(source: Source) -> bool:
    """Whether the file begins with `WEBVTT`, or has an SRT time range near the beginning."""
    if source.is_archive or source.json is not None:
        return False
    head = source.text[:2000]
    return head.lstrip().startswith("WEBVTT") or _SRT_TIME.search(head) is not None


def read_subtitles(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a subtitle file; a cue can have several speakers."""
    try:
        import webvtt
        from webvtt.errors import MalformedCaptionError, MalformedFileError
    except ImportError:
        raise missing_extra("webvtt-py", "reading subtitles") from None
    is_vtt = source.text.lstrip().startswith("WEBVTT")
    try:
        if is_vtt:
            captions = webvtt.WebVTT.from_string(source.text.lstrip())
        else:
            from io import StringIO

            captions = webvtt.WebVTT.from_buffer(StringIO(source.text.lstrip()), format="srt")
    except (MalformedCaptionError, MalformedFileError) as error:
        raise DataError(f"cannot be read as subtitles: {error}", place=source.name) from None
    turns = [
        turn
        for number, cue in enumerate(captions.captions, start=1)
        for turn in _cue_turns(
            cue.raw_text, _seconds(cue.start), _seconds(cue.end), f"cue {number}"
        )
    ]
    yield from build_conversation(
        "webvtt" if is_vtt else "srt", _join_turns(turns), CallDetails(), context
    )


def _seconds(text: str) -> float:
    hours, minutes, seconds = text.replace(",", ".").rsplit(":", 2)
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _cue_turns(raw: str, start: float, end: float, where: str) -> Iterator[RawTurn]:
    """The turns of a cue: by voice tags, else by labels, else one without a speaker."""
    parts = _VOICE.split(raw)
    if len(parts) > 1:
        if parts[0].strip():
            yield RawTurn("", _strip_tags(parts[0]), start, end, source=where)
        for voice, text in zip(parts[1::2], parts[2::2], strict=True):
            yield RawTurn(_strip_tags(voice), _strip_tags(text), start, end, source=where)
        return
    text = _strip_tags(raw)
    labelled = [turn for turn in labelled_turns(text) if isinstance(turn, RawTurn)]
    if labelled and text.lstrip().startswith(labelled[0].label):
        for turn in labelled:
            yield RawTurn(turn.label, turn.text, start, end, source=where)
        return
    yield RawTurn("", text, start, end, source=where)


def _strip_tags(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _join_turns(turns: list[RawTurn]) -> Iterator[RawTurn]:
    """The turns, each joined with those without a speaker that follow it."""
    current: RawTurn | None = None
    for turn in turns:
        if current is not None and not turn.label and current.label:
            text = f"{current.text} {turn.text}"
            current = RawTurn(current.label, text, current.start, turn.end, source=current.source)
            continue
        if current is not None:
            yield current
        current = turn
    if current is not None:
        yield current
