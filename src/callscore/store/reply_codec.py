"""A reply as bytes, with a checksum that detects changes on disk."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import msgspec

from callscore.core.case import Reply, ToolCall
from callscore.store.connection import Unreadable


class _Kept(msgspec.Struct, omit_defaults=True):
    """The fields of a reply; new ones are appended with a default, so that old journals can be
    read.
    """

    text: Any
    """Text or bytes: MessagePack distinguishes them."""
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    asked_as: str | None = None
    latency_ms: float | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Kept).decode


def to_bytes(reply: Reply) -> bytes:
    """The reply in MessagePack."""
    return _encode(
        _Kept(
            reply.text,
            reply.finish_reason,
            reply.input_tokens,
            reply.output_tokens,
            reply.cost_usd,
            tuple(reply.tool_calls),
            reply.model,
            reply.asked_as,
            reply.latency_ms,
        )
    )


def from_bytes(raw: bytes) -> Reply:
    """The reply in these bytes; raises Unreadable."""
    try:
        kept = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise Unreadable(f"an answer cannot be read: {error}") from None
    cost = kept.cost_usd
    if not isinstance(kept.text, str | bytes) or not (cost is None or 0 <= cost < math.inf):
        raise Unreadable("an answer is no text, or its cost no amount of money")
    return Reply(
        kept.text,
        kept.finish_reason,
        kept.input_tokens,
        kept.output_tokens,
        kept.cost_usd,
        kept.tool_calls,
        kept.model,
        kept.asked_as,
        kept.latency_ms,
    )


def checksum(key: bytes, raw: bytes) -> int:
    """Detects a reply that has changed since it was stored."""
    return crc32(raw, crc32(key))
