"""A reply as bytes and back, with a checksum that tells whether the disk has changed it."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import msgspec

from callscore.core.case import Reply, ToolCall


class _Kept(msgspec.Struct, omit_defaults=True):
    """The fields of a reply; new ones are appended with a default, so that old journals read."""

    text: Any
    """Text or bytes: MessagePack tells them apart."""
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    asked_as: str | None = None


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
        )
    )


def from_bytes(raw: bytes) -> Reply:
    """The reply that was written."""
    kept = _decode(raw)
    return Reply(
        kept.text,
        kept.finish_reason,
        kept.input_tokens,
        kept.output_tokens,
        kept.cost_usd,
        kept.tool_calls,
        kept.model,
        kept.asked_as,
    )


def checksum(key: bytes, raw: bytes) -> int:
    """Tells an answer as it was kept from one that has changed since."""
    return crc32(raw, crc32(key))
