"""Rate-limit headers: Retry-After, and what is left of a limit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_DURATION = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_VALUE = 64


class LimitHeaders(NamedTuple):
    """The names of a provider's rate-limit headers."""

    requests_left: str
    tokens_left: str
    requests_reset: str
    tokens_reset: str


class RemainingQuota(NamedTuple):
    """What is left of a rate limit, if the provider says so."""

    requests: int | None = None
    tokens: int | None = None
    reset_s: float | None = None
    """Until requests are allowed again if none is left, else until all tokens are available."""


NO_LIMITS = RemainingQuota()


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After, uncapped (the engine caps them); None if there is none."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None:
        reported = _number(milliseconds)
        if reported is not None:
            return reported / 1000
    retry_after = headers.get("retry-after")
    if retry_after is None:
        return None
    seconds = _number(retry_after)
    return seconds if seconds is not None else _until(retry_after, headers.get("date"))


def left(headers: Mapping[str, str], names: LimitHeaders) -> RemainingQuota:
    """The limits in the headers of a response."""
    requests, tokens = headers.get(names.requests_left), headers.get(names.tokens_left)
    if requests is None and tokens is None:
        return NO_LIMITS
    requests_left, tokens_left = _count(requests), _count(tokens)
    first, second = names.tokens_reset, names.requests_reset
    if requests_left == 0 or tokens_left is None:
        first, second = second, first
    reset = headers.get(first) or headers.get(second)
    return RemainingQuota(
        requests_left, tokens_left, _reset(reset, headers.get("date")) if reset else None
    )


def duration_s(text: str) -> float | None:
    """Seconds in a duration such as `1.5s`, `6m0s` or `20ms`."""
    parts = _DURATION.findall(text) if len(text) <= _LONGEST_VALUE else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _reset(text: str, date: str | None) -> float | None:
    seconds = _number(text)
    if seconds is None:
        seconds = duration_s(text)
    return seconds if seconds is not None else _until(text, date)


def _number(text: str) -> float | None:
    try:
        value = float(text) if len(text) <= _LONGEST_VALUE else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    value = _number(text)
    return None if value is None else int(value)


def _until(text: str, date: str | None) -> float | None:
    """Seconds until a point in time, by the server's own clock if it sends one."""
    then = _moment(text)
    if then is None:
        return None
    now = _moment(date) if date else None
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())


def _moment(text: str) -> datetime | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text) if len(text) <= _LONGEST_VALUE else None
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        if moment is not None:
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
