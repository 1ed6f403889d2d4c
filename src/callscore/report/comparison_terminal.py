"""A comparison for the terminal: the conclusion, the rows, the cases."""

from __future__ import annotations

from collections.abc import Iterator

from callscore.core.comparison import Comparison, RowDifference
from callscore.report import comparison_rows as cells
from callscore.report.decision_lines import statement_lines
from callscore.report.layout import Column, Line, StyledText, paragraph, table
from callscore.report.safe_text import plain

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
    yield from statement_lines(cells.state_comparison(comparison), width)
    if comparison.calls:
        yield from paragraph([StyledText(cells.describe_pairing(comparison), "dim")], width)
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
    rows = [row for row in comparison.rows if cells.is_shown(row, all_rows=all_rows)]
    yield from table(columns, [_cells(row, has_p=has_p) for row in rows], width)


def _cells(row: RowDifference, *, has_p: bool) -> Line:
    style = STYLES.get(cells.row_tone(row), "")
    indent = "  " if row.kind in ("part", "metric") else ""
    chances = (
        [StyledText(cells.show_p_value(row.p)), StyledText(cells.show_p_value(row.p_holm))]
        if has_p
        else []
    )
    return [
        StyledText(indent + cells.show_label(row), "bold" if row.kind == "final" else ""),
        StyledText(cells.show_value(row.first, row.unit)),
        StyledText(cells.show_value(row.second, row.unit)),
        StyledText(cells.show_difference(row.difference, row.unit), style),
        StyledText(cells.show_row_interval(row)),
        *chances,
        StyledText(cells.direction_word(row), style),
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
    changed = cells.worst_first(comparison.cases)
    head = f"Cases: {cells.describe_counts(comparison)}"
    yield from paragraph([StyledText(head, "bold")], width)
    columns = [Column("case"), Column("task"), Column("change", is_number=True), Column("")]
    rows: list[Line] = [
        [
            StyledText(plain(change.case_id, 40)),
            StyledText(change.task),
            StyledText(cells.show_difference(change.change, "fraction") if change.change else ""),
            StyledText(plain(cells.describe_case(change), 200), "dim"),
        ]
        for change in changed[:max_cases]
    ]
    if rows:
        yield from table(columns, rows, width)
    if len(changed) > max_cases:
        yield [
            StyledText(f"{len(changed) - max_cases} more; --cases N shows more, --json all", "dim")
        ]
    yield []
