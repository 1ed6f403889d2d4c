"""Times of other systems as seconds, and words with times joined to turns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta

import msgspec

from callscore.importers.conversation import RawTurn

_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[.,](\d{1,6}))?")
_ISO_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")


def parse_date(text: str | None) -> float | None:
    """The seconds since the epoch of an ISO 8601 date; None for any other text."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def parse_clock(text: str) -> float | None:
    """The seconds of `mm:ss` or `hh:mm:ss`, with or without a fraction; None for any other text."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups()
    part = float(f"0.{fraction}") if fraction else 0.0
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + part


def parse_duration(text: str | None) -> float | None:
    """The seconds of an ISO 8601 duration such as `PT1M2.5S`; None for any other text."""
    match = _ISO_DURATION.fullmatch(text or "")
    if match is None:
        return None
    hours, minutes, seconds = match.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)


def milliseconds(value: float | None) -> float | None:
    """The seconds of a number of milliseconds; None of none."""
    return None if value is None else value / 1000


def parse_cell_time(value: object) -> float | None:
    """The seconds of a cell: a number of seconds, a clock time, a date or a duration."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    text = str(value).strip()
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        seconds = parse_clock(text)
        return parse_date(text) if seconds is None else seconds
    return number if math.isfinite(number) else None


MAX_PAUSE = 1.5
"""Seconds after which words without a speaker begin another turn."""


class TimedWord(msgspec.Struct, frozen=True):
    """A word or punctuation mark of a speech recogniser."""

    text: str
    speaker: str
    start: float | None
    end: float | None
    confidence: float | None = None
    attached: bool = False
    """Whether it follows the previous word without a space, as punctuation does."""


def join_words(words: Iterable[TimedWord], source: str) -> Iterator[RawTurn]:
    """One turn for consecutive words of one speaker; without speakers, up to a pause."""
    current: list[TimedWord] = []
    for word in words:
        if current and not word.attached and _begins_turn(word, current[-1], current[0].speaker):
            yield _turn(current, source)
            current = []
        current.append(word)
    if current:
        yield _turn(current, source)


def _begins_turn(word: TimedWord, last: TimedWord, speaker: str) -> bool:
    if word.speaker != speaker:
        return True
    if speaker or word.start is None or last.end is None:
        return False
    return word.start - last.end > MAX_PAUSE


def _turn(words: list[TimedWord], source: str) -> RawTurn:
    text = "".join(word.text if word.attached else f" {word.text}" for word in words)
    known = [word.confidence for word in words if word.confidence is not None]
    ends = [word.end for word in words if word.end is not None]
    return RawTurn(
        words[0].speaker,
        text,
        start=next((word.start for word in words if word.start is not None), None),
        end=ends[-1] if ends else None,
        confidence=round(math.fsum(known) / len(known), 4) if known else None,
        source=source,
    )
