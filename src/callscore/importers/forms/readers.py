"""Reads QA forms: vendors' JSON, and tables with one row per question."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.forms.templates import template_form
from callscore.importers.forms.vendors import vendor_form
from callscore.importers.source_file import Source
from callscore.importers.tables import (
    Table,
    TableRow,
    format_cell,
    group_rows,
    normalise_column,
    read_tables,
)
from callscore.metrics.forms.arithmetic import simple_conditions
from callscore.metrics.forms.form import (
    DASHES,
    NO,
    NOT_APPLICABLE,
    YES,
    Condition,
    Form,
    FormQuestion,
    Mode,
    Option,
    Section,
    scored_questions,
)

QUESTION = ("question", "question_text", "criterion", "criteria", "title", "item")
_WORDS = (*QUESTION, "description", "standard", "behaviour", "behavior", "requirement", "text")
"""Columns with the words of the questions, where those of `QUESTION` only number them."""
_NUMBERING = re.compile(r"\W*[a-z]{0,2}\W?\d+(?:[.)\-]\d*)*\W*", re.IGNORECASE)
"""What numbers a question instead of asking it: 1, 2.1, Q3, A-4."""
_SCALE = re.compile(r"(\d+)\s*(?:-|–|\.\.|to)\s*(\d+)")
_LONGEST_SCALE = 100
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
    value, headings = source.json, ""
    if (template := template_form(source)) is not None:
        properties, notes = template
        form = vendor_form(properties, source)
        if form is not None and notes:
            form = msgspec.structs.replace(form, notes=[*notes, *form.notes])
    elif isinstance(value, dict):
        form = vendor_form(value, source)
    else:
        found = read_tables(source, lambda row: bool(set(map(normalise_column, row)) & {*QUESTION}))
        tables = [table for table in found if table.column(QUESTION)]
        form = _table_form(tables[0], source) if tables else None
        headings = "; ".join(table.headings for table in found)
    if form is None:
        raise DataError(
            "is not a QA form; expected one of Amazon Connect, Genesys Cloud or Google (JSON, "
            "CloudFormation or Terraform), or a table with a column `question`"
            + (f"; headings found: {headings}" * bool(headings)),
            place=source.name,
        )
    ids = [question.id for question in form.questions]
    if not ids:
        raise DataError("contains no question", place=source.name)
    if len(set(ids)) < len(ids):
        repeated = next(one for one in ids if ids.count(one) > 1)
        raise DataError(f"two questions have the id {repeated!r}", place=source.name)
    found_notes = [*_check_conditions(form, source), *_equal_points(form)]
    return msgspec.structs.replace(form, notes=[*form.notes, *found_notes])


def _check_conditions(form: Form, source: Source) -> list[str]:
    """Notes on conditions that the marks cannot decide; raises DataError for unknown answers."""
    notes = []
    for question in form.questions:
        for one in simple_conditions(question.condition):
            other = form.question(one.question_id)
            if other is not None and other.kind in ("multi", "text"):
                notes.append(
                    f"question {question.id!r}: its condition depends on {other.id!r}, which has "
                    "no points; it is asked on every call"
                )
                continue
            unknown = [answer for answer in one.answers if not (other and other.option(answer))]
            if unknown:
                what = f"answer {unknown[0]!r} of" if other else "question"
                raise DataError(
                    f"its condition names the {what} {one.question_id!r}, which the form does not "
                    "have",
                    field=question.id,
                    place=source.name,
                )
    return notes


def _equal_points(form: Form) -> Iterator[str]:
    """Notes on options that points cannot tell apart, although it matters which was chosen."""
    asked_for = {
        (one.question_id, answer)
        for question in form.questions
        for one in simple_conditions(question.condition)
        for answer in one.answers
    }
    for question in scored_questions(form):
        by_points: dict[float, list[Option]] = {}
        for option in question.options:
            if option.score is not None:
                by_points.setdefault(option.score, []).append(option)
        for options in by_points.values():
            kinds = {
                (
                    one.auto_fail,
                    (question.id, one.id) in asked_for,
                    (question.id, one.text) in asked_for,
                )
                for one in options
            }
            if len(kinds) > 1:
                names = ", ".join(repr(one.text) for one in options)
                yield (
                    f"question {question.id!r}: {names} give the same points; a mark counts as "
                    "each of them for automatic fails and conditions"
                )


def _table_form(table: Table, source: Source) -> Form:
    section, words = table.column(_SECTION), _column_of_words(table, source)
    groups = group_rows(table, section) if section else iter([("", list(table.rows))])
    sections = []
    number = 0
    for name, rows in groups:
        questions = []
        for row in rows:
            number += 1
            questions.append(_table_question(table, row, number, words, source))
        column = table.column(_SECTION_WEIGHT)
        weight = (
            _parse_weight(rows[0].cells.get(column), rows[0], column, source) if column else None
        )
        sections.append(Section(name, name, questions, weight))
    mode: Mode = "section_weights" if table.column(_SECTION_WEIGHT) else "question_weights"
    return Form(source.stem, source.stem, sections, mode, "table")


def _column_of_words(table: Table, source: Source) -> str:
    """The column with the words of the questions; a column that numbers them is their id."""
    by_key = {normalise_column(column): column for column in reversed(table.columns) if column}
    for name in _WORDS:
        column = by_key.get(name)
        if column is not None and not _numbers_questions(table, column):
            return column
    numbers = table.column(QUESTION) or ""
    raise DataError(
        f"only numbers the questions; expected a column with their words, named `question`; "
        f"headings found: {table.headings}",
        field=numbers,
        place=f"{source.name}: {table.where}",
    )


def _numbers_questions(table: Table, column: str) -> bool:
    cells = [format_cell(row.cells.get(column)) for row in table.rows]
    return any(cells) and all(_NUMBERING.fullmatch(cell) for cell in cells if cell)


def _question_id(table: Table, row: TableRow, number: int, words: str) -> str:
    """The id of a question: of its own column, or of the one that numbers the questions."""
    for name in (table.column(_ID), table.column(QUESTION)):
        if name is not None and name != words and (text := format_cell(row.cells.get(name))):
            return text
    return f"Q{number}"


def _table_question(
    table: Table, row: TableRow, number: int, words: str, source: Source
) -> FormQuestion:
    def text(names: Sequence[str]) -> str:
        column = table.column(names)
        return format_cell(row.cells.get(column)) if column else ""

    title = format_cell(row.cells.get(words))
    if not title:
        raise DataError("is empty; expected a question", field=words,
                        place=f"{source.name}: {row.where}")  # fmt: skip
    points = _parse_number(text(_POINTS) or None, row, "points", source)
    is_fatal = _parse_flag(text(_CRITICAL), row, table.column(_CRITICAL), source)
    may_not_apply = _parse_flag(text(_NA), row, table.column(_NA), source)
    options = _table_options(text(_OPTIONS), points, row, source, fails=is_fatal)
    return FormQuestion(
        _question_id(table, row, number, words),
        title,
        "single",
        options,
        _parse_weight(text(_WEIGHT), row, table.column(_WEIGHT), source),
        may_not_apply or any(one.is_na for one in options),
        instructions="" if table.column(_INSTRUCTIONS) == words else text(_INSTRUCTIONS),
        condition=_table_condition(text(_CONDITION), row, source),
    )


def _table_options(
    text: str, points: float | None, row: TableRow, source: Source, *, fails: bool
) -> list[Option]:
    """The options of a cell: `Yes=5; No=0; N/A`, `Yes / No` or `0-5`; yes and no if it is empty."""
    most = points if points is not None else 1.0
    parts = [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]
    if len(parts) == 1 and "=" not in text:
        parts = [part.strip() for part in text.replace("|", "/").split("/") if part.strip()]
        if text.casefold().endswith("n/a"):
            parts = [*parts[:-2], "N/A"]
    if scale := _SCALE.fullmatch(text.strip()):
        parts = _scale_options(int(scale[1]), int(scale[2]), row, source)
    options: list[Option] = []
    for part in parts or ["Yes", "No"]:
        name, equals, worth = part.partition("=")
        word = name.strip().casefold()
        if word in NOT_APPLICABLE | DASHES:
            options.append(Option(name.strip(), name.strip(), is_na=True))
            continue
        score = (
            _parse_number(worth, row, "options", source) if equals else _default_score(word, most)
        )
        if score is None:
            raise DataError(
                f"{part!r} has no points; expected options such as `Yes=5; Partly=2; No=0`, or a "
                "scale such as `0-5`",
                field="options",
                place=f"{source.name}: {row.where}",
            )
        options.append(Option(name.strip(), name.strip(), score, fails and score == 0))
    return options


def _scale_options(least: int, most: int, row: TableRow, source: Source) -> list[str]:
    """One option per mark of a scale, the best first."""
    if not 0 <= least < most <= _LONGEST_SCALE:
        raise DataError(
            f"{least}-{most} is not a scale; expected a range within 0 to {_LONGEST_SCALE}",
            field="options",
            place=f"{source.name}: {row.where}",
        )
    return [f"{mark}={mark}" for mark in range(most, least - 1, -1)]


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


def _parse_flag(text: str, row: TableRow, column: str | None, source: Source) -> bool:
    """Yes or no; a word that is neither is refused: a critical question must not become another."""
    word = text.casefold()
    if word in YES | {"1", "x", "✓", "critical", "fatal", "auto-fail"}:
        return True
    if not word or word in NO | NOT_APPLICABLE | DASHES or word.startswith(("0", "non", "not ")):
        return False
    raise DataError(
        f"{text!r}; expected yes, no or nothing",
        field=column or "",
        place=f"{source.name}: {row.where}",
    )


def _parse_weight(cell: Any, row: TableRow, column: str | None, source: Source) -> float | None:
    weight = _parse_number(cell, row, column, source)
    if weight is not None and weight < 0:
        raise DataError(
            f"{weight:g} is negative; expected 0 or more",
            field=column or "",
            place=f"{source.name}: {row.where}",
        )
    return weight


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
