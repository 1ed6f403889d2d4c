"""The requests of one model that go into jobs: their bodies on disk, and those of the next job."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

from callscore.core.batch import BatchItem, BatchLimits
from callscore.core.provider import ProviderRequest

LINE_BYTES = 200
"""What a line has besides the body of the request, at most."""


class _Body(NamedTuple):
    """Where the body of a request is in the file, and what the engine knows of it."""

    offset: int
    length: int
    input_tokens: int
    max_output_tokens: int


class RequestBodies:
    """The bodies of requests in a temporary file: a job may be larger than the memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._bodies: dict[bytes, _Body] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._bodies

    def keep(self, request: ProviderRequest, body: bytes) -> None:
        """Write the body of a request, as it goes into a job."""
        offset = self._file.seek(0, 2)
        self._file.write(body)
        sizes = request.input_tokens, request.max_output_tokens
        self._bodies[request.key] = _Body(offset, len(body), *sizes)

    def read(self, key: bytes) -> bytes:
        """The body of a request."""
        kept = self._bodies[key]
        self._file.seek(kept.offset)
        return self._file.read(kept.length)

    def line_bytes(self, key: bytes) -> int:
        """The size of a request as a line of a job, at most."""
        return self._bodies[key].length + LINE_BYTES

    def request(self, key: bytes, model: str) -> ProviderRequest:
        """A request as it is sent live."""
        kept = self._bodies[key]
        sizes = kept.input_tokens, kept.max_output_tokens
        return ProviderRequest(key, model, self.read(key), *sizes)


class NextJob:
    """The requests of the next job, with their bytes and their cost."""

    def __init__(self, limits: BatchLimits, bodies: RequestBodies) -> None:
        self._limits = limits
        self._bodies = bodies
        self._bytes = 0
        self._items: list[BatchItem] = []
        self.usd = 0.0
        """The most that they may cost."""

    def __bool__(self) -> bool:
        return bool(self._items)

    def has_room(self, item: BatchItem) -> bool:
        """Whether the vendor accepts a request besides the others."""
        is_full = len(self._items) >= self._limits.requests
        return not is_full and self._bytes + self._line_bytes(item) <= self._limits.bytes

    def add(self, item: BatchItem) -> None:
        """Add a request."""
        self._items.append(item)
        self._bytes += self._line_bytes(item)
        self.usd += item.most_usd

    def take(self, most: int | None = None) -> Sequence[BatchItem]:
        """Take the first requests out, all by default."""
        items = self._items[:most]
        self._items = self._items[len(items) :]
        self._bytes = sum(map(self._line_bytes, self._items))
        self.usd = math.fsum(item.most_usd for item in self._items)
        return items

    def _line_bytes(self, item: BatchItem) -> int:
        return self._bodies.line_bytes(item.key)
