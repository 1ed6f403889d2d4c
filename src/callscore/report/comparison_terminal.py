"""A comparison for the terminal: the verdict, the rows, the cases."""

from __future__ import annotations

from collections.abc import Iterator

from callscore.core.comparison import Comparison, RowDifference
from callscore.report import comparison_rows as cells
from callscore.report.layout import Column, Line, Piece, paragraph, table
from callscore.report.safe_text import plain

STYLES = {"good": "green", "bad": "red", "plain": ""}
ROOM_FOR_P = 110


def comparison_lines(
    comparison: Comparison, width: int, *, all_rows: bool = False, most_cases: int = 20
) -> Iterator[Line]:
    """Everything, most important first."""
    first, second = comparison.first, comparison.second
    if comparison.not_comparable:
        sentence = "NOT COMPARABLE (C-126): " + "; ".join(comparison.not_comparable)
        yield from paragraph([Piece(sentence, "bold red")], width)
        yield []
    title = f"{plain(first.label, 60)} → {plain(second.label, 60)}"
    yield from paragraph([Piece(title, "bold")], width)
    yield from paragraph([Piece(comparison.verdict)], width)
    if comparison.calls:
        yield from paragraph([Piece(cells.paired_on(comparison), "dim")], width)
    yield []
    yield from _table(comparison, width, all_rows=all_rows)
    yield []
    yield from _blockers(comparison, width)
    yield from _cases(comparison, width, most_cases)
    for note in comparison.notes:
        yield from paragraph([Piece(plain(note, 400), "dim")], width)


def _table(comparison: Comparison, width: int, *, all_rows: bool) -> Iterator[Line]:
    has_p = width >= ROOM_FOR_P
    headings = ["", "first", "second", "change", "95 % interval", *(["p", "p (Holm)"] * has_p), ""]
    columns = [Column(name, is_number=bool(name)) for name in headings]
    rows = [row for row in comparison.rows if cells.is_shown(row, all_rows=all_rows)]
    yield from table(columns, [_cells(row, has_p=has_p) for row in rows], width)


def _cells(row: RowDifference, *, has_p: bool) -> Line:
    style = STYLES.get(cells.tone(row), "")
    indent = "  " if row.kind in ("part", "metric") else ""
    chances = [Piece(cells.chance(row.p)), Piece(cells.chance(row.p_holm))] if has_p else []
    return [
        Piece(indent + row.label, "bold" if row.kind == "final" else ""),
        Piece(cells.value(row.first, row.unit)),
        Piece(cells.value(row.second, row.unit)),
        Piece(cells.signed(row.difference, row.unit), style),
        Piece(cells.interval(row)),
        *chances,
        Piece(cells.word(row), style),
    ]


def _blockers(comparison: Comparison, width: int) -> Iterator[Line]:
    for head, found, style in (
        ("New official blockers", comparison.new_blockers, "red"),
        ("Official blockers that are gone", comparison.gone_blockers, "green"),
    ):
        if found:
            yield from paragraph([Piece(f"{head}: {', '.join(found)}", style)], width)


def _cases(comparison: Comparison, width: int, most: int) -> Iterator[Line]:
    if not comparison.cases:
        return
    changed = cells.worst_first(comparison.cases)
    head = f"Cases: {cells.counts(comparison) or 'changes without another score'}"
    yield from paragraph([Piece(head, "bold")], width)
    columns = [Column("case"), Column("task"), Column("change", is_number=True), Column("")]
    rows: list[Line] = [
        [
            Piece(plain(change.case_id, 40)),
            Piece(change.task),
            Piece(cells.signed(change.change, "fraction") if change.change else ""),
            Piece(plain(cells.case_words(change), 200), "dim"),
        ]
        for change in changed[:most]
    ]
    if rows:
        yield from table(columns, rows, width)
    if len(changed) > most:
        yield [Piece(f"{len(changed) - most} more; --cases N shows more, --json all", "dim")]
    yield []
