"""Worked examples and test vectors of the Text chapter."""

from __future__ import annotations

from typing import Any

import pytest

from calls_suite import formula_of
from callscore.core.measure import Measure
from callscore.core.spec import Rating, rate
from callscore.core.task import Measured
from callscore.metrics.classification import macro_f1
from callscore.scorecard.formula import part_score, score_case
from callscore.suites.calls.spec import load_spec
from callscore.suites.calls.text.measures import CLASSES
from text_cases import (
    case_of_summary,
    claim_verdicts,
    labelled,
    outcome,
    score_answer,
    summary,
    text_case,
    values,
    verdict,
    verdicts,
)

MIXED = ["positive"] * 5 + ["neutral"] * 30 + ["negative"] * 5


def rating(name: str, value: float | None) -> Rating | None:
    """The rating of one call's value."""
    assert value is not None
    metric = load_spec().metrics[f"text.{name}"]
    return rate(value, metric.bands, metric.otherwise)


@pytest.mark.parametrize(
    ("name", "expected", "given", "value", "rated"),
    [
        pytest.param(
            "sentiment_accuracy",
            ["neutral"] * 40,
            ["neutral"] * 35 + ["positive"] * 5,
            0.875,
            Rating.ACCEPTABLE,
            id="W-TX-1",
        ),
        pytest.param(
            "sentiment_accuracy", MIXED, ["neutral"] * 40, 0.75, Rating.FAIL, id="W-TX-2a"
        ),
        pytest.param(
            "sentiment_macro_f1", MIXED, ["neutral"] * 40, 2 / 7, Rating.FAIL, id="W-TX-2c"
        ),
        pytest.param(
            "sentiment_macro_f1", MIXED, ["neutral"] * 40, 2 / 7, Rating.FAIL, id="C-52-macro_f1-1"
        ),
        pytest.param(
            "sentiment_macro_f1",
            ["neutral"] * 10,
            ["neutral"] * 10,
            1,
            Rating.GOOD,
            id="C-52-macro_f1-2",
        ),
        pytest.param(
            "sentiment_macro_f1",
            ["neutral"] * 8 + ["positive"] * 2,
            ["neutral"] * 10,
            4 / 9,
            Rating.FAIL,
            id="C-52-macro_f1-3",
        ),
        pytest.param(
            "missing_labels",
            ["neutral"] * 50,
            [None if n in (12, 31) else "neutral" for n in range(1, 51)],
            2,
            Rating.WARNING,
            id="W-TX-3",
        ),
    ],
)
def test_worked_example_of_sentiment(
    name: str, expected: list[str], given: list[object], value: float, rated: Rating
) -> None:
    found = labelled(expected, given)[name]
    assert found == pytest.approx(value)
    assert rating(name, found) is rated


@pytest.mark.parametrize("value", [pytest.param(6 / 7, id="W-TX-2b")])
def test_worked_example_of_the_f1_of_one_class(value: float) -> None:
    pairs = [(expected, "neutral") for expected in MIXED]
    assert macro_f1(pairs, ["neutral"], "present_classes").value == pytest.approx(value)
    assert macro_f1(pairs, CLASSES, "present_classes").value == pytest.approx(value / 3)


@pytest.mark.parametrize(
    ("purpose", "word", "value", "rated", "status"),
    [
        pytest.param(
            "Customer asking about billing",
            "same_domain_incomplete",
            0.5,
            Rating.ACCEPTABLE,
            "valid",
            id="W-TX-4a",
        ),
        pytest.param(
            "Customer wants to upgrade plan",
            "different",
            0.0,
            Rating.BLOCKER,
            "invalid",
            id="W-TX-4b",
        ),
    ],
)
def test_worked_example_of_call_intent(
    purpose: str, word: str, value: float, rated: Rating, status: str
) -> None:
    answer = outcome(summary=summary(purpose))
    given = {
        **verdicts(verdict("call_intent", "call_purpose", word)),
        **claim_verdicts(["supported_by_transcript"], texts=False),
    }
    found = values(text_case(), answer, given)["call_intent"]
    assert found == value
    assert rating("call_intent", found) is rated
    assert score_answer(text_case(), answer, given).status == status


@pytest.mark.parametrize("value", [pytest.param(0.75, id="W-TX-5")])
def test_worked_example_of_highlight_recall(value: float) -> None:
    case = case_of_summary(highlights=["one", "two", "three", "four"])
    given = verdicts(verdict("highlight_recall", "expected_highlights[3]", "not_stated"))
    answer = outcome(summary=summary(highlights=["one", "two", "three"]))
    found = values(case, answer, given)["highlight_recall"]
    assert found == value
    assert rating("highlight_recall", found) is Rating.ACCEPTABLE


