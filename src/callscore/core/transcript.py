"""Transcripts: a string or an array of turns (C-122)."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.case import Turn
from callscore.core.lazy_regex import lazy_regex

_PREFIX = lazy_regex(
    r"\s*(?:\[(?:(\d{1,3}):)?(\d{1,3}):(\d{2})(?:\.\d+)?\]\s*)?"  # [hh:mm:ss] or [mm:ss]
    r"(?:([^\W\d_][^:\n]{0,38}):\s+)?"  # Speaker:
)


def turns(transcript: str | Sequence[Turn]) -> Sequence[Turn]:
    """The turns of a transcript; a string gives one turn for each non-empty line."""
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


def spoken_text(transcript: str | Sequence[Turn]) -> str:
    """The text of all turns, one per line, without speakers, times and ids."""
    return "\n".join(turn.text for turn in turns(transcript))
