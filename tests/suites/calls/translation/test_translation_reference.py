"""What a translation case must have, and the message where it has not (C-20, C-74, C-127)."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.core.errors import DataError
from translation_cases import TASK, outcome, translation_case

GOOD = outcome(["एक बात", "दो बात"], terms={"KYC": "KYC"}, nouns={"Ana": "आना"})


def changed(part: str, items: Any) -> dict[str, Any]:
    """The good outcome with one part replaced."""
    return {**GOOD, part: items}


def sentence(**changes: Any) -> dict[str, Any]:
    """One expected sentence with something changed."""
    return {"source_id": 1, "source_text": "one", "translated_text": "एक"} | changes


@pytest.mark.parametrize(
    ("expected", "field"),
    [
        (changed("sentence_translations", []), "sentence_translations"),
        (changed("sentence_translations", None), "sentence_translations"),
        (changed("sentence_translations", ["x"]), "sentence_translations[0]"),
        (
            changed("sentence_translations", [sentence(), sentence(source_id="1")]),
            "sentence_translations[1].source_id",
        ),
        (
            changed("sentence_translations", [sentence(), sentence(source_id=None)]),
            "sentence_translations[1].source_id",
        ),
        (
            changed("sentence_translations", [sentence(translated_text=None)]),
            "sentence_translations[0].translated_text",
        ),
        (
            changed("sentence_translations", [sentence(source_text=3)]),
            "sentence_translations[0].source_text",
        ),
        (
            changed("sentence_translations", [{"source_id": 1, "source_text": "one"}]),
            "sentence_translations[0].translated_text",
        ),
        (changed("domain_terms_handled", {}), "domain_terms_handled"),
        (changed("domain_terms_handled", [{"term": "KYC"}]), "domain_terms_handled[0].handled_as"),
        (
            changed("named_entities_handled", [{"entity": "Ana", "handled_as": " "}]),
            "named_entities_handled[0].handled_as",
        ),
        (
            {key: part for key, part in GOOD.items() if key != "full_translation"},
            "full_translation",
        ),
    ],
)
def test_a_broken_reference_is_refused_with_its_path(expected: dict[str, Any], field: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(translation_case(expected))
    assert error.value.field == f"expected_outcome.{field}"


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ("₹49", "config.critical_facts"),
        ({"fact": "₹49"}, "config.critical_facts"),
        ([49], "config.critical_facts[0]"),
        (["₹49", None], "config.critical_facts[1]"),
        ([" "], "config.critical_facts[0]"),
        ([{"expected": "₹49"}], "config.critical_facts[0]"),
        ([{"fact": "₹49", "expected": 49}], "config.critical_facts[0]"),
    ],
)
def test_a_broken_list_of_facts_is_refused_with_its_path(facts: Any, field: str) -> None:
    with pytest.raises(DataError) as error:
        TASK.reference(translation_case(GOOD, facts=facts))
    assert error.value.field == field


def test_annotations_outrank_the_config() -> None:
    annotations = {"critical_facts": ["₹1", {"fact": "₹2"}]}
    case = translation_case(GOOD, facts=["₹3"], annotations=annotations)
    assert TASK.reference(case).total_facts == 2


def test_an_empty_list_of_facts_means_that_there_are_none() -> None:
    expected = outcome(["₹49 वापस"])
    assert TASK.reference(translation_case(expected)).total_facts == 1
    assert TASK.reference(translation_case(expected, facts=[])).total_facts == 0


@pytest.mark.parametrize("part", ["domain_terms_handled", "named_entities_handled", "handled_as"])
def test_a_part_declared_absent_need_not_be_there(part: str) -> None:
    expected = {key: items for key, items in GOOD.items() if key != part}
    if part == "handled_as":
        expected["domain_terms_handled"] = [{"term": "KYC"}]
    reference = TASK.reference(translation_case(expected, parts={part: "absent"}))
    assert list(reference.sentences) == ["1", "2"]


def test_a_reference_without_source_texts_can_still_be_used() -> None:
    expected = outcome(["एक"])
    del expected["sentence_translations"][0]["source_text"]
    reference = TASK.reference(translation_case(expected, parts={"source_text": "absent"}))
    assert reference.sentences["1"].source == ""


def test_the_source_of_facts_is_the_call_with_everything_in_it() -> None:
    expected = outcome(["पैसे वापस"], sources=["A refund"])
    case = translation_case(expected, lang="hi")
    whole = type(case)("c1", "translation", "Agent: A refund\nAgent: of ₹49", case.config, expected)
    assert TASK.reference(case).facts.source == "A refund"
    assert "₹49" in TASK.reference(whole).facts.source
