from __future__ import annotations

from typing import Any

import pytest

from callscore.core.errors import DataError
from text_cases import TASK, outcome, sentences, summary, text_case


@pytest.mark.parametrize(
    ("expected", "field", "problem"),
    [
        (outcome(sentiment=[]), "sentiment", "at least one item"),
        (outcome(sentiment={}), "sentiment", "expected an array"),
        (outcome(sentiment=["neutral"]), "sentiment[0]", "expected an object"),
        (outcome(sentiment=sentences("neutral", "angry")), "sentiment[1].label", "'angry'"),
        (outcome(sentiment=sentences("")), "sentiment[0].label", "expected null or one of"),
        (outcome(sentiment=sentences(1)), "sentiment[0].label", "expected null or one of"),
        (outcome(sentiment=sentences({})), "sentiment[0].label", "expected null or one of"),
        (
            outcome(
                sentiment=[*sentences("neutral"), {"sentence_id": "1", "text": "", "label": None}]
            ),
            "sentiment[1].sentence_id",
            "'1' appears twice",
        ),
        (
            outcome(sentiment=[{"sentence_id": None, "text": "", "label": None}]),
            "sentiment[0].sentence_id",
            "None is not an id; expected text or a number",
        ),
        (
            outcome(sentiment=[{"sentence_id": 1, "label": "neutral"}]),
            "sentiment[0].text",
            "expected the documented key",
        ),
        (outcome(summary=None), "summary", "expected an object"),
        (outcome(summary={}), "summary.call_purpose", "expected the documented key"),
        (outcome(summary=summary(purpose=None)), "summary.call_purpose", "expected text"),
        (
            outcome(summary=summary() | {"highlights": "one"}),
            "summary.highlights",
            "expected an array",
        ),
        (outcome(summary=summary(highlights=["a", 5])), "summary.highlights[1]", "expected text"),
        (
            outcome(summary=summary() | {"call_extracted_info": []}),
            "summary.call_extracted_info",
            "expected an object",
        ),
        (outcome(emotion=[]), "emotion", "expected an object"),
        (outcome(emotion={}), "emotion", "expected a number above 0"),
        (outcome(emotion={"anger": 0, "joy": 0.0}), "emotion", "expected a number above 0"),
        (outcome(emotion={"anger": "60", "joy": None}), "emotion", "expected a number above 0"),
        (outcome(emotion={"anger": 60, "joy": -1}), "emotion.joy", "expected a number from 0"),
    ],
)
def test_a_dataset_error_names_the_field_and_what_was_expected(
    expected: dict[str, Any], field: str, problem: str
) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(text_case(expected))
    assert error.value.field == f"expected_outcome.{field}"
    assert problem in error.value.problem


@pytest.mark.parametrize("part", ["sentiment", "summary", "emotion"])
def test_a_missing_part_must_be_declared_absent(part: str) -> None:
    expected = outcome()
    del expected[part]
    with pytest.raises(DataError, match=f"expected_outcome.{part}"):
        TASK.reference(text_case(expected))
    with pytest.raises(DataError, match=f"expected_outcome.{part}"):
        TASK.reference(text_case(expected, {part: "gold"}))
    TASK.reference(text_case(expected, {part: "absent"}))


def test_expected_labels_are_read_under_n2_and_null_is_kept_apart() -> None:
    reference = TASK.reference(text_case(outcome(sentiment=sentences("Negative ", None))))
    assert [sentence.label for sentence in reference.sentences.values()] == ["negative", None]


def test_empty_expected_highlights_and_fields_ask_for_nothing() -> None:
    told = summary(highlights=["", "N/A", "Refunded"], fields={"a": "", "b": "none", "c": 0})
    reference = TASK.reference(text_case(outcome(summary=told)))
    assert [highlight.item for highlight in reference.highlights] == ["expected_highlights[2]"]
    assert list(reference.required_fields) == ["c"]


def test_an_absent_emotion_or_field_does_not_count() -> None:
    expected = outcome(emotion={"anger": 60, "joy": 90})
    reference = TASK.reference(text_case(expected, {"joy": "absent", "follow_up": "absent"}))
    assert reference.top_emotions == {"anger"}
    assert list(reference.required_fields) == ["customer_name"]


def test_the_model_is_sent_the_call_and_the_fields_but_not_the_answer() -> None:
    prompt = TASK.prompt(text_case())
    assert "I was charged twice" in prompt.messages[1].content
    assert "refund" not in prompt.messages[1].content
    assert prompt.schema is not None
    assert set(prompt.schema["properties"]) == {"sentiment", "summary", "emotion"}
