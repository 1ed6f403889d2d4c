"""What a case may say about its entities, and what is refused (C-20, C-40, C-43, C-48)."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.errors import DataError
from callscore.suites.calls.entity.reference import primary_language
from entity_cases import CONFIG, TASK, entity_case, fault, flags, measure_answer, outcome, values


def without(key: str) -> dict[str, Any]:
    """An expected outcome that lacks one documented key."""
    return {name: value for name, value in outcome(["refund"]).items() if name != key}


@pytest.mark.parametrize("key", ["detected_keywords", "detected_topics", "valid_entity_set"])
def test_a_missing_documented_key_is_a_data_error(key: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(entity_case(without(key)))
    assert error.value.field == f"expected_outcome.{key}"


@pytest.mark.parametrize("key", ["detected_keywords", "detected_topics", "valid_entity_set"])
def test_a_key_declared_absent_may_be_missing(key: str) -> None:
    case = entity_case(without(key), parts={key: "absent"})
    assert TASK.reference(case).case is case


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("detected_keywords", "refund", "expected_outcome.detected_keywords"),
        ("detected_keywords", None, "expected_outcome.detected_keywords"),
        ("detected_topics", {"billing": 1}, "expected_outcome.detected_topics"),
        ("detected_topics", ["billing", 5], "expected_outcome.detected_topics[1]"),
        ("valid_entity_set", [None], "expected_outcome.valid_entity_set[0]"),
    ],
)
def test_an_expected_list_must_hold_strings(key: str, value: object, field: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(entity_case({**outcome(), key: value}))
    assert error.value.field == field
    assert "expected an" in error.value.problem


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"keywords": "refund"}, "config.keywords"),
        ({"topics": [["billing"]]}, "config.topics[0]"),
        ({"entities": {"refund": "x"}, "keywords": None, "topics": None}, "config.entities"),
        ({"aliases": ["refund"]}, "config.aliases"),
        ({"aliases": {"refund": 5}}, "config.aliases['refund']"),
        ({"aliases": {"refund": ["refunds", 5]}}, "config.aliases['refund'][1]"),
        ({"aliases": {"refund": ["back"], "billing": ["Back"]}}, "config.aliases"),
        ({"aliases": {"refund": ["billing"], "billing": ["bill"]}}, "config.aliases"),
        ({"entity_language": 5}, "config.entity_language"),
        ({"entity_language": {"refund": None}}, "config.entity_language['refund']"),
        ({"entity_language": "en", "source_language": ["hi"]}, "config.source_language"),
    ],
)
def test_a_config_that_cannot_be_understood_is_a_data_error(
    config: dict[str, Any], field: str
) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(entity_case(config={**CONFIG, **config}))
    assert error.value.field == field


@pytest.mark.parametrize("aliases", [None, {}, {"refund": []}, {"refund": "refund"}, {"": ["a"]}])
def test_aliases_that_say_nothing_change_nothing(aliases: object) -> None:
    case = entity_case(outcome(["refund"]), config={**CONFIG, "aliases": aliases})
    found = values(case, outcome(["refund", "a"]))
    assert (found["keyword_precision"], found["keyword_recall"]) == (0.5, 1)


def test_an_empty_alias_does_not_make_an_entity_of_nothing() -> None:
    case = entity_case(outcome(["refund"]), config={**CONFIG, "aliases": {"refund": ["", "!"]}})
    assert values(case, outcome([""]))["keyword_recall"] == 0


def test_duplicates_in_an_expected_list_count_once() -> None:
    case = entity_case(outcome(["refund", "Refund", ""]))
    assert values(case, outcome(["refund"]))["keyword_recall"] == 1


def test_an_expected_entity_that_is_not_configured_is_flagged() -> None:
    case = entity_case(outcome(["loan"]))
    assert flags(case, outcome(["loan"])) == ["expected_not_configured"]
    assert flags(case, "no JSON") == ["not_json", "expected_not_configured"]
    assert values(case, outcome(["loan"]))["config_adherence"] == 0


def test_further_keys_of_the_expected_outcome_belong_to_its_structure() -> None:
    case = entity_case({**outcome(), "note": {"by": "x"}})
    assert fault(case, {**outcome(), "note": {"by": None}}) is None
    assert fault(case, outcome()) is not None


def test_keywords_absent_leaves_topics_to_be_measured() -> None:
    case = entity_case(
        outcome(["ignored"], ["billing"]), parts={"detected_keywords": "absent"}, transcript=""
    )
    for given in ([], ["loan", "x", "y"], {"any": "thing"}, None):
        found = measure_answer(case, {**outcome(topics=["billing"]), "detected_keywords": given})
        absent = {slug for slug, m in found.measures.items() if m.absence == "absent"}
        assert absent == {f"entity.keyword_{name}" for name in ("precision", "recall", "f1")}
        assert found.measures["entity.topic_f1"].value == 1
        assert found.measures["entity.config_adherence"].value == 1
        assert found.measures["entity.fabricated_count"].value == 0
        assert found.flags == []


def test_both_lists_absent_leaves_the_structure_alone() -> None:
    parts = {"detected_keywords": "absent", "detected_topics": "absent"}
    case = entity_case({"valid_entity_set": ["refund"]}, parts=parts)
    answers: list[object] = [{"valid_entity_set": []}, "prose"]
    for answer in answers:
        found = measure_answer(case, answer).measures
        assert {slug for slug, m in found.items() if m.absence != "absent"} == {"entity.structure"}


def test_without_any_configured_list_adherence_is_absent() -> None:
    parts = {"valid_entity_set": "absent"}
    case = entity_case(outcome(["refund"]), config={}, parts=parts)
    found = measure_answer(case, outcome(["refund"]))
    assert found.measures["entity.config_adherence"].absence == "absent"
    assert found.measures["entity.keyword_f1"].value == 1
    assert found.flags == []


def test_only_the_exact_word_declares_a_part_absent() -> None:
    case = entity_case(outcome(["refund"]), parts={"detected_keywords": "Absent, mostly"})
    assert values(case, outcome())["keyword_recall"] == 0


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN-us", "en"),
        (" pt_BR ", "pt"),
        ("zh-Hans-CN", "zh"),
        ("yue", "yue"),
        ("", ""),
        ("e", ""),
        ("enhi", ""),
        ("en>hi", ""),
        ("und", ""),
        ("mul-Latn", ""),
        ("हि", ""),
    ],
)
def test_the_primary_language_of_a_tag(tag: str, language: str) -> None:
    assert primary_language(tag) == language
