"""Scorecards and comparisons as JSON.

Full precision and no timestamps: equal results give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from callscore.core.comparison import Comparison
from callscore.core.scorecard import Scorecard
from callscore.report.safe_text import escape_json
from callscore.report.source import ReportFormat, ReportOptions, ReportSource


def scorecard_json(card: Scorecard) -> bytes:
    """Return the scorecard, indented, with a final newline."""
    shown = card.without_times() if card.documents else card
    return escape_json(msgspec.json.format(msgspec.json.encode(shown), indent=1)) + b"\n"


def comparison_json(comparison: Comparison) -> Iterator[bytes]:
    """Yield a comparison; its cases one by one, as they may be many."""
    no_case = b'"cases": []'
    before, after = _indented(msgspec.structs.replace(comparison, cases=())).split(no_case)
    yield before
    opening = no_case[:-1]
    for change in comparison.cases:
        yield opening + b"\n    " + _indented(change).replace(b"\n", b"\n    ")
        opening = b","
    yield (no_case if opening != b"," else b"\n  ]") + after + b"\n"


def _indented(value: msgspec.Struct) -> bytes:
    return escape_json(msgspec.json.format(msgspec.json.encode(value), indent=2))


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the scorecard as `--json` writes it, with scenarios under `orchestration` (C-121)."""
    yield scorecard_json(source.card)


FORMAT = ReportFormat("json", ".json", "the scorecard as `--json` writes it", write)
