"""Claim limits on a card: for the models in question, on the calls that both answered."""

from __future__ import annotations

import pytest

import callscore
from builders import Json, form, output, qa_case, question
from callscore.core.scorecard import ModelContrast, Scorecard
from callscore.stats.claim_limits import unseen_share

CALLS = 40


def answer(number: int, model: str, *, points: int = 5) -> Json:
    marks = form(question("Q1", points, kind="SCORE"), question("Q2", 5, kind="SCORE"))
    return output(f"c{number}", marks, model)


def scored(answers: list[Json], **options: object) -> Scorecard:
    asked = [question("Q1", 5, kind="SCORE"), question("Q2", 5, kind="SCORE")]
    return callscore.score(
        [qa_case(asked, f"c{number}") for number in range(CALLS)],
        answers,
        weights={"qa": 1},
        judge="offline",
        embedder="none",
        **options,  # type: ignore[arg-type]
    )


def final_contrast(card: Scorecard, first: str, second: str) -> ModelContrast:
    return next(
        pair
        for pair in card.contrasts
        if pair.of == "final" and {pair.first, pair.second} == {first, second}
    )


def perfect(model: str, calls: int = CALLS) -> list[Json]:
    failed = [
        {"case_id": f"c{number}", "model": model, "error": "503"} for number in range(calls, CALLS)
    ]
    return [answer(number, model) for number in range(calls)] + failed


def test_stats_2_equal_models_differ_by_no_more_than_what_is_unseen() -> None:
    pair = final_contrast(scored(perfect("a") + perfect("b")), "a", "b")
    assert pair.claim is not None
    assert pair.claim == pytest.approx((-unseen_share(CALLS), unseen_share(CALLS)), rel=0.03)


def test_stats_2_the_limits_are_stricter_if_more_models_are_in_question() -> None:
    pair = final_contrast(scored(perfect("a") + perfect("b") + perfect("c")), "a", "b")
    assert pair.claim is not None
    assert pair.claim[1] == pytest.approx(unseen_share(CALLS, 1 - 0.05 / 2), rel=0.03)


def test_stats_2_a_model_that_is_not_in_question_has_no_claim() -> None:
    poor = [answer(number, "poor", points=0) for number in range(CALLS)]
    card = scored(perfect("a") + poor)
    assert card.model("poor").tasks["qa"].metrics["qa.question_score_accuracy"].rating == "Fail"
    assert final_contrast(card, "a", "poor").claim is None


def test_stats_3_claims_are_about_the_calls_that_both_answered() -> None:
    card = scored(perfect("a") + perfect("b", 25), settings={"coverage.required": 0.5})
    pair = final_contrast(card, "a", "b")
    assert pair.claim is not None
    assert pair.claim[1] == pytest.approx(unseen_share(25), rel=0.03)
    whole = final_contrast(
        scored(perfect("a") + perfect("c") + perfect("b", 25), settings={"coverage.required": 0.5}),
        "a",
        "c",
    )
    assert whole.claim is not None
    assert whole.claim[1] == pytest.approx(unseen_share(CALLS, 1 - 0.05 / 2), rel=0.03)


def test_without_intervals_there_is_no_claim() -> None:
    assert not scored(perfect("a") + perfect("b"), intervals=False).contrasts
