"""Builds the requests of one model: bytes, and the cache key."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from callscore.core.case import Prompt
from callscore.core.provider import ProviderRequest
from callscore.providers.wire_format import WireFormat

if TYPE_CHECKING:
    from yarl import URL

KEY_BYTES = 32
BYTES_A_TOKEN_ASCII = 4
BYTES_A_TOKEN_OTHER = 3


class Requests:
    """Builds requests in a wire format. It needs neither an API key nor a connection."""

    def __init__(self, model: str, wire_format: WireFormat, url: URL) -> None:
        self._model = model
        self._dialect = wire_format
        # Host, path and query: the part of the address that identifies the model.
        address = f"{url.host_port_subcomponent or ''}{url.raw_path_qs}"
        self._identity = "\0".join((wire_format.kind, address, model, "")).encode()

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt, with the cache key."""
        fields = self._dialect.body(prompt)
        body = msgspec.json.encode(fields)
        key = blake2b(self._identity, digest_size=KEY_BYTES)
        key.update(body)
        key.update(b"\0%d" % repeat)
        return ProviderRequest(
            key.digest(),
            self._model,
            body,
            estimate_tokens(body),
            self._dialect.max_output_tokens(fields),
            prompt,
        )


def estimate_tokens(body: bytes) -> int:
    """About four bytes per token in ASCII text, three otherwise; an estimate, not for the cost."""
    return len(body) // (BYTES_A_TOKEN_ASCII if body.isascii() else BYTES_A_TOKEN_OTHER) + 1
