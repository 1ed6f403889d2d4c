"""Label sheets: CSV files, and workbooks with drop-downs and the transcripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from callscore.core.case import turns
from callscore.core.errors import MissingExtra
from callscore.core.labelling import CallTranscript, Label, LabelItem
from callscore.core.spreadsheet_cells import escape_formula
from callscore.labelling.labels import Labels

COLUMNS = ("call_id", "part", "item", "question", "text", "options", "answer", "comment")
WIDTHS = (18, 12, 18, 60, 60, 24, 20, 40)
LONGEST_LIST = 255
"""Most characters in the list of a drop-down; spreadsheets allow no more."""
LONGEST_CELL = 32_000
"""Most characters in a cell; spreadsheets allow 32,767."""
NO_LABEL = Label("")
TRANSCRIPT_COLUMNS = (("call_id", 18), ("turn", 8), ("speaker", 14), ("text", 110))


def sheet_rows(items: Iterable[LabelItem], labels: Labels) -> list[list[str]]:
    """One row per item, with its label if there is one."""
    rows = []
    for item in items:
        label = labels.get(item.key, NO_LABEL)
        options = " · ".join(item.options)
        rows.append([*item.key, item.question, item.text, options, label.answer, label.comment])
    return rows


def write_csv(items: Sequence[LabelItem], labels: Labels) -> bytes:
    """The sheet as CSV, with a byte order mark: spreadsheets detect UTF-8 by it."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    writer.writerows([[escape_formula(cell) for cell in row] for row in sheet_rows(items, labels)])
    return b"\xef\xbb\xbf" + file.getvalue().encode()


def write_workbook(
    items: Sequence[LabelItem], calls: Sequence[CallTranscript], labels: Labels
) -> bytes:
    """The sheet as XLSX: a drop-down for every item with options, and a sheet of transcripts."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("spreadsheets need xlsxwriter: pip install 'callscore[excel]'") from None
    file = io.BytesIO()
    settings = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(file, settings) as book:
        columns = list(zip(COLUMNS, WIDTHS, strict=True))
        sheet = _add_sheet(book, "labels", columns, sheet_rows(items, labels))
        sheet.freeze_panes(1, 3)
        column = COLUMNS.index("answer")
        for number, item in enumerate(items, start=1):
            if item.options and len(",".join(item.options)) <= LONGEST_LIST:
                choice = {"validate": "list", "source": list(item.options)}
                sheet.data_validation(number, column, number, column, choice)
        spoken = [
            [call.name, str(turn.id), turn.speaker or "", turn.text]
            for call in calls
            for turn in turns(call.transcript)
        ]
        _add_sheet(book, "transcripts", TRANSCRIPT_COLUMNS, spoken)
    return file.getvalue()


def _add_sheet(
    book: Any, name: str, columns: Sequence[tuple[str, int]], rows: Iterable[Sequence[str]]
) -> Any:
    """Add a sheet of text cells with a frozen header: no formulas, numbers or links."""
    head = book.add_format({"bold": True, "bg_color": "#E8EEF4", "bottom": 1})
    wrap = book.add_format({"text_wrap": True, "valign": "top", "num_format": "@"})
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for column, (title, width) in enumerate(columns):
        sheet.write_string(0, column, title, head)
        sheet.set_column(column, column, width, wrap)
    for number, row in enumerate(rows, start=1):
        for column, cell in enumerate(row):
            sheet.write_string(number, column, cell[:LONGEST_CELL], wrap)
    return sheet
