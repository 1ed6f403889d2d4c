"""The scorecard as JSON: full precision, no clock, so that the same results give the same bytes."""

from __future__ import annotations

import msgspec

from callscore.core.scorecard import Scorecard


def scorecard_json(card: Scorecard) -> bytes:
    """The Scorecard, indented, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n"
