"""Reads filled-in forms of Amazon Connect, Genesys and Google, or from tables of marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.core.errors import DataError
from callscore.importers.forms.marks import (
    MarkOptions,
    read_mark,
    read_marks,
    unknown_question,
)
from callscore.importers.source_file import Source
from callscore.importers.tables import format_cell
from callscore.metrics.forms.form import Evaluation, Form, FormAnswer, FormQuestion

NA = "N/A"
UNFINISHED = frozenset({"DRAFT", "PENDING", "INPROGRESS", "RETRACTED"})
"""States of evaluations of Amazon Connect and Genesys that may still change or do not count."""


def read_evaluations(
    source: Source,
    form: Form,
    options: MarkOptions | None = None,
    notes: list[str] | None = None,
) -> list[Evaluation]:
    """Read every filled-in form of a file; raises DataError if a mark is not an option."""
    found = [] if notes is None else notes
    evaluations = list(_evaluations_in(source, form, options or MarkOptions(), found))
    if not evaluations:
        raise DataError(
            "has no filled-in form; expected an evaluation of Amazon Connect, Genesys or Google, "
            "or a table with a column `call_id`",
            place=source.name,
        )
    return evaluations


def _evaluations_in(
    source: Source, form: Form, options: MarkOptions, notes: list[str]
) -> Iterator[Evaluation]:
    objects = listed_objects(source)
    if not objects:
        yield from read_marks(source, form, options, notes)
    for number, value in enumerate(objects):
        evaluation = _from_object(value, form, source) if isinstance(value, dict) else None
        if evaluation is None:
            raise DataError(
                "is not an evaluation in a known format", field=f"[{number}]", place=source.name
            )
        if (doubt := _doubt(value)) is not None:
            notes.append(f"call {evaluation.call_id!r}: {doubt}")
        yield evaluation


def listed_objects(source: Source) -> list[Any]:
    """The objects of a file; those in `entities` if it is a page of Genesys' API."""
    objects = source.objects
    page = (
        objects[0].get("entities") if len(objects) == 1 and isinstance(objects[0], dict) else None
    )
    return page if isinstance(page, list) else objects


def _doubt(value: Mapping[str, Any]) -> str | None:
    """Why an evaluation may not be the finished mark of a person."""
    inner = _object(value.get("Evaluation")) or value
    status = inner.get("status") or inner.get("Status")
    if value.get("systemSubmitted"):
        return "the evaluation was submitted by the system, not by a person"
    if isinstance(status, str) and status.upper() in UNFINISHED:
        return f"the evaluation is not finished ({status})"
    return None


def _from_object(value: Mapping[str, Any], form: Form, source: Source) -> Evaluation | None:
    inner = value.get("Evaluation")
    amazon = inner if isinstance(inner, dict) else value
    if isinstance(amazon.get("Answers"), dict):
        return _from_amazon(amazon, form, source)
    if "evaluationId" in value and isinstance(value.get("questions"), list):
        return _from_amazon_export(value, form, source)
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
        question = _find_question(form, str(ref_id), "Answers", source.name)
        comment = _amazon_comment(notes.get(ref_id))
        found = _amazon_answer(question, answer, comment, source)
        if found is not None:
            answers[question.id] = found
    return Evaluation(call_id, answers, str(metadata.get("EvaluatorArn") or ""), source.name)


def _amazon_comment(note: Any) -> str:
    text = note.get("Value") if isinstance(note, dict) else note
    return text if isinstance(text, str) else ""


def _amazon_answer(
    question: FormQuestion, answer: Any, comment: str, source: Source
) -> FormAnswer | None:
    value = answer.get("Value") if isinstance(answer, dict) else answer
    if isinstance(value, dict):
        value = (
            NA
            if value.get("NotApplicable")
            else value.get("StringValue", value.get("NumericValue"))
        )
    return read_mark(question, format_cell(value), comment, question.id, source.name)


