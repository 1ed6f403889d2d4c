"""Reads filled-in forms of Amazon Connect, Genesys and Google, and from tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.core.errors import DataError
from callscore.importers.source import Source
from callscore.importers.table_calls import CALL
from callscore.importers.tables import Table, TableRow, format_cell, group_rows, read_tables
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
    evaluations = list(_read(source, form))
    if not evaluations:
        raise DataError(
            "has no filled-in form; expected an evaluation of Amazon Connect, Genesys or Google, "
            "or a table with a column `call_id`",
            place=source.name,
        )
    yield from evaluations


def _read(source: Source, form: Form) -> Iterator[Evaluation]:
    objects = source.objects
    if objects:
        for number, value in enumerate(objects):
            evaluation = _from_object(value, form, source) if isinstance(value, dict) else None
            if evaluation is None:
                raise DataError("is not an evaluation in a known format", field=f"[{number}]",
                                place=source.name)  # fmt: skip
            yield evaluation
        return
    for table in read_tables(source):
        yield from _from_table(table, form, source)


def _from_object(value: Mapping[str, Any], form: Form, source: Source) -> Evaluation | None:
    inner = value.get("Evaluation")
    aws = inner if isinstance(inner, dict) else value
    if isinstance(aws.get("Answers"), dict):
        return _from_amazon(aws, form, source)
    answers = value.get("answers")
    if isinstance(answers, dict) and isinstance(answers.get("questionGroupScores"), list):
        return _from_genesys(value, answers["questionGroupScores"], form, source)
    google = value.get("qaAnswers") or value.get("qa_answers")
    if isinstance(google, list):
        return _from_google(value, google, form, source)
    return None


def _from_amazon(value: Mapping[str, Any], form: Form, source: Source) -> Evaluation:
    metadata = value.get("Metadata") if isinstance(value.get("Metadata"), dict) else {}
    assert isinstance(metadata, Mapping)
    call_id = metadata.get("ContactId") or value.get("ContactId")
    if not isinstance(call_id, str):
        raise DataError("is missing; expected the id of the call", field="Metadata.ContactId",
                        place=source.name)  # fmt: skip
    notes = value.get("Notes") if isinstance(value.get("Notes"), dict) else {}
    answers: dict[str, FormAnswer] = {}
    for ref_id, given in value["Answers"].items():
        question = form.question(str(ref_id))
        if question is None:
            raise _unknown_question(str(ref_id), source.name)
        comment = _amazon_comment(notes, ref_id)
        answers[question.id] = _amazon_answer(question, given, comment, source)
    return Evaluation(call_id, answers, str(metadata.get("EvaluatorArn") or ""), source.name)


def _amazon_comment(notes: Any, ref_id: str) -> str:
    note = notes.get(ref_id) if isinstance(notes, dict) else None
    text = note.get("Value") if isinstance(note, dict) else note
    return text if isinstance(text, str) else ""


def _amazon_answer(question: FormQuestion, given: Any, comment: str, source: Source) -> FormAnswer:
    value = given.get("Value") if isinstance(given, dict) else given
    if isinstance(value, dict):
        if value.get("NotApplicable"):
            return FormAnswer(None, comment)
        value = value.get("StringValue", value.get("NumericValue"))
    return _read_answer(question, format_cell(value), comment, source.name)


def _from_genesys(
    value: Mapping[str, Any], groups: Sequence[Any], form: Form, source: Source
) -> Evaluation:
    conversation = value.get("conversation")
    call_id = conversation.get("id") if isinstance(conversation, dict) else None
    call_id = call_id or value.get("conversationId")
    if not isinstance(call_id, str):
        raise DataError("is missing; expected the id of the call", field="conversation.id",
                        place=source.name)  # fmt: skip
    answers: dict[str, FormAnswer] = {}
    for group in groups:
        scores = group.get("questionScores") if isinstance(group, dict) else None
        for given in scores if isinstance(scores, list) else []:
            if not isinstance(given, dict):
                raise DataError("expected an object", field="questionScores", place=source.name)
            question = form.question(str(given.get("questionId")))
            if question is None:
                raise _unknown_question(str(given.get("questionId")), source.name)
            comment = str(given.get("comments") or "")
            if given.get("markedNA") or given.get("systemMarkedNA"):
                answers[question.id] = FormAnswer(None, comment)
            elif given.get("answerId"):
                text = str(given["answerId"])
                answers[question.id] = _read_answer(question, text, comment, source.name)
    evaluator = value.get("evaluator")
    by = str(evaluator.get("id") or "") if isinstance(evaluator, dict) else ""
    return Evaluation(call_id, answers, by, source.name)


def _from_google(
    value: Mapping[str, Any], given: Sequence[Any], form: Form, source: Source
) -> Evaluation:
    call_id = str(value.get("conversation") or "").rpartition("/")[2]
    if not call_id:
        raise DataError("is missing; expected the id of the call", field="conversation",
                        place=source.name)  # fmt: skip
    answers: dict[str, FormAnswer] = {}
    for one in (one for one in given if isinstance(one, dict)):
        name = str(one.get("qaQuestion") or one.get("qa_question") or "").rpartition("/")[2]
        question = form.question(name)
        if question is None:
            raise _unknown_question(name, source.name)
        chosen = one.get("answerValue") or one.get("answer_value") or {}
        answers[question.id] = _google_answer(question, chosen, source)
    return Evaluation(call_id, answers, source=source.name)


def _google_answer(question: FormQuestion, chosen: Any, source: Source) -> FormAnswer:
    value = chosen if isinstance(chosen, dict) else {}
    if value.get("naValue") or value.get("na_value"):
        return FormAnswer(None)
    for key in ("key", "strValue", "str_value", "boolValue", "bool_value", "numValue", "num_value"):
        if key in value:
            given = value[key]
            text = ("Yes" if given else "No") if isinstance(given, bool) else format_cell(given)
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
        name = format_cell(row.cells.get(question_column))
        question = form.question(name)
        place = f"{source.name}: {row.where}"
        if question is None:
            raise _unknown_question(name, place)
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
        score = -1.0
    allowed = {one.score for one in question.options}
    if score in allowed or (not question.is_pass_fail and 0 <= score <= question.max_score):
        return FormAnswer("", comment, score)
    options = ", ".join(one.text for one in question.options)
    raise DataError(f"{text!r} is not an answer to {question.id!r}; expected {options} or N/A",
                    field=question.id, place=place)  # fmt: skip


def _unknown_question(name: str, place: str) -> DataError:
    return DataError(f"{name!r} is not a question of the form", place=place)
