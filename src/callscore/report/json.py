"""The scorecard as JSON: full precision and no timestamps, so equal results give equal bytes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.report.safe_text import escape_json
from callscore.report.source import ReportFormat, ReportOptions, ReportSource


def scorecard_json(card: Scorecard) -> bytes:
    """Return the scorecard, indented, with a final newline."""
    shown = card.without_times() if card.documents else card
    return escape_json(msgspec.json.format(msgspec.json.encode(shown), indent=1)) + b"\n"


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the scorecard as `--json` writes it, with scenarios under `orchestration` (C-121)."""
    yield scorecard_json(source.card)


FORMAT = ReportFormat("json", ".json", "the scorecard as `--json` writes it", write)
