"""Worked examples and test vectors of the Entity chapter."""

from __future__ import annotations

from typing import Any

import pytest

from calls_suite import formula_of
from callscore.core.measure import Measure
from callscore.core.spec import Rating, rate
from callscore.core.task import Measured
from callscore.metrics.text import n2
from callscore.scorecard.formula import score_case
from callscore.suites.calls.spec import load_spec
from entity_cases import CONFIG, entity_case, measure_answer, outcome, values

HELLO = (["hello", "refund", "cancel"], ["hello", "refund", "account"])
BILLING = (["billing", "refund_policy"], ["billing", "account_management"])


@pytest.mark.parametrize(
    ("name", "lists", "value", "rating"),
    [
        pytest.param("keyword_precision", HELLO, 2 / 3, Rating.FAIL, id="W-EN-1"),
        pytest.param("keyword_recall", HELLO, 2 / 3, Rating.FAIL, id="W-EN-2"),
        pytest.param("keyword_f1", HELLO, 2 / 3, Rating.FAIL, id="W-EN-3"),
        pytest.param("topic_precision", BILLING, 1 / 2, Rating.FAIL, id="W-EN-4"),
        pytest.param("topic_recall", BILLING, 1 / 2, Rating.FAIL, id="W-EN-5"),
        pytest.param("topic_f1", BILLING, 1 / 2, Rating.FAIL, id="W-EN-6"),
    ],
)
def test_worked_example_of_detection(
    name: str, lists: tuple[list[str], list[str]], value: float, rating: Rating
) -> None:
    detected, expected = lists
    case = entity_case(outcome(expected, expected))
    found = values(case, outcome(detected, detected))[name]
    assert found == pytest.approx(value)
    metric = load_spec().metrics[f"entity.{name}"]
    assert rate(found or 0, metric.bands, metric.otherwise) is rating


@pytest.mark.parametrize(
    ("keywords", "topics", "value"),
    [
        pytest.param(["refund", "loan"], [], 1 / 2, id="W-EN-7"),
        pytest.param(["refund", "loan"], ["billing"], 2 / 3, id="C-44-config_adherence-1"),
    ],
)
def test_worked_example_of_config_adherence(
    keywords: list[str], topics: list[str], value: float
) -> None:
    found = values(entity_case(config=CONFIG), outcome(keywords, topics))["config_adherence"]
    assert found == pytest.approx(value)
    metric = load_spec().metrics["entity.config_adherence"]
    assert rate(found or 0, metric.bands, metric.otherwise) is Rating.BLOCKER


@pytest.mark.parametrize("detected", [pytest.param(["insurance"], id="W-EN-8")])
def test_worked_example_of_a_fabrication(detected: list[str]) -> None:
    found = values(entity_case(), outcome(detected))["fabricated_count"]
    assert found == 1
    metric = load_spec().metrics["entity.fabricated_count"]
    assert rate(1, metric.bands, metric.otherwise) is Rating.WARNING


@pytest.mark.parametrize(
    ("gates", "parts", "score"),
    [
        pytest.param("all", (0.91, 0.85, 1.0), 0.9142, id="W-EN-9"),
        pytest.param("formula_only", (1.0, 1.0, 0.94), 0.9856, id="C-05-entity_score-1"),
        pytest.param("all", (1.0, 1.0, 0.94), None, id="C-05"),
    ],
)
def test_worked_example_of_the_entity_score(
    gates: str, parts: tuple[float, float, float], score: float | None
) -> None:
    found = dict(measure_answer(entity_case(), outcome()).measures)
    for name, part in zip(("keyword_f1", "topic_f1", "config_adherence"), parts, strict=True):
        found[f"entity.{name}"] = Measure(part)
    scored = score_case(formula_of("entity", gates), Measured(found)).score
    assert scored == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize("percent", [pytest.param([47, 29, 24], id="W-WT-Entity")])
def test_worked_example_of_the_weights(percent: list[int]) -> None:
    weights = load_spec().scores["entity"].weights.values()
    assert [round(100 * weight) for weight in weights] == percent
    assert sum(weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("detected", "expected", "scores"),
    [
        pytest.param([], [], [1, 1, 1], id="C-13-prf-1"),
        pytest.param(["x"], [], [0, None, 0], id="C-13-prf-2"),
        pytest.param([], ["x"], [None, 0, 0], id="C-13-prf-3"),
        pytest.param(["refund", "Refund", "loan"], ["refund"], [1 / 2, 1, 2 / 3], id="C-41-prf-1"),
    ],
)
@pytest.mark.parametrize("kind", ["keyword", "topic"])
def test_vector_of_precision_recall_f1(
    kind: str, detected: list[Any], expected: list[str], scores: list[float | None]
) -> None:
    found = values(entity_case(outcome(expected, expected)), outcome(detected, detected))
    given = [found[f"{kind}_precision"], found[f"{kind}_recall"], found[f"{kind}_f1"]]
    assert given == [score if score is None else pytest.approx(score) for score in scores]


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        pytest.param("Account_Management ", "account management", True, id="C-18-n2_equal-1"),
        pytest.param("refunds", "refund", False, id="C-18-n2_equal-2"),
        pytest.param("ＫＹＣ", "kyc", True, id="C-18-n2_equal-3"),
        pytest.param("\u00e9", "e\u0301", True, id="C-18-n2_equal-4"),
        pytest.param("Refund ", "refund", True, id="C-18-n2_equal-5"),
    ],
)
def test_vector_of_equality_under_n2(a: str, b: str, equal: bool) -> None:
    assert (n2(a) == n2(b)) is equal
