"""Reads tables from CSV files and spreadsheets: rows with named columns.

A reader of spreadsheets allocates every cell between the first and the last: 1.5 kB with a cell at
XFD1048576 would take 550 GB and abort the process. A child process with little memory opens the
file first.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.errors import DataError
from callscore.importers.source_file import ZIP_ERRORS, Source, missing_extra

MAX_CELLS = 5_000_000
MAX_MEMORY = 2_000_000_000
"""Bytes that the child process may take."""
_TRIAL = f"""
import io, sys
from python_calamine import CalamineError, CalamineWorkbook
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MAX_MEMORY}, {MAX_MEMORY}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass  # Windows: the child ends by itself
try:
    book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        print(sheet.total_height * sheet.total_width)
except (CalamineError, OSError, ValueError):
    pass  # the message is that of the reader
"""


def check_cells(source: Source) -> None:
    """Raise DataError if the sheets of a workbook have too many cells to be read."""
    # -I: nothing of the working directory or the user is imported
    trial = subprocess.run(
        [sys.executable, "-I", "-c", _TRIAL], input=source.data, capture_output=True, check=False
    )
    cells = sum(map(int, trial.stdout.split()))
    if trial.returncode or cells > MAX_CELLS:
        number = f"{cells:,}" if not trial.returncode else "too many"
        raise DataError(
            f"has {number} cells from the first to the last; expected at most {MAX_CELLS:,}: "
            "delete stray cells far from the table",
            place=source.name,
        )


DELIMITERS = ",;\t|"
MAX_UNPACKED = 500_000_000
"""The largest size of an unpacked spreadsheet."""
MAX_NAMES = 40
MAX_NAME = 120
"""The most names, and characters of a name, in a list of a message."""
TITLE_ROWS = 30
"""Headings are searched in this many rows; the rows above them are titles."""
_SEPARATORS = re.compile(r"[\W_]+")
_REPEATED = re.compile(r" \(column [A-Z]+\)$")

HeadingTest = Callable[[Sequence[str]], bool]
"""Whether the cells of a row are the headings of the table that a reader expects."""


class TableRow(msgspec.Struct, frozen=True):
    """One row of a table: cells by column name; `column H` if it has none."""

    cells: Mapping[str, Any]
    where: str
    """The place in the file."""


class Table(msgspec.Struct, frozen=True):
    """A sheet or a CSV file with its header."""

    columns: Sequence[str]
    """The headings; one that is repeated is followed by its place: `Comment (column E)`."""
    rows: Sequence[TableRow]
    name: str = ""
    where: str = ""
    """The place of the headings in the file."""

    @property
    def headings(self) -> str:
        """The headings as a list for messages."""
        return list_names([column for column in self.columns if column])

    def column(self, names: Sequence[str]) -> str | None:
        """The first column with one of these normalised names."""
        by_key = {normalise_column(column): column for column in reversed(self.columns)}
        return next((by_key[name] for name in names if name in by_key), None)


def normalise_column(name: str) -> str:
    """The name in lower case with underscores: `Call ID` and `call-id` become `call_id`."""
    return _SEPARATORS.sub("_", name.strip().casefold()).strip("_")


def list_names(names: Sequence[str]) -> str:
    """Names as a list for messages: the first ones, and how many there are beyond them."""
    more = len(names) - MAX_NAMES
    shown = ", ".join(
        name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…" for name in names[:MAX_NAMES]
    )
    return f"{shown} and {more:,} more" if more > 0 else shown


def heading_of(column: str) -> str:
    """The heading of a column without the place that tells it from its namesakes."""
    return _REPEATED.sub("", column)


def column_letters(index: int) -> str:
    """The name of a column in a spreadsheet: A to Z, then AA."""
    letters = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def read_tables(source: Source, is_heading: HeadingTest | None = None) -> list[Table]:
    """The tables of a file; empty if it is neither a spreadsheet nor a CSV file.

    The headings are the first row that `is_heading` accepts, else the first with text.
    """
    if source.is_archive:
        return _read_sheets(source, is_heading) if is_workbook(source) else []
    if source.json is not None or source.json_lines:
        return []
    table = _read_csv(source, is_heading)
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


def _read_sheets(source: Source, is_heading: HeadingTest | None) -> list[Table]:
    try:
        import python_calamine
    except ImportError:
        raise missing_extra("python-calamine", "reading spreadsheets") from None
    check_cells(source)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(source.data))
        sheets = [
            (name, workbook.get_sheet_by_name(name).to_python(skip_empty_area=False))
            for name in workbook.sheet_names
        ]
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise DataError(f"cannot be read as a spreadsheet: {error}", place=source.name) from None
    tables = (_make_table(rows, name, f"sheet {name!r} row ", is_heading) for name, rows in sheets)
    return [table for table in tables if table is not None]


def _read_csv(source: Source, is_heading: HeadingTest | None) -> Table | None:
    """The table of a CSV file, separated as its first line is, or its headings."""
    head = source.text.split("\n", 1)[0]
    usual = max(DELIMITERS, key=head.count)
    if is_heading is not None:
        begin = "\n".join(source.text.split("\n", TITLE_ROWS)[:TITLE_ROWS])
        for delimiter in sorted(DELIMITERS, key=head.count, reverse=True):
            rows = csv.reader(io.StringIO(begin, newline=""), delimiter=delimiter)
            if any(is_heading([cell.strip() for cell in row]) for row in rows):
                return _split_csv(source, delimiter, is_heading)
        usual = max(DELIMITERS, key=begin.count)
        return _split_csv(source, usual, is_heading) if begin.count(usual) else None
    return _split_csv(source, usual, None) if head.count(usual) else None


def _split_csv(source: Source, delimiter: str, is_heading: HeadingTest | None) -> Table | None:
    csv.field_size_limit(50_000_000)
    try:
        rows, lines = _read_rows(source, delimiter, csv.QUOTE_MINIMAL)
    except DataError:
        if delimiter != "\t":
            raise
        # programs that separate with tabs, such as Whisper, write quotes as they were spoken
        rows, lines = _read_rows(source, delimiter, csv.QUOTE_NONE)
    return _make_table(rows, "", "line ", is_heading, lines)


def _read_rows(
    source: Source, delimiter: str, quoting: Literal[0, 3]
) -> tuple[list[list[Any]], list[int]]:
    """The rows of a CSV file, with the number of the line at which each begins."""
    rows: list[list[Any]] = []
    lines: list[int] = []
    line = 1
    try:
        text = io.StringIO(source.text, newline="")
        reader = csv.reader(text, delimiter=delimiter, strict=True, quoting=quoting)
        for row in reader:
            rows.append(list(row))
            lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"cannot be read as CSV: {error}", place=f"{source.name}:{line}") from None
    return rows, lines


def _make_table(
    rows: Sequence[Sequence[Any]],
    name: str,
    where: str,
    is_heading: HeadingTest | None,
    lines: Sequence[int] = (),
) -> Table | None:
    """A table whose columns are named by the row of its headings."""
    begin = _find_headings(rows, is_heading)
    if begin is None:
        return None
    columns: list[str] = []
    seen = {""}
    for at, cell in enumerate(rows[begin]):
        heading = format_cell(cell)
        repeated = heading in seen and heading != ""
        columns.append(f"{heading} (column {column_letters(at)})" if repeated else heading)
        seen.add(columns[-1])
    if sum(map(bool, columns)) < 2:
        return None
    table_rows = []
    for at in range(begin + 1, len(rows)):
        cells = {column: cell for column, cell in zip(columns, rows[at], strict=False) if column}
        if any(map(_has_text, cells.values())):
            for place, cell in enumerate(rows[at]):
                if _has_text(cell) and (place >= len(columns) or not columns[place]):
                    cells[f"column {column_letters(place)}"] = cell
            table_rows.append(TableRow(cells, f"{where}{lines[at] if lines else at + 1}"))
    return Table(columns, table_rows, name, f"{where}{lines[begin] if lines else begin + 1}")


def _find_headings(rows: Sequence[Sequence[Any]], is_heading: HeadingTest | None) -> int | None:
    """The first row that is accepted, else the first with text."""
    filled = [at for at, row in enumerate(rows[:TITLE_ROWS]) if any(map(_has_text, row))]
    if is_heading is not None:
        for at in filled:
            if is_heading([format_cell(cell) for cell in rows[at]]):
                return at
        several = (at for at in filled if sum(map(_has_text, rows[at])) > 1)
        return next(several, None)
    return next((at for at, row in enumerate(rows) if any(map(_has_text, row))), None)


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
