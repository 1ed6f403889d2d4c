"""Times of many systems as seconds: clock texts, dates, ticks."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[.,](\d{1,6}))?")
_ISO_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")


def date_seconds(text: str | None) -> float | None:
    """A date in ISO 8601 as seconds since the epoch; None if it is none."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def clock_seconds(text: str) -> float | None:
    """`mm:ss`, `hh:mm:ss`, with or without a fraction, as seconds."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hours, minutes, seconds, fraction = found.groups()
    part = float(f"0.{fraction}") if fraction else 0.0
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + part


def duration_seconds(text: str | None) -> float | None:
    """An ISO 8601 duration such as `PT1M2.5S` as seconds."""
    found = _ISO_DURATION.fullmatch(text or "")
    if found is None:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)


def cell_seconds(value: object) -> float | None:
    """A time in a table: a number of seconds, a clock text, a date, or a cell of time."""
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
        return float(text.replace(",", "."))
    except ValueError:
        return clock_seconds(text) or date_seconds(text)