@pytest.mark.parametrize("value", [pytest.param(2 / 3, id="W-TX-6")])
def test_worked_example_of_highlight_correctness(value: float) -> None:
    case = case_of_summary(highlights=["Charge confirmed", "Apology given", "Refund of $49"])
    answer = outcome(
        summary=summary(highlights=["Charge confirmed", "Apology given", "Refund of $99"])
    )
    given = verdicts(verdict("highlight_correctness", "highlights[2]", "contradicted"))
    found = values(case, answer, given)["highlight_correctness"]
    assert found == pytest.approx(value)
    assert rating("highlight_correctness", found) is Rating.FAIL


@pytest.mark.parametrize("value", [pytest.param(0.75, id="W-TX-7")])
def test_worked_example_of_field_presence(value: float) -> None:
    fields = {"customer_name": "A", "issue_type": "B", "resolution": "C", "follow_up": "D"}
    answer = outcome(summary=summary(fields=fields | {"follow_up": ""}))
    found = values(case_of_summary(fields=fields), answer)["field_presence"]
    assert found == value
    assert rating("field_presence", found) is Rating.ACCEPTABLE


@pytest.mark.parametrize("claim", [pytest.param("Agent offered a 10% discount", id="W-TX-8")])
def test_worked_example_of_a_fabricated_fact(claim: str) -> None:
    answer = outcome(summary=summary(highlights=[*summary()["highlights"], claim]))
    given = claim_verdicts(["not_found"], texts=False)
    found = values(text_case(), answer, given)
    assert found["hallucination_rate"] == pytest.approx(100 / 6)
    assert "text.fabrication_free" in score_answer(text_case(), answer, given).reasons


@pytest.mark.parametrize(
    ("expected", "given", "value"),
    [
        pytest.param({"anger": 60, "neutral": 0}, {"anger": 0, "neutral": 60}, 0, id="W-TX-9"),
        pytest.param(
            {"anger": 60, "neutral": 0}, {"anger": 50, "neutral": 50}, 0, id="C-63-emotion-1"
        ),
        pytest.param({"anger": 40, "fear": 40}, {"anger": 0, "fear": 70}, 1, id="C-63-emotion-2"),
        pytest.param(
            {"anger": 60, "neutral": 0}, {"anger": 0, "neutral": 0}, 0, id="C-63-emotion-3"
        ),
        pytest.param(
            {"anger": 60, "neutral": 30}, {"anger": 0.6, "neutral": 0.4}, 1, id="C-63-emotion-4"
        ),
        pytest.param(
            {"anger": 60, "neutral": 0}, {"neutral": 90, "anger": 10}, 0, id="C-63-emotion-5"
        ),
    ],
)
def test_worked_example_of_the_dominant_emotion(
    expected: dict[str, Any], given: dict[str, Any], value: int
) -> None:
    case = text_case(outcome(emotion=expected))
    assert values(case, outcome(emotion=given))["dominant_emotion"] == value


EXAMPLE = {
    "text.sentiment_accuracy": 0.85,
    "text.sentiment_macro_f1": 0.80,
    "text.missing_labels": 1.0,
    "text.call_intent": 0.5,
    "text.highlight_recall": 0.80,
    "text.highlight_correctness": 0.90,
    "text.field_presence": 0.85,
    "text.fabrication_free": 0.985,
    "text.hallucination_rate": 1.5,
    "text.dominant_emotion": 1.0,
    "text.structure": 1.0,
}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        pytest.param("sentiment", 0.83, id="W-TX-10a"),
        pytest.param("summary", 0.7855, id="W-TX-10b"),
    ],
)
def test_worked_example_of_a_sub_score(part: str, value: float) -> None:
    found = part_score(load_spec().scores["text"].parts[part], EXAMPLE)
    assert found == pytest.approx(value)


@pytest.mark.parametrize("value", [pytest.param(0.84175, id="W-TX-10c")])
def test_worked_example_of_the_text_score(value: float) -> None:
    measures = {slug: Measure(number) for slug, number in EXAMPLE.items()}
    result = score_case(formula_of("text", "all"), Measured(measures))
    assert result.status == "valid"
    assert result.score == pytest.approx(value)


@pytest.mark.parametrize(
    ("percent", "rated"),
    [
        pytest.param(0, Rating.GOOD, id="C-11-hallucination_rating-1"),
        pytest.param(0.5, Rating.ACCEPTABLE, id="C-11-hallucination_rating-2"),
        pytest.param(2, Rating.ACCEPTABLE, id="C-11-hallucination_rating-3"),
        pytest.param(2.5, Rating.FAIL, id="C-11-hallucination_rating-4"),
        pytest.param(3, Rating.FAIL, id="C-11-hallucination_rating-5"),
        pytest.param(3.0001, Rating.BLOCKER, id="C-11-hallucination_rating-6"),
    ],
)
def test_rate_of_fabricated_facts_is_rated_alike_on_both_scales(
    percent: float, rated: Rating
) -> None:
    assert rating("hallucination_rate", percent) is rated
    assert rating("fabrication_free", 1 - percent / 100) is rated
