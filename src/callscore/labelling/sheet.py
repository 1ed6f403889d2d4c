"""Label sheets: CSV files, and workbooks with drop-downs and the transcripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from callscore.core.case import turns
from callscore.core.errors import MissingExtra
from callscore.core.labelling import CallTranscript, Label, LabelItem, escape_formula
from callscore.labelling.labels import Labels

WIDTHS = {
    "call_id": 18,
    "part": 12,
    "item": 18,
    "section": 18,
    "question": 60,
    "help": 40,
    "text": 60,
    "options": 24,
    "answer": 20,
    "comment": 40,
}
"""The columns of a sheet with their widths."""
IF_FILLED = ("section", "help")
"""Columns of forms that are left out if they are empty."""
LONGEST_CELL = 32_000
"""Most characters in a cell; spreadsheets allow 32,767."""
NO_LABEL = Label("")
TRANSCRIPT_COLUMNS = (("call_id", 18), ("turn", 8), ("speaker", 14), ("text", 110))


def sheet_rows(items: Sequence[LabelItem], labels: Labels) -> list[dict[str, str]]:
    """One row per item, with its label if there is one: cells by column."""
    rows = []
    for item in items:
        label = labels.get(item.key, NO_LABEL)
        row = {
            "call_id": item.call_id,
            "part": item.part,
            "item": item.item,
            "section": item.section,
            "question": item.question,
            "help": item.help,
            "text": item.text,
            "options": " · ".join(item.options),
            "answer": label.answer,
            "comment": label.comment,
        }
        rows.append(row)
    empty = {name for name in IF_FILLED if not any(row[name] for row in rows)}
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


def write_csv(items: Sequence[LabelItem], labels: Labels) -> bytes:
    """The sheet as CSV, with a byte order mark: spreadsheets detect UTF-8 by it."""
    file = io.StringIO(newline="")
    rows = sheet_rows(items, labels)
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows([{name: escape_formula(row[name]) for name in row} for row in rows])
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
        rows = sheet_rows(items, labels)
        columns = [(name, WIDTHS[name]) for name in rows[0]]
        sheet = _add_sheet(book, "labels", columns, [list(row.values()) for row in rows])
        sheet.freeze_panes(1, 3)
        if not any(row["text"] for row in rows):
            place = list(rows[0]).index("text")
            sheet.set_column(place, place, None, None, {"hidden": True})
        spoken = [
            [call.name, str(turn.id), turn.speaker or "", turn.text]
            for call in calls
            for turn in turns(call.transcript)
        ]
        _add_sheet(book, "transcripts", TRANSCRIPT_COLUMNS, spoken)
        _add_drop_downs(book, sheet, items, list(rows[0]).index("answer"))
    return file.getvalue()


def _add_drop_downs(book: Any, sheet: Any, items: Sequence[LabelItem], column: int) -> None:
    """Offer the options of every item, from a sheet of lists: an option may contain a comma."""
    lists = list(dict.fromkeys(tuple(item.options) for item in items if item.options))
    offered = _add_sheet(book, "options", (), ())
    for number, options in enumerate(lists):
        for place, option in enumerate(options):
            offered.write_string(number, place, option)
    offered.hide()
    row_of = {options: number for number, options in enumerate(lists)}
    for number, item in enumerate(items, start=1):
        if item.options:
            row, last = row_of[tuple(item.options)], len(item.options) - 1
            source = f"=options!{_cell(row, 0)}:{_cell(row, last)}"
            choice = {"validate": "list", "source": source}
            sheet.data_validation(number, column, number, column, choice)


def _cell(row: int, column: int) -> str:
    from xlsxwriter.utility import xl_rowcol_to_cell

    return str(xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True))


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