def _from_amazon_export(value: Mapping[str, Any], form: Form, source: Source) -> Evaluation:
    """An evaluation as Amazon Connect exports it to S3 (schema 3)."""
    metadata = _object(value.get("metadata"))
    call_id = metadata.get("contactId")
    if not isinstance(call_id, str):
        raise _missing_call_id("metadata.contactId", source)
    answers: dict[str, FormAnswer] = {}
    for one in value["questions"]:
        exported = _object(one)
        name = str(exported.get("questionRefId"))
        question = _find_question(form, name, "questions", source.name)
        answer = _object(exported.get("answer"))
        comment = answer.get("notes")
        found = read_mark(
            question,
            _exported_mark(answer),
            comment if isinstance(comment, str) else "",
            question.id,
            source.name,
        )
        if found is not None:
            answers[question.id] = found
    return Evaluation(call_id, answers, str(metadata.get("evaluator") or ""), source.name)


def _exported_mark(answer: Mapping[str, Any]) -> str:
    """The chosen option, the number or N/A; empty if the question was not answered."""
    if _object(answer.get("metadata")).get("notApplicable"):
        return NA
    values = answer.get("values")
    if isinstance(values, list):
        chosen = [one for one in map(_object, values) if one.get("selected")]
        if not chosen:
            return ""
        is_na = str(chosen[0].get("valueRefId")) == "system_default_null_value"
        return NA if is_na else format_cell(chosen[0].get("valueRefId") or chosen[0]["valueText"])
    return format_cell(answer.get("value"))


def _from_genesys(
    value: Mapping[str, Any], groups: Sequence[Any], form: Form, source: Source
) -> Evaluation:
    call_id = _object(value.get("conversation")).get("id") or value.get("conversationId")
    if not isinstance(call_id, str):
        raise _missing_call_id("conversation.id", source)
    answers: dict[str, FormAnswer] = {}
    for group in groups:
        scores = _object(group).get("questionScores")
        if _object(group).get("markedNA") or _object(group).get("systemMarkedNA"):
            answers |= _group_not_applicable(form, _object(group), source)
            continue
        for score in scores if isinstance(scores, list) else []:
            if not isinstance(score, dict):
                raise DataError("expected an object", field="questionScores", place=source.name)
            question = _find_question(
                form, str(score.get("questionId")), "questionScores", source.name
            )
            comment = str(score.get("comments") or "")
            text = NA if score.get("markedNA") else str(score.get("answerId") or "")
            if score.get("systemMarkedNA"):
                answers[question.id] = FormAnswer(None, comment)
            elif answer := read_mark(question, text, comment, question.id, source.name):
                answers[question.id] = answer
    evaluator = str(_object(value.get("evaluator")).get("id") or "")
    return Evaluation(call_id, answers, evaluator, source.name)


def _group_not_applicable(
    form: Form, group: Mapping[str, Any], source: Source
) -> dict[str, FormAnswer]:
    """N/A for every question of a group that was marked so as a whole."""
    name = str(group.get("questionGroupId") or "")
    section = next((one for one in form.sections if one.id == name), None)
    if section is None:
        raise DataError(
            f"{name!r} is not a group of the form", field="questionGroupId", place=source.name
        )
    return {question.id: FormAnswer(None) for question in section.questions}


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
        question = _find_question(form, name, "qaAnswers", source.name)
        chosen = _object(answer.get("answerValue") or answer.get("answer_value"))
        found = _google_answer(question, chosen, source)
        if found is not None:
            answers[question.id] = found
    return Evaluation(call_id, answers, source=source.name)


def _google_answer(
    question: FormQuestion, chosen: Mapping[str, Any], source: Source
) -> FormAnswer | None:
    text = NA if chosen.get("naValue") or chosen.get("na_value") else ""
    for key in ("key", "strValue", "str_value", "boolValue", "bool_value", "numValue", "num_value"):
        if key in chosen and not text:
            value = chosen[key]
            text = ("Yes" if value else "No") if isinstance(value, bool) else format_cell(value)
    return read_mark(question, text, "", question.id, source.name)


def _find_question(form: Form, name: str, field: str, place: str) -> FormQuestion:
    question = form.question(name)
    if question is None:
        raise unknown_question(name, form, field, place)
    return question


def _missing_call_id(field: str, source: Source) -> DataError:
    return DataError("is missing; expected the id of the call", field=field, place=source.name)
