"""Reads the marks of people from tables: one row per call, or one row per question (C-139).

Nothing is guessed from a heading that is nearly a question, and an empty cell is never N/A: a
renamed column of a critical question once made all its marks N/A, and a model that passes every
call was recommended.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.importers.source_file import Source
from callscore.importers.tables import (
    Table,
    TableRow,
    format_cell,
    group_rows,
    heading_of,
    list_names,
    normalise_column,
    read_tables,
)
from callscore.importers.turn_fields import CALL
from callscore.metrics.forms.form import (
    NOT_APPLICABLE,
    Evaluation,
    Form,
    FormAnswer,
    FormQuestion,
    scored_questions,
)

QUESTION = ("question_id", "question", "ref_id", "criterion", "item")
ANSWER = ("answer", "answer_text", "answer_id", "score", "value", "mark", "result")
COMMENT = ("comment", "comments", "reason", "note", "notes", "justification", "remark", "remarks")
EVALUATOR = ("evaluator", "rater", "annotator", "by", "reviewer", "evaluated_by")
ABOUT_CALLS = frozenset((
    "date", "call_date", "evaluation_date", "evaluated_at", "time", "timestamp", "start",
    "start_time", "end", "end_time", "duration", "call_duration", "agent", "agent_name",
    "agent_id", "team", "queue", "supervisor", "team_leader", "customer", "customer_id",
    "customer_name", "channel", "direction", "language", "lang", "total", "total_score",
    "score", "overall_score", "final_score", "quality_score", "percent", "percentage", "result",
    "status", "form", "form_name", "form_version", "evaluation_id", "link", "url", "recording",
    "week", "month", "site", "campaign",
))  # fmt: skip
"""Columns of QA sheets that have no marks; a note names those that were not read."""
_NEXT_PAIR = re.compile(r",(?=[^,=]*=)")


class MarkOptions(msgspec.Struct, frozen=True):
    """How tables of marks are read: what their headings mean, and whether a question may lack."""

    columns: Mapping[str, str] = {}
    """A question, `call_id` or another known name by heading; empty if it is to be ignored."""
    allow_unmarked: bool = False


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Names by heading, from `HEADING=NAME` pairs separated by commas; a name may have commas."""
    columns: dict[str, str] = {}
    for text in (pair for option in texts for pair in _NEXT_PAIR.split(option)):
        heading, equals, name = text.partition("=")
        if not equals or not heading.strip():
            raise UsageError(
                f"--columns: {text!r}; expected HEADING=NAME, such as "
                "'Call=call_id,Q3=Verification', or HEADING= for a column to ignore"
            )
        columns[heading.strip()] = name.strip()
    return columns


def read_marks(
    source: Source, form: Form, options: MarkOptions, notes: list[str]
) -> Iterator[Evaluation]:
    """Read every filled-in form of the tables in a file; raises DataError."""
    found = False
    seen: list[Table] = []
    for raw in mark_tables(source, form, options.columns):
        seen.append(raw)
        table = _rename(raw, options.columns)
        if not _is_heading(table.columns, form, {}):
            continue
        found = True
        _check_columns(options.columns, raw, form, source)
        if _has_rows_of_questions(table, form):
            yield from _rows_of_questions(table, form, source)
        else:
            yield from _rows_of_calls(table, form, source, options, notes)
    if not found and seen:
        raise DataError(
            "no row has the headings of marks; expected a column `call_id` and a column per "
            "question, or the columns `call_id`, `question_id` and `answer` "
            "(--columns HEADING=NAME maps a heading); headings found: "
            + "; ".join(table.headings for table in seen),
            place=source.name,
        )
    for table in seen if found else ():
        if not _is_heading(_rename(table, options.columns).columns, form, {}):
            notes.append(f"{source.name}: sheet {table.name!r} has no marks ({table.headings})")


