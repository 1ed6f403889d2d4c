"""Reads QA forms: vendors' JSON, and tables with one row per question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from callscore.core.errors import DataError
from callscore.importers.forms.vendors import vendor_form
from callscore.importers.source import Source
from callscore.importers.tables import Table, TableRow, format_cell, group_rows, read_tables
from callscore.metrics.forms.form import (
    NO,
    NOT_APPLICABLE,
    YES,
    Condition,
    Form,
    FormQuestion,
    Mode,
    Option,
    Section,
)

QUESTION = ("question", "question_text", "criterion", "criteria", "title", "item")
_ID = ("question_id", "id", "ref_id", "key", "number", "no")
_SECTION = ("section", "group", "category", "part")
_WEIGHT = ("weight", "question_weight")
_SECTION_WEIGHT = ("section_weight", "group_weight")
_OPTIONS = ("options", "answers", "answer_options", "choices", "scale")
_POINTS = ("points", "max_score", "max_points", "score", "max")
_CRITICAL = ("critical", "auto_fail", "fatal", "kill", "autofail")
_NA = ("na_allowed", "na", "n_a", "allow_na", "na_enabled", "not_applicable")
_INSTRUCTIONS = ("instructions", "help", "guidance", "description", "help_text")
_CONDITION = ("condition", "only_if", "applies_if", "depends_on")


def read_form(source: Source) -> Form:
    """Read the form of a file; raises DataError if there is none, or one without questions."""
    value = source.json
    if isinstance(value, dict):
        form = vendor_form(value, source)
    else:
        tables = [table for table in read_tables(source) if table.column(QUESTION)]
        form = _table_form(tables[0], source) if tables else None
    if form is None:
        raise DataError(
            "is not a QA form; expected one of Amazon Connect, Genesys Cloud or Google (JSON), or "
            "a table with a column `question`",
            place=source.name,
        )
    ids = [question.id for question in form.questions]
    if not ids:
        raise DataError("contains no question", place=source.name)
    if len(set(ids)) < len(ids):
        repeated = next(one for one in ids if ids.count(one) > 1)
        raise DataError(f"two questions have the id {repeated!r}", place=source.name)
    return form


def _table_form(table: Table, source: Source) -> Form:
    section = table.column(_SECTION)
    groups = group_rows(table, section) if section else iter([("", list(table.rows))])
    sections = []
    number = 0
    for name, rows in groups:
        questions = []
        for row in rows:
            number += 1
            questions.append(_table_question(table, row, number, source))
        column = table.column(_SECTION_WEIGHT)
        weight = (
            _parse_number(rows[0].cells.get(column), rows[0], column, source) if column else None
        )
        sections.append(Section(name, name, questions, weight))
    mode: Mode = "section_weights" if table.column(_SECTION_WEIGHT) else "question_weights"
    return Form(source.stem, source.stem, sections, mode, "table")


def _table_question(table: Table, row: TableRow, number: int, source: Source) -> FormQuestion:
    def text(names: Sequence[str]) -> str:
        column = table.column(names)
        return format_cell(row.cells.get(column)) if column else ""

    title = text(QUESTION)
    if not title:
        raise DataError("is empty; expected a question", field="question",
                        place=f"{source.name}: {row.where}")  # fmt: skip
    points = _parse_number(text(_POINTS) or None, row, "points", source)
    is_fatal = _is_yes(text(_CRITICAL))
    options = _table_options(text(_OPTIONS), points, row, source, fails=is_fatal)
    return FormQuestion(
        text(_ID) or f"Q{number}",
        title,
        "single",
        [one for one in options if not one.is_na],
        _parse_number(text(_WEIGHT) or None, row, "weight", source),
        _is_yes(text(_NA)) or any(one.is_na for one in options),
        instructions=text(_INSTRUCTIONS),
        condition=_table_condition(text(_CONDITION), row, source),
    )


def _table_options(
    text: str, points: float | None, row: TableRow, source: Source, *, fails: bool
) -> list[Option]:
    """The options of a cell: `Yes=5; No=0; N/A`, or `Yes / No`; yes and no if it is empty."""
    most = points if points is not None else 1.0
    parts = [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]
    if len(parts) == 1 and "=" not in text:
        parts = [part.strip() for part in text.replace("|", "/").split("/") if part.strip()]
        if text.casefold().endswith("n/a"):
            parts = [*parts[:-2], "N/A"]
    options: list[Option] = []
    for part in parts or ["Yes", "No"]:
        name, equals, worth = part.partition("=")
        word = name.strip().casefold()
        if word in NOT_APPLICABLE:
            options.append(Option(name.strip(), name.strip(), is_na=True))
            continue
        score = (
            _parse_number(worth, row, "options", source) if equals else _default_score(word, most)
        )
        if score is None:
            raise DataError(
                f"{part!r} has no points; expected options such as `Yes=5; Partly=2; No=0`",
                field="options",
                place=f"{source.name}: {row.where}",
            )
        options.append(Option(name.strip(), name.strip(), score, fails and score == 0))
    return options


def _default_score(word: str, most: float) -> float | None:
    return most if word in YES else 0.0 if word in NO else None


def _table_condition(text: str, row: TableRow, source: Source) -> Condition | None:
    """The condition of a cell: `Q1=Yes`, or `Q1=Yes|Partly`."""
    if not text:
        return None
    question, equals, answers = text.partition("=")
    if not equals or not question.strip() or not answers.strip():
        raise DataError(
            f"{text!r}; expected QUESTION=ANSWER, such as `Q1=Yes`",
            field="condition",
            place=f"{source.name}: {row.where}",
        )
    return Condition(question.strip(), [one.strip() for one in answers.split("|")])


def _is_yes(text: str) -> bool:
    return text.casefold() in YES | {"1", "x", "critical", "fatal", "auto-fail"}


def _parse_number(cell: Any, row: TableRow, field: str | None, source: Source) -> float | None:
    text = format_cell(cell).removesuffix("%").strip()
    if not text:
        return None
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            f"{text!r} is not a number", field=field or "", place=f"{source.name}: {row.where}"
        )
    return number
