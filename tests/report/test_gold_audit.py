"""References that models doubt together."""

from __future__ import annotations

import math

import pytest

from callscore.core.case import Case
from callscore.core.scorecard import CaseResult
from callscore.report.details.decoded_case import decode_case
from callscore.report.details.form_marks import MarkReader
from callscore.report.details.gold_audit import FieldVotes, find_suspicions, votes_of
from callscore.report.source import Answer, CaseView


def votes(place: int, expected: str, kind: str = "qa greet", **given: str) -> FieldVotes:
    right = [model for model, value in given.items() if value == expected]
    return FieldVotes(place, f"c{place}", "qa", "greet", kind, "greet?", expected, given, right)


def test_models_that_are_right_elsewhere_and_agree_against_the_reference_are_suspicious() -> None:
    elsewhere = [votes(n, "Yes", a="Yes", b="Yes", c="Yes") for n in range(2, 12)]
    (found,) = find_suspicions([votes(1, "No", a="Yes", b="yes ", c="No"), *elsewhere])
    assert (found.votes.place, found.value, found.against) == (1, "Yes", ["a", "b"])
    assert found.weight == pytest.approx(math.log(11))  # two against, one for the reference


def test_one_model_alone_or_models_that_contradict_each_other_prove_nothing() -> None:
    assert not find_suspicions([votes(1, "No", a="Yes"), votes(2, "No", a="Yes", b="N/A")])


def test_a_model_that_is_wrong_elsewhere_does_not_count() -> None:
    elsewhere = [votes(n, "Yes", a="No", b="N/A") for n in range(2, 12)]
    (found,) = find_suspicions([votes(1, "No", a="Yes", b="Yes"), *elsewhere])
    assert found.weight == 0.0


def test_reliability_is_counted_per_question_and_without_the_case_itself() -> None:
    others = [votes(n, "Yes", kind="qa solve", a="Yes", b="Yes") for n in range(2, 12)]
    (found,) = find_suspicions([votes(1, "No", a="Yes", b="Yes"), *others])
    assert found.weight == 0.0


def answer(model: str, text: str, run: int = 1) -> Answer:
    return Answer(CaseResult("c1", model, run, "qa", "valid", 0.5), text=text)


def test_the_votes_of_a_case_are_those_of_the_first_run_of_each_model() -> None:
    case = Case(
        id="c1",
        task="qa",
        transcript="Agent: Hello",
        config={"questions": [{"question_id": "q1", "question": "Greeting?", "max_score": 5}]},
        expected_outcome={"questions": [{"question_id": "q1", "score": 5, "max_score": 5}]},
    )
    said = '{"questions": [{"question_id": "q1", "score": 0, "reason": "none"}]}'
    view = CaseView(case, [answer("a", said), answer("b", said), answer("b", "{}", run=2)])
    (found,) = votes_of(7, decode_case(view), MarkReader({}))
    assert (found.place, found.field, found.words, found.expected) == (7, "q1", "Greeting?", "5")
    assert found.given == {"a": "0", "b": "0"}
    assert found.right == []


def test_objects_with_the_same_fields_in_another_order_are_the_same_answer() -> None:
    case = Case(
        id="c1",
        task="translation",
        transcript="Agent: Hello",
        config={},
        expected_outcome={"domain_terms_handled": [{"term": "PNR", "handled_as": "PNR"}]},
    )
    said = '{"domain_terms_handled": [{"handled_as": "PNR", "term": "PNR"}]}'
    view = CaseView(case, [answer("a", said), answer("b", said)])
    (found,) = votes_of(1, decode_case(view), MarkReader({}))
    assert found.right == ["a", "b"]
