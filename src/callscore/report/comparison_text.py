"""Comparisons and sample-size plans as text, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from callscore.core.comparison import CaseChange, Comparison, Plan, PlanLine, RowDifference
from callscore.core.measure import FEW_CALLS
from callscore.report import markdown_text
from callscore.report.cells import Tone
from callscore.report.decision_lines import statement_lines
from callscore.report.decision_statements import Statement, state_line
from callscore.report.layout import Column, Line, StyledText, paragraph, table
from callscore.report.markdown_text import code, statement_items
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain

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


MOST_METRICS = 3
"""How many changed metrics of a case are named."""


def describe_case(change: CaseChange) -> str:
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
    more = len(metrics) - MOST_METRICS
    parts += [*metrics[:MOST_METRICS], *([f"{more} more"] if more > 0 else [])]
    return "; ".join(parts)


def _short_number(number: float | None) -> str:
    return "n/a" if number is None else f"{number:.3g}"


def worst_first(changes: Sequence[CaseChange], most: int) -> Iterator[CaseChange]:
    """Cases that became worse before those that became better, in the order of each."""
    worse = (change for change in changes if _is_worse(change))
    better = (change for change in changes if not _is_worse(change))
    return islice(chain(worse, better), most)


def _is_worse(change: CaseChange) -> bool:
    return bool(set(change.kinds) & {"broken", "new_blocker", "became_error"})


STYLES = {"good": "green", "bad": "red", "plain": ""}
ROOM_FOR_P = 110


def comparison_lines(
    comparison: Comparison, width: int, *, all_rows: bool = False, max_cases: int = 20
) -> Iterator[Line]:
    """Yield the lines of a comparison, most important first."""
    first, second = comparison.first, comparison.second
    if comparison.not_comparable:
        sentence = "NOT COMPARABLE (C-126): " + "; ".join(comparison.not_comparable)
        yield from paragraph([StyledText(sentence, "bold red")], width)
        yield []
    title = f"{plain(first.label, 60)} → {plain(second.label, 60)}"
    yield from paragraph([StyledText(title, "bold")], width)
    yield from paragraph([StyledText(comparison.conclusion)], width)
    yield from statement_lines(state_comparison(comparison), width)
    if comparison.calls:
        yield from paragraph([StyledText(describe_pairing(comparison), "dim")], width)
    yield []
    yield from _table(comparison, width, all_rows=all_rows)
    yield []
    yield from _blockers(comparison, width)
    yield from _cases(comparison, width, max_cases)
    for note in comparison.notes:
        yield from paragraph([StyledText(plain(note, 400), "dim")], width)


def _table(comparison: Comparison, width: int, *, all_rows: bool) -> Iterator[Line]:
    has_p = width >= ROOM_FOR_P
    headings = ["", "first", "second", "change", "95 % interval", *(["p", "p (Holm)"] * has_p), ""]
    columns = [Column(name, is_number=bool(name)) for name in headings]
    rows = [row for row in comparison.rows if is_shown(row, all_rows=all_rows)]
    yield from table(columns, [_cells(row, has_p=has_p) for row in rows], width)


def _cells(row: RowDifference, *, has_p: bool) -> Line:
    style = STYLES.get(row_tone(row), "")
    indent = "  " if row.kind in ("part", "metric") else ""
    chances = (
        [StyledText(show_p_value(row.p)), StyledText(show_p_value(row.p_holm))] if has_p else []
    )
    return [
        StyledText(indent + show_label(row), "bold" if row.kind == "final" else ""),
        StyledText(show_value(row.first, row.unit)),
        StyledText(show_value(row.second, row.unit)),
        StyledText(show_difference(row.difference, row.unit), style),
        StyledText(show_row_interval(row)),
        *chances,
        StyledText(direction_word(row), style),
    ]


def _blockers(comparison: Comparison, width: int) -> Iterator[Line]:
    for head, slugs, style in (
        ("New official blockers", comparison.new_blockers, "red"),
        ("Official blockers that are gone", comparison.gone_blockers, "green"),
    ):
        if slugs:
            yield from paragraph([StyledText(f"{head}: {', '.join(slugs)}", style)], width)


def _cases(comparison: Comparison, width: int, max_cases: int) -> Iterator[Line]:
    if not comparison.cases:
        return
    head = f"Cases: {describe_counts(comparison)}"
    yield from paragraph([StyledText(head, "bold")], width)
    columns = [Column("case"), Column("task"), Column("change", is_number=True), Column("")]
    rows: list[Line] = [
        [
            StyledText(plain(change.case_id, 40)),
            StyledText(change.task),
            StyledText(show_difference(change.change, "fraction") if change.change else ""),
            StyledText(plain(describe_case(change), 200), "dim"),
        ]
        for change in worst_first(comparison.cases, max_cases)
    ]
    if rows:
        yield from table(columns, rows, width)
    if (more := len(comparison.cases) - max_cases) > 0:
        yield [StyledText(f"{more} more; --cases N shows more, --json all", "dim")]
    yield []


MARKS = {"better": "🟢", "worse": "🔴", "": ""}
MAX_BYTES = 60_000
"""GitHub limits a comment to 65,536 characters."""


def comparison_markdown(
    comparison: Comparison, *, all_rows: bool = False, max_cases: int = 20
) -> str:
    """Return the comparison, with fewer cases if it would exceed the size of a comment."""
    for count in (max_cases, max_cases // 4, 0):
        text = "\n".join(_markdown_parts(comparison, count, all_rows=all_rows)) + "\n"
        if len(text) <= MAX_BYTES:
            break
    return text


def _markdown_parts(comparison: Comparison, max_cases: int, *, all_rows: bool) -> Iterator[str]:
    first, second = comparison.first, comparison.second
    names = [code(side.label, 60, in_table=False) for side in (first, second)]
    yield f"### Callscore: {names[0]} → {names[1]}"
    yield ""
    if comparison.not_comparable:
        sentence = code("; ".join(comparison.not_comparable), 400, in_table=False)
        yield f"**⚠️ NOT COMPARABLE (C-126):** {sentence}"
        yield ""
    yield f"> {code(comparison.conclusion, 400, in_table=False)}"
    yield ""
    yield from statement_items(state_comparison(comparison))
    headings = ["", "first", "second", "change", "95 % interval", "p (Holm)", ""]
    rows = [row for row in comparison.rows if is_shown(row, all_rows=all_rows)]
    yield from markdown_text.table(headings, [_markdown_row(row) for row in rows])
    yield ""
    for head, slugs in (
        ("🔴 New official blockers", comparison.new_blockers),
        ("🟢 Official blockers that are gone", comparison.gone_blockers),
    ):
        if slugs:
            yield f"{head}: {', '.join(code(slug, in_table=False) for slug in slugs)}"
            yield ""
    yield from _case_items(comparison, max_cases)
    foot = [describe_pairing(comparison)] if comparison.calls else []
    for note in [*foot, *comparison.notes]:
        yield f"- {code(note, 400, in_table=False)}"


def _markdown_row(row: RowDifference) -> list[str]:
    shown = show_label(row)
    label = f"**{shown}**" if row.kind in ("final", "task") else shown
    return [
        label,
        show_value(row.first, row.unit),
        show_value(row.second, row.unit),
        show_difference(row.difference, row.unit),
        show_row_interval(row),
        show_p_value(row.p if row.kind == "final" else row.p_holm).replace("<", "&lt;"),
        MARKS[direction_word(row)],
    ]


def _case_items(comparison: Comparison, max_cases: int) -> Iterator[str]:
    if not comparison.cases:
        return
    yield "<details>"
    yield f"<summary>Cases: {describe_counts(comparison)}</summary>"
    yield ""
    rows = [
        [
            code(change.case_id),
            code(change.task),
            show_difference(change.change, "fraction") if change.change else "",
            code(describe_case(change), 200),
        ]
        for change in worst_first(comparison.cases, max_cases)
    ]
    if rows:
        yield from markdown_text.table(["case", "task", "change", ""], rows)
    if (more := len(comparison.cases) - max_cases) > 0:
        yield ""
        yield f"{more} more."
    yield ""
    yield "</details>"
    yield ""


def plan_lines(plan: Plan, width: int) -> Iterator[Line]:
    """Yield the plan as a table, with its assumptions."""
    have = f", {show_count(plan.calls, plan.unit)}" if plan.calls else ""
    models = f", {plan.models} models" if plan.models > 2 else ""
    needed = f"{plan.unit.capitalize()}s needed"
    title = f"{needed}, from {plain(plan.basis, 100)}{have} (power {plan.power:.0%}{models})"
    decision = [state_line(line, plan.origins) for line in plan.decision]
    yield from statement_lines(decision, width)
    if decision:
        yield []
    yield from paragraph([StyledText(title, "bold")], width)
    numbers = [Column(name, is_number=True) for name in (f"{plan.unit}s", "cost")]
    rows = [_plan_cells(line) for line in plan.lines]
    yield from table([Column("to"), *numbers, Column("")], rows, width)
    yield []
    for note in plan.notes:
        yield from paragraph([StyledText(plain(note, 400), "dim")], width)


def _plan_cells(line: PlanLine) -> Line:
    calls = "—" if line.calls is None else f"{line.calls:,}"
    sentence = line.why
    if line.calls is not None and line.calls <= line.have:
        sentence = "the pilot has as many"
    if line.shown:
        sentence = "the pilot " + ("shows it" if len(line.models) < 2 else "distinguishes them")
    return [
        StyledText(plain(line.question, 160)),
        StyledText(calls),
        StyledText("" if line.cost_usd is None else show_money(line.cost_usd)),
        StyledText(sentence, "green" if line.shown else "dim"),
    ]
