"""The outcome of a comparison in words        STATS §7"""

from __future__ import annotations

from callscore.core.comparison import RowDifference, Side
from callscore.report.numbers import show, show_count
from callscore.report.safe_text import plain

ALPHA = 0.05
LONGEST_NAME = 40


def verdict_of(
    final: RowDifference | None, first: Side, second: Side, has_calls: bool
) -> tuple[bool | None, str]:
    """Whether the Final Scores are told apart, and the sentence that says so."""
    names = [plain(side.model, LONGEST_NAME) for side in (first, second)]
    if names[0] == names[1]:
        names = [plain(side.label, LONGEST_NAME) for side in (first, second)]
    if final is None or final.difference is None:
        return None, "There is no Final Score to compare; the rows below are what there is."
    gap = f"{abs(final.difference):.3f}"
    if not has_calls:
        direction = "above" if final.difference > 0 else "below"
        return None, (
            f"{names[1]} is {gap} {direction} {names[0]}; whether that is more than chance cannot "
            "be said without the results of single calls."
        )
    if is_told_apart(final):
        better, worse = (names[1], names[0]) if final.difference > 0 else (names[0], names[1])
        low, high = sorted(map(abs, final.ci95)) if final.ci95 is not None else (0.0, 0.0)
        return True, (
            f"{better} is better than {worse} by {gap} [{show(low)}, {show(high)}] on "
            f"{show_count(final.calls, 'call')} that both answered."
        )
    return False, (
        f"{names[0]} and {names[1]} {cannot_be_told_apart(final.calls, final.calls_needed)} "
        f"(difference {final.difference:+.3f}{_smallest(final)})."
    )


def is_told_apart(row: RowDifference) -> bool:
    """Whether the interval of a difference leaves out 0 and chance gives it in 5 % at most."""
    if row.p is None or row.ci95 is None:
        return False
    return row.p <= ALPHA and (row.ci95[0] > 0 or row.ci95[1] < 0)


def cannot_be_told_apart(calls: int, needed: int | None) -> str:
    """Cannot be told apart with these 48 calls; about 310 would do        STATS §7"""
    with_these = f"cannot be told apart with {_these(calls)}"
    if needed is None or needed <= calls:
        return with_these
    return f"{with_these}; about {rounded(needed)} would do"


def _these(calls: int) -> str:
    return "this one call" if calls == 1 else f"these {calls:,} calls"


def rounded(calls: int) -> str:
    """Two digits of a number that is an estimate: 310, 2,400."""
    digits = max(0, len(str(calls)) - 2)
    step = 10**digits
    return f"{-(-calls // step) * step:,}"


def _smallest(row: RowDifference) -> str:
    if row.detectable is None:
        return ""
    return f"; so many calls show differences from {row.detectable:.3f} on"
