"""Rows of text in aligned columns, for lists that are no scorecard."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.report.layout import columns_of
from callscore.report.safe_text import plain

LONGEST_CELL = 60


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row; the first column is flush left, numbers are flush right."""
    table = [list(headings), *([plain(cell, LONGEST_CELL) for cell in row] for row in rows)]
    widths = [max(columns_of(row[column]) for row in table) for column in range(len(headings))]
    return [
        "  ".join(
            cell + _gap(cell, width) if column == 0 else _gap(cell, width) + cell
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _gap(cell: str, width: int) -> str:
    return " " * (width - columns_of(cell))
