"""Reads filled-in forms of Amazon Connect, Genesys and Google, and from tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.core.errors import DataError
from callscore.importers.source import Source
from callscore.importers.tables import Table, TableRow, format_cell, group_rows, read_tables
from callscore.importers.turn_fields import CALL
from callscore.metrics.forms.form import (
    NOT_APPLICABLE,
    Evaluation,
    Form,
    FormAnswer,
    FormQuestion,
)

_QUESTION = ("question_id", "question", "ref_id", "criterion", "item")
_ANSWER = ("answer", "score", "value", "mark", "result")
_COMMENT = ("comment", "reason", "comments", "note", "notes", "justification")
_EVALUATOR = ("evaluator", "rater", "annotator", "by", "reviewer")


def read_evaluations(source: Source, form: Form) -> Iterator[Evaluation]:
    """Read every filled-in form of a file; raises DataError if an answer is not an option."""
    evaluations = list(_evaluations_in(source, form))
    if not evaluations:
        raise DataError(
            "has no filled-in form; expected an evaluation of Amazon Connect, Genesys or Google, "
            "or a table with a column `call_id`",
            place=source.name,
        )
    yield from evaluations


def _evaluations_in(source: Source, form: Form) -> Iterator[Evaluation]:
    objects = source.objects
    if objects:
        for number, value in enumerate(objects):
            evaluation = _from_object(value, form, source) if isinstance(value, dict) else None
            if evaluation is None:
                raise DataError(
                    "is not an evaluation in a known format", field=f"[{number}]", place=source.name
                )
            yield evaluation
        return
    for table in read_tables(source):
        yield from _from_table(table, form, source)


def _from_object(value: Mapping[str, Any], form: Form, source: Source) -> Evaluation | None:
    inner = value.get("Evaluation")
    amazon = inner if isinstance(inner, dict) else value
    if isinstance(amazon.get("Answers"), dict):
        return _from_amazon(amazon, form, source)
    answers = value.get("answers")
    if isinstance(answers, dict) and isinstance(answers.get("questionGroupScores"), list):
        return _from_genesys(value, answers["questionGroupScores"], form, source)
    google = value.get("qaAnswers") or value.get("qa_answers")
    if isinstance(google, list):
        return _from_google(value, google, form, source)
    return None


def _object(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _from_amazon(value: Mapping[str, Any], form: Form, source: Source) -> Evaluation:
    metadata = _object(value.get("Metadata"))
    call_id = metadata.get("ContactId") or value.get("ContactId")
    if not isinstance(call_id, str):
        raise _missing_call_id("Metadata.ContactId", source)
    notes = _object(value.get("Notes"))
    answers: dict[str, FormAnswer] = {}
    for ref_id, answer in value["Answers"].items():
        question = _find_question(form, str(ref_id), source.name)
        comment = _amazon_comment(notes.get(ref_id))
        answers[question.id] = _amazon_answer(question, answer, comment, source)
    return Evaluation(call_id, answers, str(metadata.get("EvaluatorArn") or ""), source.name)


def _amazon_comment(note: Any) -> str:
    text = note.get("Value") if isinstance(note, dict) else note
    return text if isinstance(text, str) else ""


def _amazon_answer(question: FormQuestion, answer: Any, comment: str, source: Source) -> FormAnswer:
    value = answer.get("Value") if isinstance(answer, dict) else answer
    if isinstance(value, dict):
        if value.get("NotApplicable"):
            return FormAnswer(None, comment)
        value = value.get("StringValue", value.get("NumericValue"))
    return _read_answer(question, format_cell(value), comment, source.name)


def _from_genesys(
    value: Mapping[str, Any], groups: Sequence[Any], form: Form, source: Source
) -> Evaluation:
    call_id = _object(value.get("conversation")).get("id") or value.get("conversationId")
    if not isinstance(call_id, str):
        raise _missing_call_id("conversation.id", source)
    answers: dict[str, FormAnswer] = {}
    for group in groups:
        scores = _object(group).get("questionScores")
        for score in scores if isinstance(scores, list) else []:
            if not isinstance(score, dict):
                raise DataError("expected an object", field="questionScores", place=source.name)
            question = _find_question(form, str(score.get("questionId")), source.name)
            comment = str(score.get("comments") or "")
            if score.get("markedNA") or score.get("systemMarkedNA"):
                answers[question.id] = FormAnswer(None, comment)
            elif score.get("answerId"):
                text = str(score["answerId"])
                answers[question.id] = _read_answer(question, text, comment, source.name)
    evaluator = str(_object(value.get("evaluator")).get("id") or "")
    return Evaluation(call_id, answers, evaluator, source.name)


def _from_google(
    value: Mapping[str, Any], qa_answers: Sequence[Any], form: Form, source: Source
) -> Evaluation:
    call_id = str(value.get("conversation") or "").rpartition("/")[2]
    if not call_id:
        raise _missing_call_id("conversation", source)
    answers: dict[str, FormAnswer] = {}
    for answer in qa_answers:
        if not isinstance(answer, dict):
            continue
        name = str(answer.get("qaQuestion") or answer.get("qa_question") or "").rpartition("/")[2]
        question = _find_question(form, name, source.name)
        chosen = _object(answer.get("answerValue") or answer.get("answer_value"))
        answers[question.id] = _google_answer(question, chosen, source)
    return Evaluation(call_id, answers, source=source.name)


def _google_answer(question: FormQuestion, chosen: Mapping[str, Any], source: Source) -> FormAnswer:
    if chosen.get("naValue") or chosen.get("na_value"):
        return FormAnswer(None)
    for key in ("key", "strValue", "str_value", "boolValue", "bool_value", "numValue", "num_value"):
        if key in chosen:
            value = chosen[key]
            text = ("Yes" if value else "No") if isinstance(value, bool) else format_cell(value)
            return _read_answer(question, text, "", source.name)
    return FormAnswer(None)


def _from_table(table: Table, form: Form, source: Source) -> Iterator[Evaluation]:
    call = table.column(CALL)
    if call is None:
        return
    question, answer = table.column(_QUESTION), table.column(_ANSWER)
    if question is not None and answer is not None:
        for call_id, rows in group_rows(table, call):
            yield _from_rows(call_id, rows, table, form, source)
        return
    for row in table.rows:
        yield _from_row(row, call, table, form, source)


def _from_rows(
    call_id: str, rows: Sequence[TableRow], table: Table, form: Form, source: Source
) -> Evaluation:
    """An evaluation with one row per question."""
    question_column = table.column(_QUESTION) or ""
    answer_column, comment_column = table.column(_ANSWER) or "", table.column(_COMMENT)
    answers = {}
    for row in rows:
        place = f"{source.name}: {row.where}"
        question = _find_question(form, format_cell(row.cells.get(question_column)), place)
        comment = format_cell(row.cells.get(comment_column)) if comment_column else ""
        text = format_cell(row.cells.get(answer_column))
        answers[question.id] = _read_answer(question, text, comment, place)
    return Evaluation(call_id, answers, _evaluator(rows[0], table), source.name)


def _from_row(row: TableRow, call: str, table: Table, form: Form, source: Source) -> Evaluation:
    """An evaluation in one row: a column per question, comments in `Q1 comment`."""
    answers = {}
    place = f"{source.name}: {row.where}"
    columns = {column.casefold(): column for column in table.columns}
    for question in form.questions:
        column = columns.get(question.id.casefold()) or columns.get(question.title.casefold())
        if column is None or question.kind in ("text", "multi"):
            continue
        comment = ""
        for suffix in (" comment", "_comment", " reason", "_reason"):
            comment_column = columns.get(f"{column.casefold()}{suffix}")
            comment = comment or (
                format_cell(row.cells.get(comment_column)) if comment_column else ""
            )
        answers[question.id] = _read_answer(
            question, format_cell(row.cells.get(column)), comment, place
        )
    if not answers:
        expected = ", ".join(question.id for question in form.questions)
        raise DataError(f"no column is a question of the form; expected {expected}", place=place)
    return Evaluation(
        format_cell(row.cells.get(call)), answers, _evaluator(row, table), source.name
    )


def _evaluator(row: TableRow, table: Table) -> str:
    column = table.column(_EVALUATOR)
    return format_cell(row.cells.get(column)) if column else ""


def _read_answer(question: FormQuestion, text: str, comment: str, place: str) -> FormAnswer:
    """The answer to a question: an option, N/A, or points of its scale; raises DataError."""
    if not text or text.casefold() in NOT_APPLICABLE:
        return FormAnswer(None, comment)
    option = question.option(text)
    if option is not None:
        return FormAnswer(None if option.is_na else option.id, comment)
    if question.kind in ("text", "multi"):
        return FormAnswer(None, comment)
    try:
        score = float(text.replace(",", "."))
    except ValueError:
        score = math.nan
    allowed = {option.score for option in question.options}
    if score in allowed or (not question.is_pass_fail and 0 <= score <= question.max_score):
        return FormAnswer("", comment, score)
    options = ", ".join(option.text for option in question.options)
    raise DataError(
        f"{text!r} is not an answer to {question.id!r}; expected {options} or N/A",
        field=question.id,
        place=place,
    )


def _find_question(form: Form, name: str, place: str) -> FormQuestion:
    question = form.question(name)
    if question is None:
        raise DataError(f"{name!r} is not a question of the form", place=place)
    return question


def _missing_call_id(field: str, source: Source) -> DataError:
    return DataError("is missing; expected the id of the call", field=field, place=source.name)
