"""Label sheets as rows, as CSV, and as a workbook with drop-downs and the transcripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from callscore.core.case import turns
from callscore.core.errors import MissingExtra
from callscore.labelling.answers import Answers
from callscore.labelling.items import Call, LabelItem

COLUMNS = ("call_id", "part", "item", "question", "text", "options", "answer", "comment")
WIDTHS = (18, 12, 18, 60, 60, 24, 20, 40)
LONGEST_LIST = 255
"""Spreadsheets allow no longer list of a drop-down."""
LONGEST_CELL = 32_000
TRANSCRIPT_COLUMNS = (("call_id", 18), ("turn", 8), ("speaker", 14), ("text", 110))


def sheet_rows(items: Iterable[LabelItem], answers: Answers) -> list[list[str]]:
    """One row an item, with the answer if there is one."""
    rows = []
    for item in items:
        given = answers.get(item.key)
        answer, comment = (given.answer, given.comment) if given else ("", "")
        options = " · ".join(item.options)
        rows.append([*item.key, item.question, item.text, options, answer, comment])
    return rows


def write_csv(items: Sequence[LabelItem], answers: Answers) -> bytes:
    """The sheet as CSV; a byte order mark lets spreadsheets see that it is UTF-8."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    writer.writerows([[_no_formula(cell) for cell in row] for row in sheet_rows(items, answers)])
    return b"\xef\xbb\xbf" + file.getvalue().encode()


def _no_formula(cell: str) -> str:
    """A cell that a spreadsheet takes for text: formulas get an apostrophe in front."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def write_workbook(items: Sequence[LabelItem], calls: Sequence[Call], answers: Answers) -> bytes:
    """The sheet as XLSX: a drop-down on every answer with options, and a sheet of transcripts."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("spreadsheets need xlsxwriter: pip install 'callscore[excel]'") from None
    file = io.BytesIO()
    settings = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(file, settings) as book:
        columns = list(zip(COLUMNS, WIDTHS, strict=True))
        labels = _add_sheet(book, "labels", columns, sheet_rows(items, answers))
        labels.freeze_panes(1, 3)
        column = COLUMNS.index("answer")
        for number, item in enumerate(items, start=1):
            if item.options and len(",".join(item.options)) <= LONGEST_LIST:
                choice = {"validate": "list", "source": list(item.options)}
                labels.data_validation(number, column, number, column, choice)
        said = [
            [call.name, str(turn.id), turn.speaker or "", turn.text]
            for call in calls
            for turn in turns(call.transcript)
        ]
        _add_sheet(book, "transcripts", TRANSCRIPT_COLUMNS, said)
    return file.getvalue()


def _add_sheet(
    book: Any, name: str, columns: Sequence[tuple[str, int]], rows: Iterable[Sequence[str]]
) -> Any:
    """A sheet of texts under a frozen header; nothing in it is a formula, a number or a link."""
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
