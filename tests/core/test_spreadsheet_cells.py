"""Cells that people edit in a spreadsheet: never executed, and read as they were written."""

from __future__ import annotations

import csv
import io

import pytest

from callscore.core.labelling import Label, LabelItem, escape_formula, unescape_formula
from callscore.labelling.sheet import read_labels, write_csv

TEXTS = (
    "=1+1",
    "+49 30",
    "-5",
    "@SUM",
    "\tx",
    "\rx",
    "\nx",
    "＝1",
    "＋1",
    "－1",
    "＠1",
    "'tis",
    "'=1",
)


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_spreadsheet_might_execute_is_escaped_and_comes_back(text: str) -> None:
    assert escape_formula(text) == f"'{text}"
    assert unescape_formula(escape_formula(text)) == text


@pytest.mark.parametrize("text", ["", "refund - 49", "a=b", "yes"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert escape_formula(text) == unescape_formula(text) == text


def test_an_apostrophe_that_a_person_typed_is_kept() -> None:
    assert unescape_formula("'tis") == "'tis"
    assert escape_formula(None) == ""


@pytest.mark.parametrize("text", TEXTS)
def test_a_label_sheet_gives_back_ids_and_answers(text: str) -> None:
    item = LabelItem(text, "part", text, "Which one?")
    raw = write_csv([item], {item.key: Label(text.strip())}).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(raw, newline=""))
    assert not any(cell.startswith(tuple("=+-@＝＋－＠\t\r\n")) for cell in row.values())
    read = {name: unescape_formula(cell) for name, cell in row.items()}
    assert read_labels([(read, "row 1")]) == {item.key: Label(text.strip(), place="row 1")}
