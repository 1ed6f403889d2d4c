"""Label sheets, CSV files and workbooks: written, and read again when they are filled in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import turns
from callscore.core.errors import DataError, MissingExtra
from callscore.core.labelling import CallLabels, CallTranscript, Label, LabelItem, escape_formula
from callscore.metrics.forms.form import NOT_APPLICABLE

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


ItemKey = tuple[str, str, str]
Labels = Mapping[ItemKey, Label]
"""The labels of several calls, by the key of their items."""


def read_labels(rows: Iterable[tuple[Mapping[str, str], str]]) -> dict[ItemKey, Label]:
    """The labels of a filled-in sheet, from its rows by column name, each with its place."""
    labels: dict[ItemKey, Label] = {}
    for row, place in rows:
        missing = [name for name in ("call_id", "part", "item", "answer") if name not in row]
        if missing:
            raise DataError(
                f"has no column {missing[0]!r}; expected a sheet of `callscore annotate --sheet`",
                place=place,
            )
        key = (row["call_id"], row["part"], row["item"])
        answer = row["answer"].strip()
        if not answer:
            continue
        if key in labels and labels[key].answer != answer:
            raise DataError(
                f"item {key[2]!r} of call {key[0]!r} has two different answers", place=place
            )
        labels[key] = Label(answer, row.get("comment", "").strip(), place)
    return labels


def check_items(items: Sequence[LabelItem], sheet: Labels) -> list[str]:
    """The calls of a sheet that are not labelled here; raises DataError for an unknown item."""
    known = {item.key for item in items}
    calls = {item.call_id for item in items}
    for key, label in sheet.items():
        if key[0] in calls and key not in known:
            raise DataError(
                f"{key[2]!r} ({key[1]}) is not an item of call {key[0]!r}; expected a sheet that "
                "was written for this form or config",
                field="item",
                place=label.place,
            )
    return sorted({key[0] for key in sheet} - calls)


def check_answer(item: LabelItem, answer: str, place: str = "") -> str:
    """The answer in the spelling of its option; raises DataError if it is not one of them."""
    if not item.options:
        return answer
    folded = answer.strip().casefold()
    for option in item.options:
        known = option.casefold()
        if known == folded or (known in NOT_APPLICABLE and folded in NOT_APPLICABLE):
            return option
    raise DataError(
        f"{answer!r} is not an option; expected one of {', '.join(item.options)}",
        field=f"{item.part}.{item.item}",
        case_id=item.call_id,
        place=place,
    )


def missing_items(items: Sequence[LabelItem], labels: Labels) -> list[LabelItem]:
    """The required items without a label."""
    return [item for item in items if item.required and item.key not in labels]


def labels_of_call(items: Sequence[LabelItem], labels: Labels) -> CallLabels:
    """The labels of the items of one call, checked; raises DataError."""
    return {
        (item.part, item.item): Label(
            check_answer(item, labels[item.key].answer, labels[item.key].place),
            labels[item.key].comment,
        )
        for item in items
        if item.key in labels
    }


class Disagreement(msgspec.Struct, frozen=True):
    """An item that people answered differently."""

    item: LabelItem
    answers: Sequence[str]


def compare_labels(
    items: Sequence[LabelItem], sheets: Sequence[Labels]
) -> tuple[dict[ItemKey, Label], list[Disagreement], list[tuple[str, str]]]:
    """Agreed labels, disagreements, and the pairs of answers, of the sheets of several people.

    Only items with options can disagree; of free text the first answer is used.
    """
    agreed: dict[ItemKey, Label] = {}
    disagreements: list[Disagreement] = []
    pairs: list[tuple[str, str]] = []
    for item in items:
        labels = [sheet[item.key] for sheet in sheets if item.key in sheet]
        if not labels:
            continue
        answers = [check_answer(item, label.answer, label.place) for label in labels]
        if item.options and len(answers) > 1:
            pairs += [(answers[0], answer) for answer in answers[1:]]
        if item.options and len(set(answers)) > 1:
            disagreements.append(Disagreement(item, answers))
        else:
            agreed[item.key] = labels[0]
    return agreed, disagreements, pairs
