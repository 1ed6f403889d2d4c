"""C-23 … C-27: response structure; each test carries its entry's id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import form, output, qa_case, question, score, text_case, text_outcome

KEYS = ("question_id", "score", "max_score", "type", "reason")


def structure_of(given: object, tmp_path: Path, questions: int = 1) -> float | None:
    expected = [question(f"Q{i}") for i in range(1, questions + 1)]
    return score([qa_case(expected)], [output("c1", given)], tmp_path).value("qa.structure")


def text_structure(given: dict[str, Any], tmp_path: Path) -> float | None:
    return score([text_case()], [output("c1", given)], tmp_path).value("text.structure")


@pytest.mark.parametrize(
    ("given", "structure"),
    [
        ({"questions": {}}, 0),
        ({"questions": [dict(reversed(question().items()))]}, 1),
        (form(question(score=None)), 1),
        (form(question(score=[5])), 0),
        (form(question(score={})), 0),
        ({"questions": [question()], "confidence": 1}, 0),
        ({"Questions": [question()]}, 0),
        ({}, 0),
        ({"questions": ["Q1"]}, 0),
        ({"questions": None}, 0),
    ],
)
def test_c23_structure_is_containers_and_keys(
    tmp_path: Path, given: object, structure: int
) -> None:
    assert structure_of(given, tmp_path) == structure


def test_c23_the_number_of_items_is_not_structure(tmp_path: Path) -> None:
    given = form(*(question(f"Q{i}") for i in range(1, 19)))
    assert structure_of(given, tmp_path, questions=20) == 1


@pytest.mark.parametrize(
    ("keys", "structure"),
    [
        pytest.param(KEYS, 1, id="W-QA-5a"),
        pytest.param((*KEYS[:4], "reasoning"), 0, id="W-QA-5b"),
        pytest.param(("question_id", "score", "type", "reason"), 0, id="W-QA-5c"),
        pytest.param((*KEYS, "confidence"), 0, id="W-QA-5d"),
    ],
)
def test_examples_of_the_structure_check(
    tmp_path: Path, keys: tuple[str, ...], structure: int
) -> None:
    item = {key: question().get(key, "x") for key in keys}
    assert structure_of({"questions": [item]}, tmp_path) == structure


def test_c24_one_renamed_key_among_twenty_questions_fails(tmp_path: Path) -> None:
    items = [question(f"Q{i}") for i in range(1, 21)]
    items[7]["reasoning"] = items[7].pop("reason")
    assert structure_of(form(*items), tmp_path, questions=20) == 0


def test_c24_items_that_differ_are_held_to_the_one_with_their_id(tmp_path: Path) -> None:
    plain, noted = question("Q1"), {**question("Q2"), "note": "n"}
    case = qa_case([plain, noted])

    def structure(*items: dict[str, Any]) -> float | None:
        return score([case], [output("c1", form(*items))], tmp_path).value("qa.structure")

    assert structure(plain, noted) == 1
    assert structure({**plain, "note": "n"}, noted) == 0
    assert structure(plain, question("Q2")) == 0
    assert structure(plain, question(" Q2")) == 0  # ids are compared as N1 (C-19)
    assert structure(plain, noted, question("Q9")) == 1


def test_c24_an_array_expected_empty_takes_the_framework_s_own_item(tmp_path: Path) -> None:
    outcome = text_outcome()
    outcome["summary"] = {**outcome["summary"], "highlights": []}
    case = text_case(outcome)

    def structure(highlights: list[Any]) -> float | None:
        given = text_outcome()
        given["summary"] = {**given["summary"], "highlights": highlights}
        return score([case], [output("c1", given)], tmp_path).value("text.structure")

    assert structure(["a highlight"]) == 1
    assert structure([{"text": "a highlight"}]) == 0


def test_c25_a_missing_extracted_field_is_measured_not_punished_by_structure(
    tmp_path: Path,
) -> None:
    outcome = text_outcome()
    info = {"name": "Ana", "issue": "Billing", "resolution": "Refund", "follow_up": "3 days"}
    outcome["summary"] = {**outcome["summary"], "call_extracted_info": info}
    given = text_outcome()
    short = {key: value for key, value in info.items() if key != "follow_up"}
    given["summary"] = {**given["summary"], "call_extracted_info": short}
    scored = score([text_case(outcome)], [output("c1", given)], tmp_path)
    assert scored.value("text.structure") == 1
    assert scored.value("text.field_presence") == 0.75


def test_c25_an_extra_extracted_field_is_a_structure_fault(tmp_path: Path) -> None:
    given = text_outcome()
    info = {**given["summary"]["call_extracted_info"], "account_no": "9987"}
    given["summary"] = {**given["summary"], "call_extracted_info": info}
    assert text_structure(given, tmp_path) == 0


def test_c25_emotion_keys_are_fixed(tmp_path: Path) -> None:
    assert text_structure(text_outcome(emotion={"anger": 60}), tmp_path) == 0
    assert (
        text_structure(text_outcome(emotion={"anger": 6, "neutral": 4, "fear": 0}), tmp_path) == 0
    )


@pytest.mark.parametrize("given", ["5", True, None])
def test_c26_a_score_that_is_no_number_is_missing(tmp_path: Path, given: object) -> None:
    scored = score([qa_case([question()])], [output("c1", form(question(score=given)))], tmp_path)
    assert scored.value("qa.structure") == 1
    assert scored.value("qa.question_score_accuracy") == 0
    assert scored.value("qa.score_gap_accuracy") == 0
    assert "bad_scalar" in scored.results[0]["flags"]


@pytest.mark.parametrize(
    ("record", "status", "flag"),
    [
        ({"output": ""}, "invalid", "empty"),
        ({"output": None}, "invalid", "empty"),
        ({"output": form(question()), "finish_reason": "length"}, "invalid", "truncated"),
        (
            {"output": form(question()), "finish_reason": "content_filter"},
            "invalid",
            "content_filter",
        ),
        (
            {"error": "connection reset on every attempt"},
            "error",
            "connection reset on every attempt",
        ),
    ],
)
def test_c27_what_the_model_did_is_invalid_and_what_the_line_did_is_error(
    tmp_path: Path, record: dict[str, Any], status: str, flag: str
) -> None:
    line = {"case_id": "c1", "model": "m", **record}
    result = score([qa_case([question()])], [line], tmp_path).results[0]
    assert (result["status"], result["flags"]) == (status, [flag])
