"""Cells of CSV files that people edit: never executed by a spreadsheet, and read unchanged."""

from __future__ import annotations

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet may execute, or that look like our escape."""


def escape_formula(value: object) -> str:
    """The cell of a value, with an apostrophe in front if a spreadsheet might execute it."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_STARTS) else text


def unescape_formula(cell: str) -> str:
    """The text that `escape_formula` has written."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_STARTS) else cell
