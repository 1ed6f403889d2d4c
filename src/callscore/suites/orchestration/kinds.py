"""The kinds of steps in scenarios, and the rows of the Final Score that need them        C-142"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from callscore.core.task import SCENARIO
from callscore.suites.orchestration.step_record import StepRecord

KINDS = frozenset({"plan", "call", "rejection"})
_ROWS = {
    "plan": ("plan",),
    "call": ("name", "key", "value", "call_f1"),
    "rejection": ("reject_f1",),
}


def kinds_in(records: Iterable[StepRecord]) -> frozenset[str]:
    """The kinds that are due or predicted; predicted plans are answers to plan steps only."""
    found = set()
    for record in records:
        found.add(record.kind)
        confusion = record.confusion
        if confusion.fc_reject:
            found.add("rejection")
        if confusion.reject_fc:
            found.add("call")
    return frozenset(found)


def rows_left_out(kinds: Collection[str]) -> Sequence[str]:
    """The rows of the formula that no scenario has        C-142"""
    return [
        f"{SCENARIO}.{row}" for kind, rows in _ROWS.items() if kind not in kinds for row in rows
    ]


def name_kinds(kinds: Collection[str]) -> str:
    """`calls and rejections`: what the Final Score is over; empty if it is over everything."""
    if set(kinds) >= KINDS:
        return ""
    return " and ".join(f"{kind}s" for kind in _ROWS if kind in kinds)
