"""The translation task on whole answers: reading, flags, absences, questions, and its laws."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Verdict
from callscore.suites.calls.spec import metric_names
from callscore.suites.calls.translation.task import OFFERED, VALUES
from translation_cases import (
    TASK,
    cosine,
    measure_answer,
    open_questions,
    outcome,
    translation_case,
    value,
    word,
)

SLUGS = metric_names().by_task["translation"]
EXPECTED = outcome(
    ["आपका KYC पूरा है", "प्रिया शर्मा ने ₹49 लिए"],
    sources=["Your KYC is done", "Priya Sharma took ₹49"],
    terms={"KYC": "KYC"},
    nouns={"Priya Sharma": "प्रिया शर्मा"},
)


def absences(answer: object, **parts: str) -> dict[str, str]:
    """Why each measure has no value; empty where it has one."""
    found = measure_answer(translation_case(EXPECTED, parts=parts), answer).measures
    return {slug.partition(".")[2]: measure.absence for slug, measure in found.items()}


def test_every_measure_is_there_whatever_the_answer() -> None:
    for answer in (EXPECTED, "no", {}):
        assert set(measure_answer(translation_case(EXPECTED), answer).measures) == set(SLUGS)


def test_the_human_translation_itself_is_perfect_and_raises_no_alarm() -> None:
    case = translation_case(EXPECTED)
    found = measure_answer(case, EXPECTED)
    values = {slug: measure.value for slug, measure in found.measures.items()}
    assert values.pop("translation.drift") == 0.0
    assert set(values.values()) == {1.0}
    assert list(found.flags) == ["resolution_limited"]
    assert open_questions(case, EXPECTED) == []


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ("Here it is", "not_json"),
        ({**EXPECTED, "note": ""}, "structure"),
        ({**EXPECTED, "sentence_translations": {}}, "structure"),
        ({**EXPECTED, "domain_terms_handled": [{"term": "KYC"}]}, "structure"),
        ({**EXPECTED, "full_translation": []}, "structure"),
    ],
)
def test_a_wrong_structure_has_only_the_structure_measure(answer: object, cause: str) -> None:
    found = measure_answer(translation_case(EXPECTED), answer)
    assert found.measures["translation.structure"].value == 0.0
    assert {m.absence for s, m in found.measures.items() if s != "translation.structure"} == {
        "malformed"
    }
    assert list(found.flags) == [cause]


@pytest.mark.parametrize("answer", [EXPECTED, "not JSON"])
def test_absent_parts_stay_absent_however_the_answer_looks(answer: object) -> None:
    found = absences(answer, domain_terms_handled="absent", named_entities_handled="absent")
    assert [name for name, why in found.items() if why == "absent"] == [
        "domain_terms",
        "proper_nouns",
    ]


@pytest.mark.parametrize("junk", [None, 3, {"a": []}, [[]]])
def test_what_stands_in_an_absent_part_is_never_looked_at(junk: object) -> None:
    answer = {**EXPECTED, "named_entities_handled": junk}
    assert absences(answer, named_entities_handled="absent")["proper_nouns"] == "absent"


@pytest.mark.parametrize("part", ["sentence_translations", "translated_text"])
def test_without_sentences_only_the_structure_is_measured(part: str) -> None:
    found = absences(EXPECTED, **{part: "absent"})
    assert found.pop("structure") == ""
    assert set(found.values()) == {"absent"}
    assert open_questions(translation_case(EXPECTED, parts={part: "absent"}), EXPECTED) == []


def test_a_note_in_expected_parts_changes_nothing() -> None:
    assert set(absences(EXPECTED, named_entities_handled="gold").values()) == {""}


def sentences(*texts: Any) -> dict[str, Any]:
    """The expected outcome with other translations."""
    items = [
        {**item, "translated_text": text}
        for item, text in zip(EXPECTED["sentence_translations"], texts, strict=True)
    ]
    return {**EXPECTED, "sentence_translations": items}


@pytest.mark.parametrize(
    ("answer", "flag"),
    [
        (sentences("KYC हो गया", None), "bad_scalar"),
        (sentences("KYC हो गया", 7), "bad_scalar"),
        ({**EXPECTED, "full_translation": None}, "bad_scalar"),
        (sentences("Your KYC is done", "प्रिया शर्मा ने ₹49 लिए"), "copied_source"),
        (
            {**EXPECTED, "sentence_translations": EXPECTED["sentence_translations"][:1]},
            "missing_item",
        ),
        (sentences("सत्यापन पूरा है", "प्रिया शर्मा ने ₹49 लिए"), "claim_contradicted"),
        (
            {**EXPECTED, "domain_terms_handled": [{"term": "UPI", "handled_as": "UPI"}]},
            "claim_contradicted",
        ),
        (sentences("KYC पूरा", "प्रिया शर्मा ने पैसे लिए"), "maybe_spelled_out"),
        ({**EXPECTED, "full_translation": "आपका KYC पूरा है"}, "full_translation_incomplete"),
    ],
)
def test_what_is_odd_is_flagged(answer: object, flag: str) -> None:
    assert flag in measure_answer(translation_case(EXPECTED), answer).flags


@pytest.mark.parametrize(
    "claims",
    [
        [],
        [{"term": "KYC", "handled_as": "KYC"}, {"term": "done", "handled_as": "पूरा"}],
        [{"term": None, "handled_as": "KYC"}, {"term": "KYC", "handled_as": 1}],
    ],
)
def test_true_or_unusable_claims_contradict_nothing(claims: list[Any]) -> None:
    answer = {**EXPECTED, "domain_terms_handled": claims}
    assert "claim_contradicted" not in measure_answer(translation_case(EXPECTED), answer).flags


def test_repeated_terms_count_once_and_each_of_their_forms_is_sought() -> None:
    expected = outcome(["खाता खुला", "account बंद"])
    expected["domain_terms_handled"] = [
        {"term": "account", "handled_as": "खाता"},
        {"term": "account", "handled_as": "account"},
    ]
    case = translation_case(expected)
    found = measure_answer(case, outcome(["खाता खोला", "account बंद है"])).measures
    assert (found["translation.domain_terms"].denominator) == 1.0
    assert found["translation.domain_terms"].value == 1.0
    assert value(case, outcome(["खाता खोला", "खाता बंद है"]), "domain_terms") == 0.0


def test_a_form_that_the_reference_lacks_does_not_fault_the_reference() -> None:
    expected = outcome(["सत्यापन पूरा है"], terms={"KYC": "KYC"}, nouns={"Ana": "आना"})
    found = measure_answer(translation_case(expected), expected)
    assert found.measures["translation.domain_terms"].value == 1.0
    assert found.measures["translation.proper_nouns"].value == 1.0
    assert "claim_contradicted" not in found.flags


def test_only_what_code_cannot_decide_is_asked() -> None:
    expected = outcome(
        ["Zvonila Petrova", "Vrátili 49 Kč", "Hotovo", "Věc převzal vedoucí"],
        nouns={"Petrova": "Petrova"},
    )
    case = translation_case(expected, lang="cs", facts=["49 Kč", "Věc převzal vedoucí"])
    answer = outcome(["Volali Petrovu", "Vrátili  49 Kč", "", "Věc vyřešil agent"])
    assert open_questions(case, answer) == [
        ("meaning", "1"),
        ("fluency", "1"),
        ("meaning", "4"),
        ("fluency", "4"),
        ("proper_nouns", "Petrova"),
        ("critical_facts", "fact:2"),
    ]


def test_what_is_asked_offers_the_words_of_its_metric() -> None:
    case = translation_case(EXPECTED)
    reference = TASK.reference(case)
    output = TASK.read(reference, Reply(json.dumps(sentences("KYC हो गया", "हाँ"))))
    assert not isinstance(output, Malformed)
    for question in TASK.ask(reference, output):
        assert question.offered == OFFERED[question.metric]
        assert question.offered == () or question.offered[-1] == "cannot_tell"
    assert VALUES == {"translation.fluency": (1.0, 0.75, 0.5, 0.25, 0.0)}


def test_answered_questions_leave_nothing_to_run() -> None:
    case = translation_case(EXPECTED)
    answer = sentences("आपकी KYC हो गई", "प्रिया शर्मा को ₹49 मिले")
    verdicts = [
        cosine("1", 0.9),
        cosine("2", 0.8),
        word("fluency", "1", "native"),
        word("fluency", "2", "noticeable"),
    ]
    found = measure_answer(case, answer, verdicts).measures
    assert found["translation.meaning"].value == pytest.approx(0.85)
    assert found["translation.fluency"].value == 0.75
    assert all(measure.value is not None for measure in found.values())


def test_an_abstention_on_fluency_leaves_the_sentence_waiting() -> None:
    answer = sentences("आपकी KYC हो गई", "प्रिया शर्मा ने ₹49 लिए")
    found = measure_answer(
        translation_case(EXPECTED), answer, [word("fluency", "1", "cannot_tell")]
    )
    waiting = "not_run: 1 of 2 translated sentences await a verdict"
    assert found.measures["translation.fluency"].reason() == waiting
    assert "abstained" in found.flags


@pytest.mark.parametrize(("verdict", "expected"), [("preserved", 1.0), ("omitted", 0.0)])
def test_a_number_in_words_is_kept_if_a_judge_finds_it(verdict: str, expected: float) -> None:
    case = translation_case(outcome(["₹49 वापस"]), facts=[{"fact": "₹49", "expected": "₹49"}])
    answer = outcome(["उनचास रुपये वापस"])
    assert value(case, answer, "critical_facts") == 0.0
    verdicts = [word("critical_facts", "fact:1", verdict)]
    assert value(case, answer, "critical_facts", verdicts) == expected


def test_the_stricter_of_two_verdicts_counts() -> None:
    case = translation_case(EXPECTED)
    answer = sentences("आपकी KYC हो गई", "प्रिया शर्मा ने ₹49 लिए")
    verdicts = [word("fluency", "1", "native"), word("fluency", "1", "noticeable")]
    assert value(case, answer, "fluency", verdicts) == 0.75
    cosines = [cosine("1", 0.9), cosine("1", 0.5), Verdict("translation.meaning", "1")]
    assert value(case, answer, "meaning", cosines) == 0.75


def test_the_prompt_keeps_the_answer_to_itself() -> None:
    case = translation_case(EXPECTED, facts=["₹49"])
    prompt = TASK.prompt(case)
    assert (
        "Your KYC is done" in prompt.messages[1].content
        and "critical_facts" not in prompt.messages[1].content
    )
    assert prompt.schema is not None
    assert set(prompt.schema["required"]) == set(EXPECTED)
    assert all(key in prompt.messages[0].content for key in EXPECTED)


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
)
SOME_TEXT = st.sampled_from(
    ["KYC", "₹49", "प्रिया शर्मा", "Your KYC is done", "12:30", "n/a", " ", "\u200b"]
)
ANY = SCALARS | SOME_TEXT
ITEMS = {
    "sentence_translations": ("source_id", "source_text", "translated_text"),
    "domain_terms_handled": ("term", "handled_as"),
    "named_entities_handled": ("entity", "handled_as"),
}
IDS = st.sampled_from([1, "1", 2, 2.0, "2 ", 3])
ANSWERS = st.fixed_dictionaries(
    {
        "full_translation": ANY,
        **{
            part: st.lists(
                st.fixed_dictionaries({key: IDS | ANY if "id" in key else ANY for key in keys}),
                max_size=4,
            )
            for part, keys in ITEMS.items()
        },
    }
)


@given(ANSWERS)
def test_no_scalar_in_any_place_breaks_the_measuring(answer: dict[str, Any]) -> None:
    reference = TASK.reference(translation_case(EXPECTED))
    output = TASK.read(reference, Reply(msgspec.json.encode(answer)))
    assert not isinstance(output, Malformed), output
    found = TASK.measure(reference, output, NO_VERDICTS)
    assert set(found.measures) == set(SLUGS)
    assert list(found.flags) == sorted(set(found.flags))
    for slug, measure in found.measures.items():
        if measure.value is not None and slug != "translation.drift":
            assert 0.0 <= measure.value <= 1.0
    TASK.ask(reference, output)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4), st.data())
def test_any_human_translation_scores_one_on_itself(
    pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    texts = [translation for _, translation in pairs]
    forms = st.dictionaries(WORDS, st.sampled_from(texts).filter(str.strip), max_size=2)
    if not any(map(str.strip, texts)):
        forms = st.just({})
    expected = outcome(
        texts,
        sources=[source for source, _ in pairs],
        terms=data.draw(forms),
        nouns=data.draw(forms),
        full=data.draw(WORDS),
    )
    found = measure_answer(translation_case(expected), expected)
    values = {slug: measure.value for slug, measure in found.measures.items()}
    assert values.pop("translation.drift") == 0.0
    assert set(values.values()) == {1.0}
    assert set(found.flags) <= {"resolution_limited"}


def test_an_endless_list_of_claims_is_not_searched_to_its_end() -> None:
    claims = [{"term": f"t{n}", "handled_as": "है"} for n in range(20_000)]
    claims.append({"term": "UPI", "handled_as": "UPI"})
    answer = sentences("KYC हो गया है " * 20_000, "प्रिया शर्मा ने ₹49 लिए")
    found = measure_answer(translation_case(EXPECTED), {**answer, "domain_terms_handled": claims})
    assert "claim_contradicted" not in found.flags
