"""Rows of a query as a table, CSV or JSON lines; no cell is a formula or an escape sequence."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from callscore.core.errors import UsageError
from callscore.report.csv import BYTE_ORDER_MARK
from callscore.report.layout import Column, Line, StyledText, table
from callscore.report.safe_text import escape_json, plain, safe_cell_text

Rows = Sequence[Sequence[Any]]
MAX_CELL = 120
"""Characters of a cell in a terminal; files have whole texts."""
_ENCODE = msgspec.json.Encoder(enc_hook=str).encode


def csv_chunks(columns: Sequence[str], batches: Iterable[Rows]) -> Iterator[bytes]:
    """Yield CSV (RFC 4180), in which numbers are numbers and no text is executed."""
    yield BYTE_ORDER_MARK
    yield _csv([list(map(safe_cell_text, columns))])
    for rows in batches:
        yield _csv(
            [
                [_text(cell) if _is_number(cell) else safe_cell_text(_text(cell)) for cell in row]
                for row in rows
            ]
        )


def _csv(rows: Rows) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue().encode("utf-8", "replace")


def json_chunks(columns: Sequence[str], batches: Iterable[Rows]) -> Iterator[bytes]:
    """Yield one JSON object per row; UsageError if two columns have the same name."""
    double = next((name for name in columns if list(columns).count(name) > 1), None)
    if double is not None:
        raise UsageError(f"two columns are named {double!r}; expected a name for each, with AS")
    for rows in batches:
        for row in rows:
            record = dict(zip(columns, row, strict=True))
            yield escape_json(_ENCODE(record)) + b"\n"


def table_lines(columns: Sequence[str], rows: Rows, width: int) -> Iterator[Line]:
    """Yield an aligned table, not wider than `width`; long texts are shortened."""
    headings = [
        Column(plain(name, MAX_CELL), is_number=all(_is_number(row[place]) for row in rows))
        for place, name in enumerate(columns)
    ]
    cells = [[StyledText(plain(_text(cell), MAX_CELL)) for cell in row] for row in rows]
    return table(headings, cells, width)


def _is_number(cell: Any) -> bool:
    return cell is None or isinstance(cell, int | float | Decimal)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool | dict | list):
        return _ENCODE(cell).decode()
    return cell if isinstance(cell, str) else str(cell)
