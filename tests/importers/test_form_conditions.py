"""Conditions of vendors' forms: zero-based answers, relative paths, AND and OR, groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from callscore.core.errors import DataError
from callscore.importers.forms.evaluations import read_evaluations
from callscore.importers.forms.readers import read_form
from callscore.importers.source_file import Source
from callscore.metrics.forms.arithmetic import chosen_by_points, hidden_questions
from callscore.metrics.forms.form import Form, expected_questions, qa_config

YES_PARTLY_NO = ({"id": "y", "text": "Yes", "value": 2}, {"id": "p", "text": "Partly", "value": 1},
                 {"id": "n", "text": "No", "value": 0})  # fmt: skip


def condition(*predicates: object, operation: str = "AND") -> dict[str, Any]:
    return {"combiningOperation": operation, "predicates": list(predicates)}


def question(name: str, when: Mapping[str, Any] | None = None) -> dict[str, Any]:
    options = [{**one, "id": f"{name}-{one['id']}"} for one in YES_PARTLY_NO]
    asked: dict[str, Any] = {"id": name, "text": f"{name}?", "answerOptions": options}
    return asked | ({"visibilityCondition": when} if when is not None else {})


def genesys(when: Mapping[str, Any] | None = None, group: Mapping[str, Any] | None = None) -> Form:
    """Two groups: a and b, then c (with a condition) and d; the second may have one, too."""
    second: dict[str, Any] = {
        "id": "g2",
        "name": "Sale",
        "questions": [question("c", when), question("d")],
    }
    if group is not None:
        second["visibilityCondition"] = group
    groups = [{"id": "g1", "name": "Need", "questions": [question("a"), question("b")]}, second]
    value = {"id": "f", "name": "Form", "questionGroups": groups}
    return read_form(Source("form.json", json.dumps(value).encode()))


def hidden(form: Form, **marks: float | None) -> set[str]:
    return hidden_questions(form, chosen_by_points(form, marks))


def test_a_genesys_answer_is_counted_from_zero() -> None:
    form = genesys(condition("/form/questionGroup/0/question/1/answer/2"))
    assert hidden(form, a=0, b=0) == set()  # answer 2 of b is No
    assert hidden(form, a=0, b=1) == {"c"}
    assert hidden(form, b=None) == {"c"}  # N/A is no answer
    assert (
        "applies only where question b is answered with No"
        in (qa_config(form)["questions"][2]["question"])
    )


def test_a_relative_genesys_path_begins_in_the_group_of_the_question() -> None:
    form = genesys(condition("../question/1/answer/0"))
    assert hidden(form, d=2, b=0) == set()
    assert hidden(form, d=0, b=2) == {"c"}


def test_genesys_predicates_are_joined_by_and_or_or() -> None:
    paths = ("/form/questionGroup/0/question/0/answer/0", "../question/1/answer/2")
    both, either = genesys(condition(*paths)), genesys(condition(*paths, operation="OR"))
    assert hidden(both, a=2, d=0) == set()
    assert hidden(both, a=2, d=2) == {"c"}
    assert hidden(either, a=2, d=2) == set()
    assert hidden(either, a=0, d=2) == {"c"}
    assert hidden(both, a=2) == hidden(either, d=2) == set()  # the other one is not marked yet


def test_the_condition_of_a_genesys_group_holds_for_its_questions() -> None:
    form = genesys(
        condition("../question/1/answer/0"), condition("/form/questionGroup/0/question/0/answer/0")
    )
    assert hidden(form, a=0, d=2) == {"c", "d"}
    assert hidden(form, a=2, d=2) == set()
    assert hidden(form, a=2, d=0) == {"c"}


@pytest.mark.parametrize(
    "predicate",
    [
        "/form/questionGroup/0/question/7/answer/0",
        "/form/questionGroup/0/question/0/answer/3",
        "/form/questionGroup/0/question/0",
        "when it rains",
        7,
    ],
)
def test_a_genesys_condition_that_cannot_be_read_is_named(predicate: object) -> None:
    form = genesys(condition("/form/questionGroup/0/question/0/answer/0", predicate))
    (note,) = form.notes
    assert "question 'c' (c?): its condition cannot be read" in note
    assert repr(predicate) in note and "asked on every call" in note
    assert hidden(form, a=0) == set()


def test_a_genesys_group_condition_that_cannot_be_read_is_named() -> None:
    (note,) = genesys(group=condition("../question/0/answer/0")).notes
    assert "group 'Sale': its condition cannot be read" in note


def test_a_genesys_form_without_ids_is_numbered() -> None:
    value = {"questionGroups": [{"name": "g", "questions": [
        {"text": "First?", "answerOptions": [{"text": "Yes", "value": 1}, {"text": "No"}]},
        {"text": "Second?", "answerOptions": [{"text": "Yes", "value": 1}, {"text": "No"}],
         "visibilityCondition": condition("../question/0/answer/1")},
    ]}]}  # fmt: skip
    form = read_form(Source("form.json", json.dumps(value).encode()))
    assert [one.id for one in form.questions] == ["Q1", "Q2"]
    assert hidden(form, Q1=1) == {"Q2"}


def test_a_page_of_the_api_with_nulls_is_read() -> None:
    form = {"entities": [{"id": "f", "name": "F", "questionGroups": [
        {"id": "g", "name": "G", "weight": None, "visibilityCondition": None,
         "questions": [question("a") | {"helpText": None, "naEnabled": None}]}]}]}  # fmt: skip
    found = read_form(Source("form.json", json.dumps(form).encode()))
    assert [one.id for one in found.questions] == ["a"]
    scores = [{"questionId": "a", "answerId": "a-y"}]
    one = {"conversation": {"id": "c1"}, "status": "FINISHED",
           "answers": {"questionGroupScores": [{"questionScores": scores}]}}  # fmt: skip
    more = one | {"conversation": {"id": "c2"}, "status": "INPROGRESS"}
    machine = one | {"conversation": {"id": "c3"}, "systemSubmitted": True}
    page = json.dumps({"entities": [one, more, machine]}).encode()
    notes: list[str] = []
    read = read_evaluations(Source("e.json", page), found, notes=notes)
    assert [evaluation.call_id for evaluation in read] == ["c1", "c2", "c3"]
    assert notes == [
        "call 'c2': the evaluation is not finished (INPROGRESS)",
        "call 'c3': the evaluation was submitted by the system, not by a person",
    ]


def test_a_genesys_group_that_is_marked_na_is_na_for_its_questions() -> None:
    form = genesys()
    groups = [
        {"questionGroupId": "g1", "questionScores": [{"questionId": "a", "answerId": "a-y"}]},
        {"questionGroupId": "g2", "markedNA": True, "questionScores": []},
    ]
    value = {"conversationId": "c1", "answers": {"questionGroupScores": groups}}
    (found,) = read_evaluations(Source("e.json", json.dumps(value).encode()), form)
    assert {name: answer.option for name, answer in found.answers.items()} == {
        "a": "a-y",
        "c": None,
        "d": None,
    }


def test_a_question_that_is_hidden_for_the_person_is_na_and_not_unmarked() -> None:
    form = genesys(condition("/form/questionGroup/0/question/0/answer/0"))
    scores = [{"questionId": "a", "answerId": "a-n"}, {"questionId": "b", "answerId": "b-y"}]
    value = {"conversationId": "c1", "answers": {"questionGroupScores": [
        {"questionScores": scores}]}}  # fmt: skip
    (found,) = read_evaluations(Source("e.json", json.dumps(value).encode()), form)
    marks = expected_questions(form, found, hidden(form, a=0, b=2))
    assert [(one["question_id"], one["score"]) for one in marks] == [
        ("a", 0),
        ("b", 2),
        ("c", None),
    ]


def amazon(enablement: object) -> Form:
    options = [{"RefId": name, "Text": name, "Score": score}
               for name, score in (("yes", 10), ("part", 5), ("no", 0))]  # fmt: skip
    properties = {"SingleSelect": {"Options": options}}
    items: list[Any] = [
        {"Question": {"Title": name, "RefId": name, "QuestionTypeProperties": properties}}
        for name in ("a", "b", "c")
    ]
    items[2]["Question"]["Enablement"] = enablement
    value = {"Title": "F", "Items": items}
    return read_form(Source("form.json", json.dumps(value).encode()))


def expression(name: str, *answers: str, comparator: str = "IN") -> dict[str, Any]:
    values = [{"Type": "OPTION_REF_ID", "RefId": answer} for answer in answers]
    source = {"Type": "QUESTION_REF_ID", "RefId": name}
    return {"Expression": {"Source": source, "Values": values, "Comparator": comparator}}


def enable(*operands: object, operator: str | None = None, action: str = "ENABLE") -> object:
    joined = {"Operands": list(operands)} | ({"Operator": operator} if operator else {})
    return {"Condition": joined, "Action": action}


def test_amazon_conditions_are_joined_nested_and_negated() -> None:
    either = amazon(enable(expression("a", "yes"), expression("b", "no"), operator="OR"))
    assert hidden(either, a=10, b=10) == set()
    assert hidden(either, a=0, b=10) == {"c"}
    nested = {"Condition": {"Operands": [expression("b", "yes", "part")]}}
    both = amazon(enable(expression("a", "no", comparator="NOT_IN"), nested, operator="AND"))
    assert hidden(both, a=10, b=5) == set()
    assert hidden(both, a=0, b=5) == {"c"}
    assert hidden(both, a=10, b=0) == {"c"}
    disabled = amazon(enable(expression("a", "no"), action="DISABLE"))
    assert hidden(disabled, a=0) == {"c"}
    assert hidden(disabled, a=10) == set()


@pytest.mark.parametrize(
    "enablement",
    [
        enable(),
        enable(expression("a", "yes"), expression("b", "yes")),
        enable(expression("a", "yes", "no", comparator="EXACT")),
        enable({"Expression": {"Values": []}}),
        enable(expression("a", "yes"), action="HIDE"),
    ],
)
def test_an_amazon_condition_that_cannot_be_read_is_named(enablement: object) -> None:
    form = amazon(enablement)
    assert ["question 'c': its condition cannot be read" in note for note in form.notes] == [True]


def test_options_that_points_cannot_tell_apart_are_named_if_one_fails_the_form() -> None:
    options = [
        {"RefId": "a", "Text": "Late", "Score": 1, "AutomaticFail": True},
        {"RefId": "b", "Text": "In time", "Score": 1},
    ]
    asked = {"Title": "When?", "RefId": "q",
             "QuestionTypeProperties": {"SingleSelect": {"Options": options}}}  # fmt: skip
    value = {"Title": "F", "Items": [{"Question": asked}]}
    (note,) = read_form(Source("form.json", json.dumps(value).encode())).notes
    assert note.startswith("question 'q': 'Late', 'In time' give the same points")


def test_a_condition_on_an_answer_that_the_form_lacks_is_refused() -> None:
    with pytest.raises(DataError, match="field c: its condition names the answer 'maybe' of 'a'"):
        amazon(enable(expression("a", "maybe")))
