"""Parses times of other systems as seconds: clock times, dates, durations, cells."""

from __future__ import annotations

import math
import re
from datetime import datetime, time, timedelta

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
