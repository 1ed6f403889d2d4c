"""Rows and cases of a comparison as text, for the terminal and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.comparison import CaseChange, Comparison, RowDifference
from callscore.core.interval import FEW_CALLS
from callscore.report.cell import Tone
from callscore.report.decision import Statement, state_line
from callscore.report.numbers import show, show_count, show_money

SIGNIFICANCE_LEVEL = 0.05
KIND_WORDS = {
    "fixed": "fixed",
    "broken": "broken",
    "new_blocker": "new blocker",
    "became_error": "became error",
    "no_longer_error": "no longer an error",
}


def state_comparison(comparison: Comparison) -> list[Statement]:
    """Return which of the two models to take        C-138"""
    sides = (comparison.first, comparison.second)
    origins = {side.model: side.origin for side in sides if side.origin}
    return [state_line(line, origins) for line in comparison.decision]


def is_shown(row: RowDifference, *, all_rows: bool) -> bool:
    """Whether a row is shown: score and cost rows, rows that changed, or all rows on request."""
    if all_rows or row.kind in ("final", "task", "cost"):
        return row.first is not None or row.second is not None
    return row.difference is not None and abs(row.difference) > 1e-12


def show_label(row: RowDifference) -> str:
    """Return the name of a row; it says if its values are corrected by labels of people."""
    return f"{row.label} (corrected)" if row.corrected else row.label


def show_value(number: float | None, unit: str) -> str:
    """Return a value as text, or `n/a`."""
    if number is None:
        return "n/a"
    return show_money(number) if unit == "usd" else show(number, unit)


def show_difference(number: float | None, unit: str) -> str:
    """Return a difference with its sign."""
    if number is None:
        return ""
    sign = "−" if number < 0 else "+" if number > 0 else "±"
    shown = show_money(abs(number)) if unit == "usd" else show(abs(number), unit)
    return sign + shown


def show_row_interval(row: RowDifference) -> str:
    """Return `[−0.012, +0.034]`, or an empty text without an interval."""
    if row.ci95 is None:
        return ""
    rough = "≈ " if row.calls < FEW_CALLS else ""
    low, high = (show_difference(limit, row.unit) for limit in row.ci95)
    return f"{rough}[{low}, {high}]"


def show_p_value(p: float | None) -> str:
    """Return a p-value as `0.031` or `< 0.001`."""
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def is_significant(row: RowDifference) -> bool:
    """Whether a difference is significant: of the Final Score as in rank bands, else by Holm's p"""
    if row.kind == "final":
        return bool(row.significant)
    return row.p_holm is not None and row.p_holm <= SIGNIFICANCE_LEVEL


def row_tone(row: RowDifference) -> Tone:
    """Return good or bad for a significant difference, else plain."""
    if row.better is None or not is_significant(row):
        return "plain"
    return "good" if row.better else "bad"


def direction_word(row: RowDifference) -> str:
    """Return `better` or `worse` for a significant difference, else an empty text."""
    if row.better is None or not is_significant(row):
        return ""
    return "better" if row.better else "worse"


def describe_counts(comparison: Comparison) -> str:
    """Return the number of cases by kind of change: `3 fixed, 1 broken, 1 new blocker`."""
    counts = [
        f"{number} {KIND_WORDS[kind] + ('s' if kind == 'new_blocker' and number > 1 else '')}"
        for kind, number in comparison.counts.items()
        if number
    ]
    return ", ".join(counts) or "changes without effect on the score"


def describe_pairing(comparison: Comparison) -> str:
    """Describe the calls on which the two sides are compared."""
    alone = [
        f"{show_count(number, comparison.unit)} only of the {side}"
        for number, side in ((comparison.only_first, "first"), (comparison.only_second, "second"))
        if number
    ]
    left_out = f"; left out: {', '.join(alone)}" if alone else ""
    is_few = comparison.calls < FEW_CALLS
    few = f"; few {comparison.unit}s: intervals are rough (≈)" if is_few else ""
    paired = show_count(comparison.calls, comparison.unit)
    return f"paired on {paired} that both answered{left_out}{few}"


def describe_case(change: CaseChange, max_metrics: int = 3) -> str:
    """Describe the changes of a case: kinds, gates, metrics."""
    parts = [KIND_WORDS[kind] for kind in change.kinds if kind != "new_blocker"]
    if change.new_gates:
        parts.append(f"blocked by {', '.join(change.new_gates)}")
    if change.gone_gates:
        parts.append(f"no longer blocked by {', '.join(change.gone_gates)}")
    metrics = [
        f"{slug} {_short_number(one)} → {_short_number(other)}"
        for slug, (one, other) in change.metrics.items()
    ]
    more = len(metrics) - max_metrics
    parts += [*metrics[:max_metrics], *([f"{more} more"] if more > 0 else [])]
    return "; ".join(parts)


def _short_number(number: float | None) -> str:
    return "n/a" if number is None else f"{number:.3g}"


def worst_first(changes: Sequence[CaseChange]) -> list[CaseChange]:
    """Sort cases that became worse before those that became better, keeping the order of each."""
    return sorted(changes, key=lambda change: not _is_worse(change))


def _is_worse(change: CaseChange) -> bool:
    return bool(set(change.kinds) & {"broken", "new_blocker", "became_error"})
