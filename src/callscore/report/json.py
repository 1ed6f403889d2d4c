"""The scorecard as JSON: full precision and no timestamps, so equal results give equal bytes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.report.safe_text import escape_json
from callscore.report.source import ReportFormat, ReportOptions, ReportSource


def scorecard_json(card: Scorecard) -> bytes:
    """Return the scorecard, indented, with a final newline."""
    return escape_json(msgspec.json.format(msgspec.json.encode(card), indent=1)) + b"\n"


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the scorecard as `--json` writes it, with scenarios under `orchestration` (C-121)."""
    if not source.documents:
        yield scorecard_json(source.card)
        return
    card = msgspec.to_builtins(source.card)
    joint = msgspec.json.encode({**card, "orchestration": source.documents})
    yield escape_json(msgspec.json.format(joint, indent=1)) + b"\n"


FORMAT = ReportFormat("json", ".json", "the scorecard as `--json` writes it", write)
