"""The scorecard as JSON: full precision, no clock, so that the same results give the same bytes."""

from __future__ import annotations

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.report.safe_text import escaped


def scorecard_json(card: Scorecard) -> bytes:
    """The Scorecard, indented, with a final newline."""
    return escaped(msgspec.json.format(msgspec.json.encode(card), indent=1)) + b"\n"
