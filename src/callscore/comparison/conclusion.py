"""The conclusion of a comparison, as a sentence        STATS §8"""

from __future__ import annotations

from callscore.core.comparison import RowDifference, Side
from callscore.report.numbers import show, show_count
from callscore.report.safe_text import plain
from callscore.report.ties import describe_tie

LONGEST_NAME = 40


def conclude(
    final: RowDifference | None, first: Side, second: Side, has_calls: bool, unit: str = "call"
) -> tuple[bool | None, str]:
    """Whether the Final Scores are distinguishable, None if unknown, and a sentence about it."""
    names = [plain(side.model, LONGEST_NAME) for side in (first, second)]
    if names[0] == names[1]:
        names = [plain(side.label, LONGEST_NAME) for side in (first, second)]
    if final is None or final.difference is None:
        return None, "There is no Final Score to compare; see the rows below."
    gap = f"{abs(final.difference):.3f}"
    if not has_calls:
        direction = "above" if final.difference > 0 else "below"
        return None, (
            f"{names[1]} is {gap} {direction} {names[0]}; without the results of "
            f"single {unit}s, whether this is more than chance is unknown."
        )
    if final.significant:
        better, worse = (names[1], names[0]) if final.difference > 0 else (names[0], names[1])
        low, high = sorted(map(abs, final.ci95)) if final.ci95 is not None else (0.0, 0.0)
        return True, (
            f"{better} is better than {worse} by {gap} [{show(low)}, {show(high)}] on "
            f"{show_count(final.calls, unit)} that both answered."
        )
    return False, (
        f"{names[0]} and {names[1]} "
        f"{describe_tie(final.calls, final.calls_needed, unit=unit)} "
        f"(difference {final.difference:+.3f}{_detectable_text(final, unit)})."
    )


def _detectable_text(row: RowDifference, unit: str) -> str:
    if row.detectable is None:
        return ""
    return f"; this many {unit}s can show differences of {row.detectable:.3f} or more"
