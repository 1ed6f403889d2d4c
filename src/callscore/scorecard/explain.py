"""Names of the items that counted against a reply, for records: few, short, quoted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.case import Malformed
from callscore.core.task import Faults

MOST_NAMED = 5
LONGEST_NAMED = 100


def quote(text: str) -> str:
    """Untrusted text as a JSON string, cut if it is long."""
    cut = text if len(text) <= LONGEST_NAMED else text[:LONGEST_NAMED] + "…"
    return msgspec.json.encode(cut).decode()


def summarise_items(items: Sequence[str]) -> str:
    """The first items, and how many more there are."""
    rest = len(items) - MOST_NAMED
    return ", ".join(items[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def malformed_reason(task: str, output: Malformed) -> Faults:
    """Why a reply is malformed."""
    why = f"{output.cause} {quote(output.detail)}" if output.detail else output.cause
    return {f"{task}.structure": (why,)}