class _Names:
    """The questions of a form by the headings that name them."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._by_key: dict[str, FormQuestion | None] = {}
        for kind in ("title", "id"):
            for question in form.questions:
                key = normalise_column(getattr(question, kind))
                clash = kind == "title" and self._by_key.get(key, question) is not question
                self._by_key[key] = None if clash else question

    def question(self, heading: str) -> FormQuestion | None:
        """The question with this id or title, whatever its case and punctuation."""
        return self._form.question(heading) or self._by_key.get(normalise_column(heading))

    def commented(self, heading: str) -> FormQuestion | None:
        """The question that `Q1 comment` or `Reason for Q1` is about."""
        key = normalise_column(heading)
        for word in COMMENT:
            for base in (key.removesuffix(f"_{word}"), key.removeprefix(f"{word}_")):
                for name in (base, base.removeprefix("on_"), base.removeprefix("for_")):
                    if base != key and self._by_key.get(name) is not None:
                        return self._by_key[name]
        return None


def _is_heading(row: Sequence[str], form: Form, columns: Mapping[str, str]) -> bool:
    """Whether a row names the call and a question, or a column of questions and one of answers."""
    named = [columns.get(cell, cell) for cell in row]
    keys = {normalise_column(name) for name in named}
    if not keys & set(CALL):
        return False
    names = _Names(form)
    if keys & set(QUESTION) and keys & set(ANSWER):
        return True
    return any(names.question(name) is not None for name in named if name)


def _rename(table: Table, columns: Mapping[str, str]) -> Table:
    """The table with the headings that the user gave; ignored columns stay without a heading."""
    if not columns:
        return table
    meanings = dict(columns)
    for heading, name in columns.items():  # the comments of a mapped column go with it
        for column in table.columns:
            for word in COMMENT:
                if normalise_column(column) == f"{normalise_column(heading)}_{word}":
                    meanings.setdefault(column, f"{name} {word}" if name else "")
    new = {column: meanings.get(heading_of(column), column) for column in table.columns}
    rows = [
        TableRow(
            {new.get(name, name): cell for name, cell in row.cells.items() if new.get(name, name)},
            row.where,
        )
        for row in table.rows
    ]
    return Table([new[column] for column in table.columns], rows, table.name, table.where)


def _check_columns(columns: Mapping[str, str], table: Table, form: Form, source: Source) -> None:
    """Raise UsageError for a heading that the table lacks, or a name that means nothing."""
    headings = {heading_of(column) for column in table.columns}
    known = {*CALL, *QUESTION, *ANSWER, *COMMENT, *EVALUATOR}
    names = _Names(form)
    for heading, name in columns.items():
        if heading not in headings:
            raise UsageError(
                f"--columns: {source.name} has no column {heading!r}; headings found: "
                f"{table.headings}"
            )
        meant = names.question(name) or names.commented(name)
        if name and meant is None and normalise_column(name) not in known:
            raise UsageError(
                f"--columns: {name!r} is not a question of the form{_nearest(name, form)}; "
                "expected the id or the words of a question, or call_id"
            )


def _has_rows_of_questions(table: Table, form: Form) -> bool:
    names = _Names(form)
    return (
        table.column(QUESTION) is not None
        and table.column(ANSWER) is not None
        and not any(names.question(column) for column in table.columns if column)
    )


def _rows_of_questions(table: Table, form: Form, source: Source) -> Iterator[Evaluation]:
    """Evaluations with one row per question; every person has an evaluation of their own."""
    call, question_column = table.column(CALL) or "", table.column(QUESTION) or ""
    answer_column, comment_column = table.column(ANSWER) or "", table.column(COMMENT)
    evaluator = table.column(EVALUATOR)
    names = _Names(form)
    for call_id, rows in group_rows(table, call):
        _check_call(call_id, rows[0], call, source)
        by_person: dict[str, dict[str, FormAnswer]] = {}
        seen: set[tuple[str, str]] = set()
        for row in rows:
            place = f"{source.name}: {row.where}"
            name = format_cell(row.cells.get(question_column))
            question = names.question(name)
            if question is None:
                raise unknown_question(name, form, question_column, place)
            person = format_cell(row.cells.get(evaluator)) if evaluator else ""
            if (person, question.id) in seen:
                raise DataError(
                    f"call {call_id!r} has a second mark for {question.id!r}; expected one",
                    field=question_column,
                    place=place,
                )
            seen.add((person, question.id))
            comment = format_cell(row.cells.get(comment_column)) if comment_column else ""
            text = format_cell(row.cells.get(answer_column))
            answer = read_mark(question, text, comment, answer_column, place)
            answers = by_person.setdefault(person, {})
            if answer is not None:
                answers[question.id] = answer
        for person, answers in by_person.items():
            yield Evaluation(call_id, answers, person, source.name)


class _Columns(msgspec.Struct):
    """What the columns of a table with one row per call are."""

    questions: dict[str, FormQuestion] = {}
    comments: dict[str, list[str]] = {}
    """The columns of comments, by question id."""
    unread: list[str] = []
    unknown: list[str] = []


def _sort_columns(table: Table, form: Form) -> _Columns:
    names, found = _Names(form), _Columns()
    known = {table.column(CALL), table.column(EVALUATOR)}
    remarks = [one for one in table.columns if normalise_column(heading_of(one)) in COMMENT]
    before: FormQuestion | None = None
    for column in table.columns:
        question = names.question(column)
        about = names.commented(heading_of(column))
        if not column or column in known:
            pass
        elif question is not None:
            found.questions[column] = question
        elif about is not None:
            found.comments.setdefault(about.id, []).append(column)
        elif column in remarks and before is not None and len(remarks) > 1:
            found.comments.setdefault(before.id, []).append(column)
        elif column in remarks or normalise_column(column) in ABOUT_CALLS:
            found.unread.append(column)
        else:
            found.unknown.append(column)
        before = question
    return found


def _rows_of_calls(
    table: Table, form: Form, source: Source, options: MarkOptions, notes: list[str]
) -> Iterator[Evaluation]:
    """Evaluations in one row each: a column per question, comments in `Q1 comment`."""
    call, columns = table.column(CALL) or "", _sort_columns(table, form)
    _check_headings(table, columns, form, source, options)
    if columns.unread:
        notes.append(f"{source.name}: not read: {list_names(columns.unread)}")
    evaluator = table.column(EVALUATOR)
    for row in table.rows:
        place = f"{source.name}: {row.where}"
        call_id = format_cell(row.cells.get(call))
        _check_call(call_id, row, call, source)
        for name in row.cells.keys() - set(table.columns):
            raise DataError(
                f"{format_cell(row.cells[name])!r} is in a column without a heading; expected "
                f"{len(table.columns)} cells (a text with a comma needs quotes)",
                field=name,
                place=place,
            )
        answers = {}
        for column, question in columns.questions.items():
            if question.kind in ("text", "multi"):
                continue
            texts = [format_cell(row.cells.get(c)) for c in columns.comments.get(question.id, ())]
            text = format_cell(row.cells.get(column))
            answer = read_mark(question, text, " ".join(filter(None, texts)), column, place)
            if answer is not None:
                answers[question.id] = answer
        person = format_cell(row.cells.get(evaluator)) if evaluator else ""
        yield Evaluation(call_id, answers, person, source.name)


Meaning = Literal["call", "question", "comment", "evaluator", "unread", "unknown", "ignored"]


class MarkColumn(msgspec.Struct, frozen=True):
    """A column of a table of marks, and what it is read as."""

    heading: str
    meaning: Meaning
    question: str = ""
    """The id of the question that it marks or comments on."""
    nearest: str = ""
    """The id of the question with the nearest name, if it is unknown."""


def describe_columns(table: Table, form: Form, columns: Mapping[str, str]) -> list[MarkColumn]:
    """What every column of a table of marks is read as; nothing is refused."""
    renamed = _rename(table, columns)
    sorted_ = _sort_columns(renamed, form)
    commented = {column: about for about, found in sorted_.comments.items() for column in found}
    call, evaluator = renamed.column(CALL), renamed.column(EVALUATOR)
    by_rows = {renamed.column(names) for names in (QUESTION, ANSWER, COMMENT)}
    in_rows = _has_rows_of_questions(renamed, form)
    described = []
    for heading, column in zip(table.columns, renamed.columns, strict=True):
        meaning: Meaning = "unknown"
        question = nearest = ""
        if not column:
            meaning = "ignored"
        elif column == call:
            meaning = "call"
        elif column == evaluator:
            meaning = "evaluator"
        elif in_rows and column in by_rows:
            meaning = "comment" if column == renamed.column(COMMENT) else "question"
        elif column in sorted_.questions:
            meaning, question = "question", sorted_.questions[column].id
        elif column in commented:
            meaning, question = "comment", commented[column]
        elif in_rows or column in sorted_.unread:
            meaning = "unread"
        else:
            near = _nearest_question(heading_of(column), form)
            nearest = near.id if near is not None else ""
        if heading:
            described.append(MarkColumn(heading, meaning, question, nearest))
    return described


def mark_tables(source: Source, form: Form, columns: Mapping[str, str]) -> list[Table]:
    """The tables of a file of marks, with the headings that it has."""
    return read_tables(source, lambda row: _is_heading(row, form, columns))


def _check_headings(
    table: Table, columns: _Columns, form: Form, source: Source, options: MarkOptions
) -> None:
    """Raise DataError for a column that matches no question, and a question without a column."""
    place = f"{source.name}: {table.where}"
    filled = [question.id for question in columns.questions.values()]
    twice = next((one for one in filled if filled.count(one) > 1), None)
    if twice is not None:
        both = [repr(name) for name, one in columns.questions.items() if one.id == twice]
        raise DataError(f"{' and '.join(both)} are both the question {twice!r}", place=place)
    missing = [one for one in scored_questions(form) if one.id not in filled]
    lacking = f"questions without a column: {list_names([_named(one) for one in missing])}"
    if columns.unknown:
        heading, *others = map(heading_of, columns.unknown)
        if heading in columns.questions:  # the second of two columns
            raise DataError("is the heading of two columns", field=heading, place=place)
        raise DataError(
            f"is not a question of the form{_nearest(heading, form)}; "
            + (f"nor are {list_names([repr(other) for other in others])}; " if others else "")
            + (f"{lacking}; " if missing else "")
            + f"headings found: {table.headings}. Map it with --columns '{heading}=QUESTION', "
            f"or ignore it with --columns '{heading}='",
            field=heading,
            place=place,
        )
    if missing and not options.allow_unmarked:
        raise DataError(
            f"{lacking}; headings found: {table.headings}. Map a heading with "
            f"--columns HEADING={missing[0].id}, or leave these questions out with "
            "--allow-unmarked",
            place=place,
        )


def _check_call(call_id: str, row: TableRow, column: str, source: Source) -> None:
    if not call_id:
        raise DataError("is empty; expected the id of the call", field=column,
                        place=f"{source.name}: {row.where}")  # fmt: skip


def read_mark(
    question: FormQuestion, text: str, comment: str, column: str, place: str
) -> FormAnswer | None:
    """The mark of a cell: an option, its points or N/A; None if it is empty; raises DataError."""
    if not text:
        return None
    option = question.option(text)
    if option is not None:
        return FormAnswer(None if option.is_na else option.id, comment)
    if question.kind in ("text", "multi"):
        return None
    if text.casefold() in NOT_APPLICABLE:
        if not question.may_not_apply:
            raise _not_allowed(question, text, column, place, "is not allowed by the form for")
        return FormAnswer(None, comment)
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        points = math.nan
    if points in {one.score for one in question.options if one.score is not None}:
        return FormAnswer("", comment, points)
    raise _not_allowed(question, text, column, place, "is not an answer to")


def _not_allowed(question: FormQuestion, text: str, column: str, place: str, why: str) -> DataError:
    options = [one.text for one in question.options if not one.is_na]
    if question.may_not_apply:
        options.append("N/A")
    return DataError(
        f"{text!r} {why} {_named(question)}; expected {', '.join(options)}",
        field=column,
        place=place,
    )


def unknown_question(name: str, form: Form, field: str, place: str) -> DataError:
    """The error for a name that is not a question of the form, with the nearest one."""
    return DataError(
        f"{name!r} is not a question of the form{_nearest(name, form)}", field=field, place=place
    )


def _named(question: FormQuestion) -> str:
    """A question by its id, with its words if they differ."""
    same = normalise_column(question.title) in ("", normalise_column(question.id))
    return repr(question.id) if same else f"{question.id!r} ({question.title})"


def _nearest(name: str, form: Form) -> str:
    """The question with the nearest id or words, for a message; empty if none is near."""
    near = _nearest_question(name, form)
    return f" (nearest: {_named(near)})" if near is not None else ""


def _nearest_question(name: str, form: Form) -> FormQuestion | None:
    keys: dict[str, FormQuestion] = {}
    for question in form.questions:
        for text in (question.title, question.id):
            keys[normalise_column(text)] = question
    wanted = normalise_column(name)
    near = difflib.get_close_matches(wanted, keys, 1, 0.55) or _containing(wanted, keys)
    return keys[near[0]] if near else None


def _containing(wanted: str, keys: Iterable[str]) -> list[str]:
    return [key for key in keys if wanted and (wanted in key or key in wanted)][:1]
