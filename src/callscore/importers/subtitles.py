"""WebVTT and SRT files, read by webvtt-py; voices from `<v …>` tags or from `Agent: …`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from callscore.core.errors import DataError
from callscore.importers.assemble import Context, Details, assemble
from callscore.importers.conversation import Imported, RawTurn
from callscore.importers.labelled_text import labelled_turns
from callscore.importers.source import Source, missing_extra

_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG = re.compile(r"</?(?:[cibu]|ruby|rt|lang|v)(?:[.\s][^>]*)?>|<\d[\d:.]*>")
_SRT_TIME = re.compile(r"\d{1,2}:\d{2}:\d{2}[,.]\d{1,3}\s+-->\s+\d{1,2}:\d{2}:\d{2}[,.]\d{1,3}")


def is_subtitles(source: Source) -> bool:
    """`WEBVTT` on the first line, or a time range of SRT among the first lines."""
    if source.is_archive or source.json is not None:
        return False
    head = source.text[:2000]
    return head.lstrip().startswith("WEBVTT") or _SRT_TIME.search(head) is not None


def read_subtitles(source: Source, context: Context) -> Imported:
    """The call of a subtitle file; a cue may hold several voices."""
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
        for turn in _turns(cue.raw_text, _clock(cue.start), _clock(cue.end), f"cue {number}")
    ]
    yield from assemble("webvtt" if is_vtt else "srt", _joined(turns), Details(), context)


def _clock(text: str) -> float:
    hours, minutes, seconds = text.replace(",", ".").rsplit(":", 2)
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _turns(raw: str, start: float, end: float, where: str) -> Iterator[RawTurn]:
    """The voices of a cue: by tags, else by labels, else one without a name."""
    parts = _VOICE.split(raw)
    if len(parts) > 1:
        if parts[0].strip():
            yield RawTurn("", _plain(parts[0]), start, end, source=where)
        for voice, text in zip(parts[1::2], parts[2::2], strict=True):
            yield RawTurn(_plain(voice), _plain(text), start, end, source=where)
        return
    text = _plain(raw)
    labelled = [found for found in labelled_turns(text) if isinstance(found, RawTurn)]
    first = text.lstrip()
    if labelled and first.startswith(labelled[0].label):
        for turn in labelled:
            yield RawTurn(turn.label, turn.text, start, end, source=where)
        return
    yield RawTurn("", text, start, end, source=where)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _joined(turns: list[RawTurn]) -> Iterator[RawTurn]:
    """A cue without a voice continues the one before it, as it does on a screen."""
    held: RawTurn | None = None
    for turn in turns:
        if held is not None and not turn.label and held.label:
            text = f"{held.text} {turn.text}"
            held = RawTurn(held.label, text, held.start, turn.end, source=held.source)
            continue
        if held is not None:
            yield held
        held = turn
    if held is not None:
        yield held
