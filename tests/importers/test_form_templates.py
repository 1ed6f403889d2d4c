"""Forms in CloudFormation and Terraform, and the evaluations that Amazon Connect exports to S3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callscore.core.errors import DataError
from callscore.importers.forms.evaluations import read_evaluations
from callscore.importers.forms.readers import read_form
from callscore.importers.source_file import Source
from callscore.metrics.forms.form import Form

TEMPLATE = """
Parameters: {Instance: {Type: String}}
Resources:
  Bucket: {Type: AWS::S3::Bucket}
  Form:
    Type: AWS::Connect::EvaluationForm
    Properties:
      InstanceArn: !Sub arn:${Instance}
      Title: Service
      Status: ACTIVE
      Items:
        - Section:
            Title: Opening
            RefId: s1
            Items:
              - Question:
                  Title: Did the agent greet?
                  RefId: q1
                  QuestionType: SINGLESELECT
                  NotApplicableEnabled: true
                  QuestionTypeProperties:
                    SingleSelect:
                      Options:
                        - {RefId: y, Text: "Yes", Score: 10}
                        - {RefId: n, Text: "No", Score: 0, AutomaticFail: true}
"""
AWSCC = """
resource "awscc_connect_evaluation_form" "service" {
  title = "Service" # a remark
  items = [{
    section = {
      title  = "Opening"
      ref_id = "s1"
      items = [{
        question = {
          title                  = "Did the agent greet?"
          ref_id                 = "q1"
          question_type          = "SINGLESELECT"
          not_applicable_enabled = true
          question_type_properties = {
            single_select = {
              options = [
                { ref_id = "y", text = "Yes", score = 10 },
                { ref_id = "n", text = "No", score = 0, automatic_fail = true },
              ]
            }
          }
        }
      }]
    }
  }]
  instance_arn = format("arn:%s", var.instance)
}
"""
GENESYS = """
resource "genesyscloud_quality_forms_evaluation" "service" {
  name = "Service \\"A\\""
  question_groups {
    name   = "Opening"
    weight = 1.5
    questions {
      text    = "Did the agent greet?"
      is_kill = true
      answer_options {
        text  = "Yes"
        value = 1
      }
      answer_options {
        text  = "No"
        value = 0
      }
    }
    questions {
      text       = "By name?"
      na_enabled = true
      answer_options { text = "Yes", value = 1 }
      answer_options { text = "No", value = 0 }
      visibility_condition {
        combining_operation = "AND"
        predicates          = ["/form/questionGroup/0/question/0/answer/0"]
      }
    }
  }
}
"""


def form_of(text: str, name: str = "form.yaml") -> Form:
    return read_form(Source(name, text.encode()))


@pytest.mark.parametrize("text", [TEMPLATE, AWSCC], ids=["cloudformation", "terraform"])
def test_a_form_of_amazon_connect_is_read_from_a_template(text: str) -> None:
    form = form_of(text)
    (question,) = form.questions
    assert (form.title, question.id, question.title) == ("Service", "q1", "Did the agent greet?")
    assert [(one.id, one.score, one.auto_fail) for one in question.options] == [
        ("y", 10, False),
        ("n", 0, True),
    ]
    assert question.na_allowed


def test_a_template_in_json_is_read_and_a_second_form_is_named() -> None:
    resource = {"Type": "AWS::Connect::EvaluationForm", "Properties": {"Title": "A", "Items": [
        {"Question": {"Title": "Q?", "RefId": "q", "QuestionType": "SINGLESELECT",
                      "QuestionTypeProperties": {"SingleSelect": {"Options": [
                          {"RefId": "y", "Text": "Yes", "Score": 1},
                          {"RefId": "n", "Text": "No", "Score": 0}]}}}}]}}  # fmt: skip
    form = form_of(json.dumps({"Resources": {"One": resource, "Two": resource}}))
    assert form.title == "A"
    assert form.notes[0] == "the file has 2 forms (One, Two); the first is read"


def test_a_form_of_genesys_is_read_from_terraform_with_its_conditions() -> None:
    form = form_of(GENESYS, "form.tf")
    assert form.title == 'Service "A"'
    first, second = form.questions
    assert [one.text for one in first.options] == ["Yes", "No"]
    assert second.condition is not None
    assert second.condition.question_id == first.id


@pytest.mark.parametrize(
    "text", [AWSCC[:-4], AWSCC.replace("[{", "[" * 90 + "{", 1), TEMPLATE.replace("- {", "- &a {")
             + "  X: *a\n"]
)  # fmt: skip
def test_a_damaged_template_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(DataError, match=r"form\.yaml"):
        form_of(text)


def exported(**answer: Any) -> dict[str, Any]:
    """As the administrator guide of Amazon Connect shows an export (schema 3.1)."""
    question = {"questionRefId": "q1", "sectionRefId": "s1", "questionType": "SINGLESELECT",
                "questionText": "Did the agent greet?", "answer": answer, "score": {}}  # fmt: skip
    metadata = {"contactId": "call-1", "evaluator": "jane", "score": {"percentage": 100}}
    return {"schemaVersion": "3.1", "evaluationId": "e", "metadata": metadata,
            "sections": [{"sectionRefId": "s1"}], "questions": [question]}  # fmt: skip


VALUES = [{"valueText": "Yes", "valueRefId": "y", "selected": False},
          {"valueText": "No", "valueRefId": "n", "selected": True},
          {"valueText": "N/A", "valueRefId": "system_default_null_value",
           "selected": False}]  # fmt: skip


def test_an_evaluation_exported_to_s3_is_gold() -> None:
    value = exported(values=VALUES, notes="no greeting", metadata={"notApplicable": False})
    (found,) = read_evaluations(Source("e.json", json.dumps(value).encode()), form_of(TEMPLATE))
    assert (found.call_id, found.evaluator) == ("call-1", "jane")
    assert (found.answers["q1"].option, found.answers["q1"].comment) == ("n", "no greeting")


def test_an_exported_question_can_be_not_applicable_or_open() -> None:
    form = form_of(TEMPLATE)
    na = exported(value="", metadata={"notApplicable": True})
    unanswered = exported(values=[{**one, "selected": False} for one in VALUES])
    chosen = exported(values=[{**VALUES[2], "selected": True}])
    for value, expected in ((na, True), (chosen, True), (unanswered, False)):
        (found,) = read_evaluations(Source("e.json", json.dumps(value).encode()), form)
        assert ("q1" in found.answers) is expected
        assert not expected or found.answers["q1"].option is None


def test_an_export_of_another_form_is_refused() -> None:
    value = exported(values=VALUES)
    value["questions"][0]["questionRefId"] = "q9"
    with pytest.raises(DataError, match="q9"):
        read_evaluations(Source("e.json", json.dumps(value).encode()), form_of(TEMPLATE))
