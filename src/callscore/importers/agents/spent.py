"""What requests to a model took: time, tokens and cost, as recordings name them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

_INPUT = ("input_tokens", "inputTokens", "prompt_tokens", "promptTokenCount", "promptTokens",
          "prompt_token_count", "inputTokenCount", "input_token_count")  # fmt: skip
_OUTPUT = ("output_tokens", "completion_tokens", "candidatesTokenCount", "outputTokens",
           "completionTokens", "candidates_token_count", "outputTokenCount",
           "output_token_count")  # fmt: skip
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens_cache_read",
           "input_tokens_cache_write", "cacheReadInputTokens",
           "cacheWriteInputTokens")  # fmt: skip
"""What Anthropic, Bedrock and Inspect count in addition to the first two of `_INPUT`."""
_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count")
"""What Gemini counts in addition to its output tokens."""
_DIGITS = 17
"""The fewest digits of a time in nanoseconds."""


class Spent(NamedTuple):
    """Time, tokens and cost; None where they are not recorded."""

    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def as_json(self) -> dict[str, Any]:
        """What is known, with the keys of outputs files."""
        tokens = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return {
            **({} if None in tokens.values() else {"usage": tokens}),
            **({} if self.latency_ms is None else {"latency_ms": self.latency_ms}),
            **({} if self.cost_usd is None else {"cost_usd": self.cost_usd}),
        }


def add_spent(parts: Iterable[Spent]) -> Spent:
    """The sums; None where one part is unknown, or there is no part."""
    columns = list(zip(*parts, strict=True)) or [()] * len(Spent._fields)
    sums = [None if None in column or not column else math.fsum(column) for column in columns]
    time, *tokens, cost = sums
    read, written = (None if each is None else int(each) for each in tokens)
    return Spent(time, read, written, cost)


def spent_in(usage: Any, latency_ms: Any = None, cost_usd: Any = None) -> Spent:
    """What an API or a platform names under `usage`, with a time and a cost of other fields."""
    given: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    is_more = any(name in given for name in _INPUT[:2])
    read = _tokens(given, _INPUT, _CACHED if is_more else ())
    written = _tokens(given, _OUTPUT, _THOUGHTS)
    return Spent(_number(latency_ms), read, written, _number(cost_usd))


def in_milliseconds(seconds: Any) -> float | None:
    """A time in seconds as milliseconds; None for anything else."""
    number = _number(seconds)
    return None if number is None else number * 1000


def milliseconds(start: Any, end: Any) -> float | None:
    """The time between two moments: ISO 8601, or nanoseconds since 1970."""
    if _is_nanoseconds(start) and _is_nanoseconds(end):
        return (int(end) - int(start)) / 1_000_000
    try:
        begun, ended = (datetime.fromisoformat(str(each)) for each in (start, end))
        return (ended - begun).total_seconds() * 1000
    except (ValueError, TypeError):
        return None


def _is_nanoseconds(value: Any) -> bool:
    return str(value).isdecimal() and len(str(value)) >= _DIGITS


def _tokens(usage: Mapping[str, Any], names: Iterable[str], more: Iterable[str]) -> int | None:
    """The first count of these names, with those that the API counts in addition."""
    found = (_number(usage.get(name)) for name in names)
    count = next((number for number in found if number is not None), None)
    return None if count is None else int(count + sum(_number(usage.get(n)) or 0 for n in more))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value >= 0 else None
