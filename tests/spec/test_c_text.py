"""Text clarifications, one test an entry: C-50 … C-53, C-63, C-64, and C-25, C-127."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.case import Case
from callscore.core.judging import Verdicts
from callscore.core.spec import Rating, rate
from callscore.suites.calls.spec import load_spec, make_settings
from text_cases import (
    EMOTION,
    FOUR_FIELDS,
    claim_verdicts,
    flags,
    labelled,
    measure_answer,
    measures,
    outcome,
    score_answer,
    sentences,
    summarised,
    summary,
    text_case,
    values,
)

METRICS = load_spec().metrics


def emotion_match(expected: dict[str, Any], given: dict[str, Any]) -> float | None:
    """Whether the top emotion is right; missing keys of either side are 0."""
    names = expected.keys() | given.keys()
    case = text_case(outcome(emotion={name: expected.get(name, 0) for name in names}))
    answer = outcome(emotion={name: given.get(name, 0) for name in names})
    return values(case, answer)["dominant_emotion"]


def test_c50_sentences_are_aligned_by_id_alone() -> None:
    case = text_case(outcome(sentiment=sentences(*["neutral"] * 40)))
    answer = sentences(*["neutral"] * 40)
    answer[39]["sentence_id"] = 41
    found = values(case, outcome(sentiment=answer))
    assert found["sentiment_accuracy"] == 39 / 40
    assert found["missing_labels"] == 1
    assert {"missing_item", "unexpected_item"} <= set(flags(case, outcome(sentiment=answer)))


def test_c50_another_text_under_the_same_id_is_only_a_warning() -> None:
    answer = [item | {"text": "cut anew"} for item in outcome()["sentiment"]]
    assert values(text_case(), outcome(sentiment=answer))["sentiment_accuracy"] == 1
    assert "resegmented" in flags(text_case(), outcome(sentiment=answer))


def test_c50_sentences_expected_without_a_label_are_left_out() -> None:
    found = labelled(["neutral", None], ["neutral", "negative"])
    assert found["sentiment_accuracy"] == 1
    assert found["missing_labels"] == 0


@pytest.mark.parametrize(
    ("label", "correct", "missing"),
    [("Negative", 1, 0), ("negative.", 1, 0), ("angry", 0, 0), ("", 0, 1), (" ", 0, 1)],
)
def test_c51_a_label_is_one_of_three_wrong_or_missing(
    label: str, correct: int, missing: int
) -> None:
    found = labelled(["negative"], [label])
    assert (found["sentiment_accuracy"], found["missing_labels"]) == (correct, missing)


@pytest.mark.parametrize(
    ("expected", "given", "literal", "value"),
    [
        (["positive"] * 5 + ["neutral"] * 30 + ["negative"] * 5, ["neutral"] * 40, 2 / 7, 2 / 7),
        (["neutral"] * 10, ["neutral"] * 10, 1 / 3, 1),
        (["neutral"] * 8 + ["positive"] * 2, ["neutral"] * 10, 8 / 27, 4 / 9),
        (["neutral", "neutral"], ["neutral", "angry"], 2 / 9, 2 / 3),
        (["neutral", "neutral"], ["neutral", "positive"], 2 / 9, 1 / 3),
    ],
)
def test_c52_macro_f1_averages_the_classes_that_occur(
    expected: list[str], given: list[str], literal: float, value: float
) -> None:
    case = text_case(outcome(sentiment=sentences(*expected)))
    answer = outcome(sentiment=sentences(*given))
    assert values(case, answer)["sentiment_macro_f1"] == pytest.approx(value)
    by_three = measure_answer(case, answer, changed=make_settings({"macro_f1": "divide_by_3"}))
    assert by_three.measures["text.sentiment_macro_f1"].value == pytest.approx(literal)


@pytest.mark.parametrize("missing", [None, "", 1, True])
@pytest.mark.parametrize(("number", "status"), [(2, "valid"), (3, "invalid")])
def test_c53_missing_labels_are_counted_and_block_above_two(
    missing: object, number: int, status: str
) -> None:
    case = text_case(outcome(sentiment=sentences(*["neutral"] * 50)))
    answer = outcome(sentiment=sentences(*[missing] * number, *["neutral"] * (50 - number)))
    found = values(case, answer)
    assert found["missing_labels"] == number
    assert found["sentiment_accuracy"] == (50 - number) / 50
    result = score_answer(case, answer)
    assert result.status == status
    assert list(result.reasons) == (["text.missing_labels"] if status == "invalid" else [])


def test_c53_absent_items_and_conflicting_duplicates_are_missing() -> None:
    case = text_case(outcome(sentiment=sentences("neutral", "neutral", "neutral")))
    twice = sentences("neutral", "neutral") + [sentences("positive")[0]]
    assert values(case, outcome(sentiment=twice))["missing_labels"] == 2
    assert "conflicting_duplicate" in flags(case, outcome(sentiment=twice))


@pytest.mark.parametrize(
    ("expected", "given", "value"),
    [
        ({"anger": 60}, {"anger": 50, "neutral": 50}, 0),
        ({"anger": 40, "fear": 40}, {"fear": 70}, 1),
        ({"anger": 40, "fear": 40}, {"fear": 50, "anger": 50}, 1),
        ({"anger": 40, "fear": 40}, {"fear": 50, "joy": 50}, 0),
        ({"anger": 60}, {"anger": 0, "neutral": 0}, 0),
    ],
)
def test_c63_the_models_top_set_must_lie_within_the_expected_one(
    expected: dict[str, Any], given: dict[str, Any], value: int
) -> None:
    assert emotion_match(expected, given) == value


@pytest.mark.parametrize(
    ("given", "value", "flag"),
    [
        ({"anger": 0.6, "neutral": 0.4}, 1, "emotion_sum"),
        ({"anger": "60%", "neutral": 40}, 0, "bad_scalar"),
        ({"anger": "60", "neutral": 40}, 0, "bad_scalar"),
        ({"anger": 60, "neutral": None}, 1, "bad_scalar"),
        ({"anger": 60, "neutral": True}, 1, "bad_scalar"),
        ({"anger": 110, "neutral": -10}, 1, "bad_scalar"),
    ],
)
def test_c64_the_scale_is_free_and_what_is_no_share_is_ignored(
    given: dict[str, Any], value: int, flag: str
) -> None:
    case = text_case(outcome(emotion={"anger": 60, "neutral": 30}))
    assert values(case, outcome(emotion=given))["dominant_emotion"] == value
    assert flag in flags(case, outcome(emotion=given))


@pytest.mark.parametrize(("joy", "warned"), [(10, False), (11, False), (12, True), (8, True)])
def test_c64_shares_that_do_not_add_up_are_only_a_warning(joy: int, warned: bool) -> None:
    answer = outcome(emotion={**EMOTION, "joy": joy})
    assert ("emotion_sum" in flags(text_case(), answer)) is warned
    assert values(text_case(), answer)["dominant_emotion"] == 1


def without(part: str) -> dict[str, Any]:
    """The emotions without one of them."""
    return {name: share for name, share in EMOTION.items() if name != part}


@pytest.mark.parametrize(
    ("answer", "structure"),
    [
        (outcome(summary=summary(fields={"customer_name": "Ana"})), 1),
        (outcome(summary=summary(fields={"customer_name": "Ana", "account_no": "1"})), 0),
        (outcome(emotion=without("fear")), 0),
        (outcome(emotion={**EMOTION, "calm": 0}), 0),
        (outcome(summary=summary(highlights=[{"text": "x"}])), 0),
    ],
)
def test_c25_fields_may_be_missing_but_not_added_and_emotions_are_fixed(
    answer: dict[str, Any], structure: int
) -> None:
    assert values(text_case(), answer)["structure"] == structure


def test_c25_a_missing_field_is_measured_by_field_presence() -> None:
    given = {key: value for key, value in FOUR_FIELDS.items() if key != "follow_up"}
    found = summarised(summary(fields=given), fields=FOUR_FIELDS)
    assert (found["structure"], found["field_presence"]) == (1, 0.75)


@pytest.mark.parametrize("present", [True, False])
def test_c127_an_absent_part_may_be_given_or_not_and_is_not_run(present: bool) -> None:
    expected = {"sentiment": sentences("neutral")}
    case = text_case(expected, {"summary": "absent", "emotion": "absent"})
    answer = outcome(sentiment=sentences("neutral")) if present else expected
    found = measures(case, answer)
    assert found["structure"].value == found["sentiment_accuracy"].value == 1
    assert found["call_intent"].reason() == "not_run: the reference declares this part absent"
    assert found["dominant_emotion"].absence == found["fabrication_free"].absence == "absent"
    assert flags(case, answer) == []


def part_of_summary(part: str) -> Case:
    """A case whose reference lacks one part of the summary."""
    told = summary()
    del told[part]
    return text_case(outcome(summary=told), {part: "absent"})


@pytest.mark.parametrize("part", ["call_purpose", "highlights", "call_extracted_info"])
def test_c127_claims_of_an_absent_part_are_still_facts_of_the_answer(part: str) -> None:
    given: Verdicts = claim_verdicts(
        ["not_found"] * (1 if part == "call_purpose" else 2), texts=False
    )
    found = measures(part_of_summary(part), outcome(), given)
    assert found["fabrication_free"].denominator == 5
    assert found["hallucination_rate"].value == (20 if part == "call_purpose" else 40)


@pytest.mark.parametrize(
    ("count", "rating"),
    [(0, Rating.GOOD), (1, Rating.WARNING), (2, Rating.WARNING), (3, Rating.BLOCKER)],
)
def test_c53_the_count_is_rated_as_the_table_says(count: int, rating: Rating) -> None:
    metric = METRICS["text.missing_labels"]
    assert rate(count, metric.bands, metric.otherwise) is rating
