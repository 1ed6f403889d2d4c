"""Records as JSON lines in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.report.safe_text import escape_json


class LineBuffer:
    """JSON lines in which everything is escaped that may control a terminal."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode_into
        self._lines = bytearray()

    def __len__(self) -> int:
        return len(self._lines)

    def __call__(self, record: msgspec.Struct | Mapping[str, Any]) -> None:
        """Append a record."""
        self._encode(record, self._lines, -1)
        self._lines += b"\n"

    def take(self) -> bytes:
        """The lines so far; the buffer is then empty."""
        lines, self._lines = self._lines, bytearray()
        return escape_json(lines)
