"""C-131, C-37: a reference must survive itself; each test carries its entry's id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from builders import (
    Json,
    entity_case,
    entity_output,
    output,
    qa_case,
    question,
    text_case,
    translation_case,
    translation_outcome,
)
from calls_suite import all_tasks
from callscore.app import check_cases
from callscore.core.case import Case, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS
from callscore.evaluate.case_checks import CaseCheck
from callscore.suites.calls import spec
from callscore.suites.calls.lint import is_vague, nearest_key
from shared_cases import BUNDLED
from test_real_data import FILES, path_of

UNLISTED = entity_case(["refund", "loan"], [], ["loan", "billing"])


def checked(case: Json, folder: Path) -> CaseCheck:
    path = folder / "cases.jsonl"
    path.write_text(json.dumps(case), encoding="utf-8")
    return check_cases([path])


def warnings(case: Json, folder: Path) -> list[str]:
    found = checked(case, folder)
    assert not found.problems
    return [f"{warning.field}: {warning.problem}" for warning in found.warnings]


def test_c131_an_expected_keyword_outside_the_configured_list_is_a_dataset_error(
    tmp_path: Path,
) -> None:
    (problem,) = checked(UNLISTED, tmp_path).problems
    assert str(problem) == (
        f"{tmp_path / 'cases.jsonl'}:1: case 'c1': field expected_outcome.detected_keywords:"
        " 'refund' is not in the configured list, which contains 'billing', 'loan': a perfect"
        " answer would be blocked; expected entities of the list"
    )


def test_c131_such_a_case_is_refused_before_anything_is_scored(tmp_path: Path) -> None:
    answers = [output("c1", entity_output(["refund"]))]
    with pytest.raises(DataError, match="'refund' is not in the configured list"):
        callscore.score([UNLISTED], answers)
    good = entity_case(["loan"], [], ["loan"], "c2")
    answers.append(output("c2", entity_output(["loan"])))
    card = callscore.score([UNLISTED, good], answers, allow_bad_cases=True)
    assert card.skipped_cases == 1


def test_c131_where_a_perfect_answer_would_pass_it_is_a_warning(tmp_path: Path) -> None:
    names = [f"word{n}" for n in range(40)]
    found = warnings(entity_case(names, [], names[1:]), tmp_path)
    assert found == ["expected_outcome: 'word0': expected, and not in the configured list"]


def of_translation(**parts: Any) -> Json:
    case = translation_case("Call Ana at 5 pm", "Llama a Ana a las 5")
    case["expected_outcome"] |= parts
    return case


@pytest.mark.parametrize(
    ("case", "field"),
    [
        pytest.param(
            of_translation(domain_terms_handled=[{"term": "KYC", "handled_as": "KYC"}]),
            "expected_outcome.domain_terms_handled[0].handled_as: 'KYC' occurs in no",
            id="a term that its own translation lacks",
        ),
        pytest.param(
            of_translation(named_entities_handled=[{"entity": "Ana", "handled_as": "Anna"}]),
            "expected_outcome.named_entities_handled[0].handled_as: 'Anna' occurs in no",
            id="a name that its own translation lacks",
        ),
        pytest.param(
            {**of_translation(), "annotations": {"critical_facts": ["6 pm"]}},
            "critical_facts: '6 pm' is listed",
            id="a fact that its own translation lacks",
        ),
        pytest.param(
            {**of_translation(), "expected_outcome": translation_outcome("Call Ana", "")},
            "expected_outcome.sentence_translations.translated_text: the sentence '1' has none",
            id="a sentence without its translation",
        ),
        pytest.param(
            text_case(config={"required_fields": ["resolution", "order"]}),
            "config.required_fields: 'order': required, and left empty",
            id="a required field that its own summary leaves empty",
        ),
        pytest.param(
            entity_case(["loan"], [], ["loan"], config={"alias": {"loan": ["credit"]}}),
            "config.alias: is not a known key; expected 'aliases'?",
            id="a misspelt key",
        ),
        pytest.param(
            entity_case(["loan"], [], ["loan"], config={"entityLanguage": "en"}),
            "config.entityLanguage: is not a known key; expected 'entity_language'?",
            id="a key in another style",
        ),
    ],
)
def test_c131_what_contradicts_itself_is_named_with_its_field(
    tmp_path: Path, case: Json, field: str
) -> None:
    (found,) = warnings(case, tmp_path)
    assert found.startswith(field)


@pytest.mark.parametrize(
    "case",
    [
        of_translation(named_entities_handled=[{"entity": "Ana", "handled_as": "ANA"}]),
        of_translation(domain_terms_handled=[{"term": "Ana", "handled_as": "Ana"}]),
        {**of_translation(), "annotations": {"critical_facts": ["5 PM", "llama a ana"]}},
        entity_case(["loan"], [], ["loan"], config={"policy": "x", "tone": "y"}),
        entity_case(["credit"], [], ["loan"], config={"aliases": {"loan": ["credit"]}}),
    ],
)
def test_c131_what_agrees_with_itself_is_not_warned_of(tmp_path: Path, case: Json) -> None:
    found = [one for one in warnings(case, tmp_path) if "is listed" not in one]
    assert found == []


def test_c131_the_card_says_how_many_references_contradict_themselves() -> None:
    cases = [
        {
            **of_translation(domain_terms_handled=[{"term": "KYC", "handled_as": "KYC"}]),
            "id": f"c{n}",
        }
        for n in range(3)
    ]
    outputs = [output(case["id"], case["expected_outcome"]) for case in cases]
    (note,) = [note for note in callscore.score(cases, outputs).notes if "contradicts" in note]
    assert note.startswith("cases whose reference or config contradicts itself: 3, the first: ")
    assert "case 'c0'" in note


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("keyword", "keywords"),
        ("Topics", "topics"),
        ("question", "questions"),
        ("targetLanguage", "target_language"),
        ("required_field", "required_fields"),
        ("emotion", "emotions"),
        ("policy", None),
        ("sentiment_labels", None),
        ("flowchart", None),
        ("x" * 10_000, None),
    ],
)
def test_c131_a_key_near_a_known_one_is_taken_for_a_misspelt_one(
    key: str, known: str | None
) -> None:
    assert nearest_key(key) == known


def survives(case: Case) -> None:
    """The reference, given as an answer, is perfect in all that code decides."""
    task = all_tasks()[case.task]
    reference = task.reference(case)
    answer = task.read(reference, Reply(msgspec.json.encode(case.expected_outcome)))
    found = task.measure(reference, answer, NO_VERDICTS).measures
    specs = spec.load_spec().metrics
    for slug, measure in found.items():
        if specs[slug].needs == "code" and measure.value is not None:
            assert measure.value == (1 if specs[slug].unit == "fraction" else 0), (case.id, slug)


@pytest.mark.parametrize("name", ["the bundled sample", *FILES])
def test_c131_references_without_a_problem_survive_the_full_scorer(name: str) -> None:
    """The checks in closed form find what scoring the reference in full would find."""
    path = BUNDLED if name == "the bundled sample" else path_of(name)
    assert not check_cases([path]).problems
    for line in path.read_bytes().splitlines():
        survives(msgspec.json.decode(line, type=Case))


@pytest.mark.parametrize(
    ("reason", "vague"),
    [
        ("Agent was polite", True),
        ("It's fine", True),
        ("Agent said 'Good morning' at 00:12", False),
        ('"Good morning"', False),
        ("\u201cGood morning\u201d", False),
        ("The agent opened the account and read its terms aloud", False),
    ],
)
def test_c37_a_reason_that_names_nothing_specific(reason: str, vague: bool) -> None:
    assert is_vague(reason) is vague


def test_c37_validate_warns_of_reference_reasons_that_name_nothing_specific(tmp_path: Path) -> None:
    asked = {"questions": [{"question": "Polite?", **question()}]}
    (found,) = warnings(qa_case([question(reason="Agent was polite")], config=asked), tmp_path)
    assert "1 of 1 name nothing specific, as 'Agent was polite'" in found
    assert warnings(qa_case([question()], config=asked), tmp_path) == []
    assert warnings(qa_case([question(reason="")], config=asked), tmp_path) == []
