"""Reads tables from CSV files and spreadsheets: rows with named columns."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.source import ZIP_ERRORS, Source, missing_extra

DELIMITERS = ",;\t|"
MAX_UNPACKED = 500_000_000
"""The largest size of an unpacked spreadsheet."""
_SEPARATORS = re.compile(r"[\W_]+")


class TableRow(msgspec.Struct, frozen=True):
    """One row of a table: cells by column name."""

    cells: Mapping[str, Any]
    where: str
    """The place in the file."""


class Table(msgspec.Struct, frozen=True):
    """A sheet or a CSV file with its header."""

    columns: Sequence[str]
    rows: Sequence[TableRow]
    name: str = ""

    def column(self, names: Sequence[str]) -> str | None:
        """The first column with one of these normalised names."""
        by_key = {normalise_column(column): column for column in reversed(self.columns)}
        return next((by_key[name] for name in names if name in by_key), None)


def normalise_column(name: str) -> str:
    """The name in lower case with underscores: `Call ID` and `call-id` become `call_id`."""
    return _SEPARATORS.sub("_", name.strip().casefold()).strip("_")


def read_tables(source: Source) -> list[Table]:
    """The tables of a file; empty if it is neither a spreadsheet nor a CSV file."""
    if source.is_archive:
        return _read_sheets(source) if is_workbook(source) else []
    if source.json is not None or source.json_lines:
        return []
    table = _read_csv(source)
    return [table] if table is not None else []


def is_workbook(source: Source) -> bool:
    """Whether a zip file is a spreadsheet (XLSX, XLSB, ODS)."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = archive.namelist()
            size = sum(info.file_size for info in archive.infolist())
    except ZIP_ERRORS:
        return False
    if not any(name.startswith("xl/workbook") or name == "content.xml" for name in names):
        return False
    if size > MAX_UNPACKED:
        raise DataError(f"unpacks to {size:,} bytes; expected at most {MAX_UNPACKED:,}",
                        place=source.name)  # fmt: skip
    return True


def _read_sheets(source: Source) -> list[Table]:
    try:
        import python_calamine
    except ImportError:
        raise missing_extra("python-calamine", "reading spreadsheets") from None
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        sheets = [
            (name, workbook.get_sheet_by_name(name).to_python(skip_empty_area=False))
            for name in workbook.sheet_names
        ]
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise DataError(f"cannot be read as a spreadsheet: {error}", place=source.name) from None
    tables = (_make_table(rows, name, f"sheet {name!r} row ") for name, rows in sheets)
    return [table for table in tables if table is not None]


def _read_csv(source: Source) -> Table | None:
    text = source.text
    head = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=head.count)
    if not head.count(delimiter):
        return None
    csv.field_size_limit(50_000_000)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows: list[list[Any]] = []
        lines: list[int] = []
        line = 1
        for row in reader:
            rows.append(list(row))
            lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"cannot be read as CSV: {error}", place=f"{source.name}:{line}") from None
    return _make_table(rows, "", "line ", lines)


def _make_table(
    rows: Sequence[Sequence[Any]], name: str, where: str, lines: Sequence[int] = ()
) -> Table | None:
    """A table whose columns are named by the first row that is not empty."""
    begin = next((at for at, row in enumerate(rows) if any(map(_has_text, row))), None)
    if begin is None:
        return None
    columns = [str(cell).strip() for cell in rows[begin]]
    if sum(map(bool, columns)) < 2:
        return None
    table_rows = []
    for at in range(begin + 1, len(rows)):
        cells = {column: cell for column, cell in zip(columns, rows[at], strict=False) if column}
        if any(map(_has_text, cells.values())):
            table_rows.append(TableRow(cells, f"{where}{lines[at] if lines else at + 1}"))
    return Table(columns, table_rows, name)


def _has_text(cell: Any) -> bool:
    return cell is not None and str(cell).strip() != ""


def format_cell(cell: Any) -> str:
    """A cell as text: whole numbers without `.0`, empty cells as an empty text."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def group_rows(table: Table, column: str) -> Iterator[tuple[str, list[TableRow]]]:
    """The rows by their value of a column, in the order in which the values first appear."""
    groups: dict[str, list[TableRow]] = {}
    for row in table.rows:
        groups.setdefault(format_cell(row.cells.get(column)), []).append(row)
    yield from groups.items()
