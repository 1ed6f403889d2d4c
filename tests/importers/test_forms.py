"""Forms of every vendor become one form; filled-in ones become gold; totals are the vendors'."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from call_files import csv_turns, dumps
from callscore.core.errors import DataError
from callscore.importers.forms.evaluations import read_evaluations
from callscore.importers.forms.readers import read_form
from callscore.importers.source_file import Source
from callscore.metrics.forms.arithmetic import (
    chosen_by_points,
    confusion,
    hidden_questions,
    mark_of,
    total,
)
from callscore.metrics.forms.form import (
    Form,
    FormQuestion,
    Option,
    Section,
    expected_questions,
    qa_config,
)


def aws_question(ref_id: str, title: str, **more: Any) -> dict[str, Any]:
    options = [
        {"RefId": f"{ref_id}-yes", "Text": "Yes", "Score": 10},
        {"RefId": f"{ref_id}-no", "Text": "No", "Score": 0, **more.pop("no", {})},
    ]
    return {
        "Question": {
            "Title": title,
            "RefId": ref_id,
            "QuestionType": "SINGLESELECT",
            "NotApplicableEnabled": True,
            "QuestionTypeProperties": {"SingleSelect": {"Options": options}},
            **more,
        }
    }


def aws_form(mode: str = "QUESTION_ONLY") -> dict[str, Any]:
    condition = {
        "Condition": {
            "Operands": [
                {
                    "Expression": {
                        "Source": {"Type": "QUESTION_REF_ID", "RefId": "q2"},
                        "Values": [{"Type": "OPTION_REF_ID", "RefId": "q2-no"}],
                        "Comparator": "IN",
                    }
                }
            ]
        },
        "Action": "ENABLE",
    }
    return {
        "EvaluationForm": {
            "EvaluationFormId": "f",
            "Title": "Service",
            "ScoringStrategy": {"Mode": mode, "Status": "ENABLED"},
            "Items": [
                {
                    "Section": {
                        "Title": "Opening",
                        "RefId": "s1",
                        "Weight": 25.0,
                        "Items": [
                            aws_question("q1", "Did the agent greet?", Weight=25.0),
                            aws_question(
                                "q2",
                                "Did the agent verify identity?",
                                Weight=25.0,
                                no={"AutomaticFail": True},
                            ),
                        ],
                    }
                },
                {
                    "Section": {
                        "Title": "Closing",
                        "RefId": "s2",
                        "Weight": 75.0,
                        "Items": [
                            aws_question("q3", "Was the failure explained?", Enablement=condition),
                            {
                                "Question": {
                                    "Title": "Hold time in seconds",
                                    "RefId": "q4",
                                    "QuestionType": "NUMERIC",
                                    "Weight": 50.0,
                                    "QuestionTypeProperties": {
                                        "Numeric": {
                                            "MinValue": 0,
                                            "MaxValue": 600,
                                            "Options": [
                                                {"MinValue": 0, "MaxValue": 60, "Score": 10},
                                                {"MinValue": 61, "MaxValue": 600, "Score": 5},
                                            ],
                                        }
                                    },
                                }
                            },
                            {
                                "Question": {
                                    "Title": "Remarks",
                                    "RefId": "q5",
                                    "QuestionType": "TEXT",
                                }
                            },
                        ],
                    }
                },
            ],
        }
    }


GENESYS = {
    "id": "g",
    "name": "Care",
    "questionGroups": [
        {
            "id": "g1",
            "name": "Compliance",
            "weight": 60,
            "manualWeight": True,
            "questions": [
                {
                    "id": "k1",
                    "text": "Recording notice given?",
                    "type": "multipleChoiceQuestion",
                    "isKill": True,
                    "naEnabled": True,
                    "answerOptions": [
                        {"id": "a1", "text": "Yes", "value": 2},
                        {"id": "a2", "text": "No", "value": 0},
                    ],
                },
                {
                    "id": "k2",
                    "text": "Read word for word?",
                    "type": "multipleChoiceQuestion",
                    "isCritical": True,
                    "visibilityCondition": {
                        "combiningOperation": "OR",
                        "predicates": ["/form/questionGroup/0/question/0/answer/0"],
                    },
                    "answerOptions": [
                        {"id": "b1", "text": "Yes", "value": 3},
                        {"id": "b2", "text": "Partly", "value": 1},
                        {"id": "b3", "text": "No", "value": 0},
                    ],
                },
            ],
        },
        {
            "id": "g2",
            "name": "Tone",
            "weight": 40,
            "questions": [
                {
                    "id": "t1",
                    "text": "Friendly?",
                    "naEnabled": True,
                    "answerOptions": [
                        {"id": "c1", "text": "Yes", "value": 4},
                        {"id": "c2", "text": "No", "value": 0},
                    ],
                }
            ],
        },
    ],
}
GOOGLE = {
    "name": "projects/p/locations/l/qaScorecards/s/revisions/r",
    "displayName": "Quality",
    "qaQuestions": [
        {
            "name": "…/qaQuestions/g1",
            "questionBody": "Did the agent apologise?",
            "tags": ["CUSTOMER"],
            "answerChoices": [
                {"key": "y", "boolValue": True, "score": 5},
                {"key": "n", "boolValue": False, "score": 0},
                {"key": "na", "naValue": True},
            ],
        },
        {
            "name": "…/qaQuestions/g2",
            "questionBody": "How well was the issue solved?",
            "tags": ["BUSINESS"],
            "answerChoices": [
                {"key": "full", "strValue": "Fully", "score": 5},
                {"key": "part", "strValue": "Partly", "score": 2},
                {"key": "not", "strValue": "Not", "score": 0},
            ],
        },
    ],
}


def form_of(value: Any) -> Form:
    return read_form(Source("form.json", dumps(value)))


def table(rows: list[list[Any]]) -> Source:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return Source("form.csv", file.getvalue().encode())


TABLE = [
    ["Section", "ID", "Question", "Weight", "Options", "Critical", "NA allowed", "Condition"],
    ["Opening", "greet", "Greeting given?", "2", "Yes=5; No=0; N/A", "", "yes", ""],
    ["Opening", "verify", "Identity verified?", "3", "Yes/No", "yes", "", ""],
    ["Body", "solve", "Issue solved?", "5", "Fully=5; Partly=2; Not=0", "", "", "verify=Yes"],
]  # fmt: skip


def test_an_amazon_form_is_read_with_sections_options_and_conditions() -> None:
    form = form_of(aws_form())
    assert [section.title for section in form.sections] == ["Opening", "Closing"]
    questions = {question.id: question for question in form.questions}
    assert questions["q2"].options[1].auto_fail
    assert questions["q3"].condition is not None
    assert questions["q3"].condition.answers == ["q2-no"]
    assert questions["q4"].kind == "number"
    assert any("q5" in note for note in form.notes)


def test_a_form_becomes_questions_that_the_qa_task_understands() -> None:
    config = qa_config(form_of(aws_form()))
    listed = config["questions"]
    assert [one["question_id"] for one in listed] == ["q1", "q2", "q3", "q4"]
    assert listed[0]["type"] == "PASS_FAIL" and listed[0]["max_score"] == 10
    assert listed[3]["type"] == "SCORE"
    assert "applies only where question q2" in listed[2]["question"]
    assert "Score null where the question does not apply" in listed[0]["question"]


def test_amazon_question_weights_leave_out_what_does_not_apply() -> None:
    form = form_of(aws_form())
    found = total(form, {"q1": 10, "q2": 10, "q3": None, "q4": 5})
    # (25·1 + 25·1 + 50·0.5) / 100
    assert found.percent == pytest.approx(75)
    assert total(form, {"q1": None, "q2": None, "q3": None, "q4": None}).percent is None
    opening = total(form, {"q1": None, "q2": None, "q4": 10}).sections[0]
    assert opening.percent is None  # a section without an answer is not 0


def test_amazon_section_weights_average_the_questions_of_a_section() -> None:
    form = form_of(aws_form("SECTION_ONLY"))
    found = total(form, {"q1": 0, "q2": 10, "q3": None, "q4": 5})
    assert found.percent == pytest.approx(0.25 * 50 + 0.75 * 50)


def test_an_automatic_fail_zeroes_the_form_or_one_section() -> None:
    form = form_of(aws_form())
    failed = total(form, {"q1": 10, "q2": 0, "q4": 10})
    assert failed.percent == 0 and failed.failed_by == ["q2"]
    value = aws_form("SECTION_ONLY")
    opening = value["EvaluationForm"]["Items"][0]["Section"]["Items"][1]["Question"]
    opening["QuestionTypeProperties"]["SingleSelect"]["Options"][1] = {
        "RefId": "q2-no",
        "Text": "No",
        "Score": 0,
        "AutomaticFailConfiguration": {"TargetSection": "s1"},
    }
    partly = total(form_of(value), {"q1": 10, "q2": 0, "q4": 10})
    assert [one.percent for one in partly.sections] == [0, 100]
    assert partly.percent == pytest.approx(75)


def test_genesys_weights_groups_and_fails_on_a_kill_question() -> None:
    form = form_of(GENESYS)
    good = total(form, {"k1": 2, "k2": 1, "t1": 4})
    # 3 of 5 points in a group of weight 60, 4 of 4 in a group of weight 40
    assert good.percent == pytest.approx(0.6 * 60 + 0.4 * 100)
    killed = total(form, {"k1": 0, "k2": 3, "t1": 4})
    assert killed.percent == 0 and killed.failed_by == ["k1"]


def test_google_adds_points_of_what_applies() -> None:
    form = form_of(GOOGLE)
    assert total(form, {"g1": None, "g2": 2}).percent == pytest.approx(40)
    assert total(form, {"g1": 5, "g2": 2}).percent == pytest.approx(70)
    assert form.question("g1") is not None and form.sections[0].title == "CUSTOMER"


def hidden(form: Form, marks: dict[str, float | None]) -> set[str]:
    return hidden_questions(form, chosen_by_points(form, marks))


def test_questions_whose_condition_is_not_met_do_not_apply() -> None:
    assert hidden(form_of(aws_form()), {"q2": 10}) == {"q3"}
    assert hidden(form_of(aws_form()), {"q2": 0}) == set()
    form = read_form(table(TABLE))
    assert hidden(form, {"verify": 0}) == {"solve"}
    assert hidden(form, {"verify": 1}) == set()
    assert hidden(form, {}) == set()  # not marked: it stays open


def test_a_table_is_a_form() -> None:
    form = read_form(table(TABLE))
    greet, verify, solve = form.questions
    assert greet.na_allowed and greet.max_score == 5 and greet.weight == 2
    assert verify.options[1].auto_fail
    assert [one.score for one in solve.options] == [5, 2, 0]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (["x", "a", "Why?", "much", "", "", "", ""], "'much' is not a number"),
        (["x", "a", "Why?", "nan", "", "", "", ""], "'nan' is not a number"),
        (["x", "a", "Why?", "", "Yes=inf; No=0", "", "", ""], "'inf' is not a number"),
        (["x", "a", "Why?", "", "Good=5; Bad", "", "", ""], "'Bad' has no points"),
        (["x", "a", "Why?", "", "", "", "", "whenever"], "expected QUESTION=ANSWER"),
        (["x", "a", "", "1", "", "", "", ""], "is empty; expected a question"),
    ],
)
def test_a_bad_row_of_a_form_is_named(row: list[str], problem: str) -> None:
    with pytest.raises(DataError, match=problem) as caught:
        read_form(table([TABLE[0], row]))
    assert "form.csv: line 2" in str(caught.value)


def test_an_amazon_evaluation_becomes_gold() -> None:
    form = form_of(aws_form())
    value = {
        "Evaluation": {
            "Metadata": {"ContactId": "call-1", "EvaluatorArn": "arn:x"},
            "Answers": {
                "q1": {"Value": {"StringValue": "q1-yes"}},
                "q2": {"Value": {"StringValue": "q2-no"}},
                "q3": {"Value": {"NotApplicable": True}},
                "q4": {"Value": {"NumericValue": 75}},
            },
            "Notes": {"q1": {"Value": "Greets by name."}},
        }
    }
    (evaluation,) = read_evaluations(Source("e.json", dumps(value)), form)
    scores = {one["question_id"]: one["score"] for one in expected_questions(form, evaluation)}
    assert scores == {"q1": 10, "q2": 0, "q3": None, "q4": 5}
    assert expected_questions(form, evaluation)[0]["reason"] == "Greets by name."


def test_genesys_and_google_evaluations_become_gold() -> None:
    genesys = {
        "conversation": {"id": "call-1"},
        "answers": {
            "questionGroupScores": [
                {
                    "questionGroupId": "g1",
                    "questionScores": [
                        {"questionId": "k1", "answerId": "a1", "comments": "clear"},
                        {"questionId": "k2", "answerId": "b2"},
                    ],
                },
                {
                    "questionGroupId": "g2",
                    "questionScores": [{"questionId": "t1", "markedNA": True}],
                },
            ]
        },
    }
    (found,) = read_evaluations(Source("e.json", dumps(genesys)), form_of(GENESYS))
    marks = [one["score"] for one in expected_questions(form_of(GENESYS), found)]
    assert marks == [2, 1, None]
    google = {
        "conversation": "projects/p/conversations/call-1",
        "qaAnswers": [
            {"qaQuestion": "…/qaQuestions/g1", "answerValue": {"naValue": True}},
            {"qaQuestion": "…/qaQuestions/g2", "answerValue": {"strValue": "Partly"}},
        ],
    }
    (found,) = read_evaluations(Source("e.json", dumps(google)), form_of(GOOGLE))
    assert [one["score"] for one in expected_questions(form_of(GOOGLE), found)] == [None, 2]


@pytest.mark.parametrize(("given", "score"), [(1, 1), (0, 0), (True, 5), (False, 2)])
def test_a_number_of_google_is_not_taken_for_yes_or_no(given: int | bool, score: float) -> None:
    choices = [
        {"key": "a", "numValue": 0, "score": 0},
        {"key": "b", "numValue": 1, "score": 1},
        {"key": "c", "boolValue": True, "score": 5},
        {"key": "d", "boolValue": False, "score": 2},
    ]
    form = form_of({"qaQuestions": [{"name": "q", "questionBody": "?", "answerChoices": choices}]})
    kind = "boolValue" if isinstance(given, bool) else "numValue"
    value = {
        "conversation": "call-1",
        "qaAnswers": [{"qaQuestion": "q", "answerValue": {kind: given}}],
    }
    (found,) = read_evaluations(Source("e.json", dumps(value)), form)
    assert [one["score"] for one in expected_questions(form, found)] == [score]


@pytest.mark.parametrize(
    "answers",
    [
        {"questionGroupScores": [{"questionScores": ["k1"]}]},
        {"questionGroupScores": [{"questionScores": [{"questionId": "none of it"}]}]},
    ],
)
def test_a_malformed_genesys_evaluation_is_refused(answers: object) -> None:
    value = {"conversation": {"id": "call-1"}, "answers": answers}
    with pytest.raises(DataError):
        list(read_evaluations(Source("e.json", dumps(value)), form_of(GENESYS)))


def test_a_table_of_answers_becomes_gold_in_either_shape() -> None:
    form = read_form(table(TABLE))
    wide = table(
        [["Call ID", "greet", "greet comment", "verify", "solve"],
         ["call-1", "Yes", "by name", "yes", "Partly"],
         ["call-2", "N/A", "", "No", ""]]
    )  # fmt: skip
    first, second = read_evaluations(wide, form)
    assert [one["score"] for one in expected_questions(form, first)] == [5, 1, 2]
    assert [one["question_id"] for one in expected_questions(form, second)] == ["greet", "verify"]
    assert [one["score"] for one in expected_questions(form, second, {"solve"})] == [None, 0, None]
    long = table(
        [["call_id", "question_id", "answer", "comment"],
         ["call-1", "greet", "Yes", "by name"],
         ["call-1", "verify", "Yes", ""],
         ["call-1", "solve", "2", ""]]
    )  # fmt: skip
    (again,) = read_evaluations(long, form)
    assert expected_questions(form, again) == expected_questions(form, first)


def test_an_answer_that_is_no_option_is_named_with_its_row() -> None:
    form = read_form(table(TABLE))
    wide = table([["Call ID", "greet", "verify", "solve"], ["call-1", "Perhaps", "Yes", "Not"]])
    with pytest.raises(DataError, match=r"line 2: field greet: 'Perhaps' is not an answer"):
        list(read_evaluations(wide, form))


def test_a_word_is_not_an_answer_to_a_question_with_a_negative_option() -> None:
    penalty = Option("bad", "Bad", score=-1.0)
    question = FormQuestion("q", "Q", options=[penalty, Option("good", "Good", score=1.0)])
    form = Form("f", "F", [Section("s", "S", [question])], "points", "table")
    with pytest.raises(DataError, match="'Perhaps' is not an answer"):
        list(read_evaluations(table([["Call ID", "q"], ["call-1", "Perhaps"]]), form))


def test_na_answered_with_no_is_counted() -> None:
    pairs = [(mark_of(None, 5), mark_of(0, 5)), (mark_of(None, 5), mark_of(None, 5)),
             (mark_of(5, 5), mark_of(5, 5)), (mark_of(0, 5), mark_of(2, 5))]  # fmt: skip
    found = confusion(pairs)
    assert found.na_to_no_rate == 0.5
    assert found.agreement == 0.75
    assert confusion([]).na_to_no_rate is None


def test_what_is_no_form_is_refused(tmp_path: Path) -> None:
    del tmp_path
    for data in (b"{}", b"[]", csv_turns(), b"a,b\n1,2\n"):
        with pytest.raises(DataError):
            read_form(Source("x", data))
