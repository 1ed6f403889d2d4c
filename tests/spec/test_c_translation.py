"""The clarifications of the Translation chapter, one test an entry: C-14, C-65 … C-78."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import output, score
from calls_suite import formula_of
from callscore.core.case import Case
from callscore.core.judging import Verdict
from callscore.scorecard.formula import score_case
from callscore.suites.calls.spec import load_spec
from translation_cases import (
    cosine,
    measure_answer,
    number,
    outcome,
    rating,
    translation_case,
    value,
    word,
)

SPEC = load_spec()
SIXTY = [f"वाक्य {chr(0x0915 + number // 8)}{chr(0x0915 + number % 8)}" for number in range(60)]


def status(case: Case, answer: Any) -> str:
    """The status of one call with all its gates."""
    return score_case(formula_of("translation", "all"), measure_answer(case, answer)).status


def test_c14_drift_is_a_percent_and_preservation_a_fraction() -> None:
    numbers = [f"{n} रुपये" for n in range(101, 121)]
    answer = outcome([*numbers[:-1], "999 रुपये"])
    found = measure_answer(translation_case(outcome(numbers)), answer).measures
    assert found["translation.drift"].value == 5.0
    assert SPEC.metrics["translation.drift"].unit == "percent"
    assert found["translation.critical_facts"].value == pytest.approx(0.95)
    assert SPEC.metrics["translation.critical_facts"].unit == "fraction"


def test_c65_sixty_two_returned_of_sixty_expected_are_complete_with_a_warning() -> None:
    answer = outcome([*SIXTY, "एक और", "दो और"])
    found = measure_answer(translation_case(outcome(SIXTY)), answer)
    assert found.measures["translation.completeness"].value == 1.0
    assert "unexpected_item" in found.flags


def test_c65_empty_strings_are_not_translations() -> None:
    answer = outcome([*SIXTY[:55], "", " ", "\u200b", "-", "N/A"])
    assert value(translation_case(outcome(SIXTY)), answer, "completeness") == 55 / 60


def test_c65_two_different_translations_of_a_sentence_are_none() -> None:
    answer = outcome(SIXTY[:2])
    answer["sentence_translations"].append(
        {**answer["sentence_translations"][0], "translated_text": "ग"}
    )
    found = measure_answer(translation_case(outcome(SIXTY[:2])), answer)
    assert found.measures["translation.completeness"].value == 0.5
    assert "conflicting_duplicate" in found.flags


@pytest.mark.parametrize(
    ("source", "expected", "given", "translated"),
    [
        ("Hello", "नमस्ते", "Hello", False),
        ("Hello", "नमस्ते", " hello! ", False),
        ("OK", "OK", "ok", True),
        ("12-34", "१२-३४", "12-34", True),
        ("Hello", "नमस्ते", "Hello जी", True),
    ],
)
def test_c66_the_source_again_is_not_a_translation(
    source: str, expected: str, given: str, translated: bool
) -> None:
    case = translation_case(outcome([expected], sources=[source]))
    answer = outcome([given], sources=[source])
    assert value(case, answer, "completeness") == float(translated)


def test_c67_a_missing_sentence_scores_zero() -> None:
    case = translation_case(outcome(["एक बात", "दो बात", "तीन बात", "चार बात"]))
    answer = outcome(["क", "ख", "ग"])
    verdicts = [cosine(str(number), 0.9) for number in (1, 2, 3)]
    assert value(case, answer, "meaning", verdicts) == pytest.approx(0.675)


@pytest.mark.parametrize(
    ("given", "similarity", "expected"),
    [
        ("अलग बात", -0.2, 0.0),
        ("अलग बात", 1.0000002, 1.0),
        ("अलग बात", 0.0, 0.0),
        ("एक  बात", None, 1.0),
        ("", 0.9, 0.0),
        ("One thing", 0.9, 0.0),
    ],
)
def test_c67_cosines_are_clamped_and_code_decides_first(
    given: str, similarity: float | None, expected: float
) -> None:
    case = translation_case(outcome(["एक बात"], sources=["One thing"]))
    verdicts = [] if similarity is None else [cosine("1", similarity)]
    assert value(case, outcome([given], sources=["One thing"]), "meaning", verdicts) == expected


def test_c67_without_a_similarity_there_is_no_value() -> None:
    case = translation_case(outcome(["एक बात", "दो बात"]))
    found = measure_answer(case, outcome(["एक बात", "और बात"])).measures["translation.meaning"]
    assert found.reason() == "not_run: 1 of 2 sentences await a similarity"


ANCHORS = {"native": 1.0, "minor": 0.75, "noticeable": 0.5}


@pytest.mark.parametrize("as_numbers", [False, True])
def test_c69_fluency_is_the_mean_of_five_anchors(as_numbers: bool) -> None:
    case = translation_case(outcome(SIXTY[:5]))
    answer = outcome([text + " है" for text in SIXTY[:5]])
    given = enumerate(["native", "native", "minor", "minor", "noticeable"], start=1)
    verdicts = [
        number("fluency", str(n), ANCHORS[anchor])
        if as_numbers
        else word("fluency", str(n), anchor)
        for n, anchor in given
    ]
    found = value(case, answer, "fluency", verdicts)
    assert found == pytest.approx(0.80)
    assert rating("fluency", found) == "Acceptable"


def test_c69_untranslated_sentences_leave_fluency_and_none_translated_is_zero() -> None:
    case = translation_case(outcome(["एक बात", "दो बात"]))
    one = outcome(["और बात", ""])
    assert value(case, one, "fluency", [word("fluency", "1", "minor")]) == 0.75
    assert value(case, outcome(["", ""]), "fluency") == 0.0


def test_c69_only_the_five_anchors_count() -> None:
    case = translation_case(outcome(["एक बात"]))
    verdicts = [number("fluency", "1", 0.8)]
    assert value(case, outcome(["और बात"]), "fluency", verdicts) is None


def test_c70_a_claim_is_no_proof() -> None:
    case = translation_case(outcome(["आपका KYC पूरा है"], terms={"KYC": "KYC"}))
    found = measure_answer(case, outcome(["आपका ग्राहक सत्यापन पूरा है"], terms={"KYC": "KYC"}))
    assert found.measures["translation.domain_terms"].value == 0.0
    assert "claim_contradicted" in found.flags


def test_c70_a_term_must_be_in_every_sentence_where_the_human_has_it() -> None:
    case = translation_case(outcome(["KYC बाकी है", "KYC पूरा है"], terms={"KYC": "KYC"}))
    assert value(case, outcome(["KYC शेष है", "KYC हो गया"]), "domain_terms") == 1.0
    assert value(case, outcome(["KYC KYC शेष है", "हो गया"]), "domain_terms") == 0.0


def test_c70_a_term_that_no_expected_sentence_has_is_sought_in_the_whole() -> None:
    case = translation_case(outcome(["सत्यापन बाकी है", "ठीक है"], terms={"KYC": "KYC"}))
    assert value(case, outcome(["सत्यापन शेष है", "KYC ठीक है"]), "domain_terms") == 1.0
    assert value(case, outcome(["सत्यापन शेष है", "ठीक"]), "domain_terms") == 0.0


def test_c70_a_copied_sentence_still_has_its_terms() -> None:
    case = translation_case(outcome(["KYC पूरा है"], sources=["KYC is done"], terms={"KYC": "KYC"}))
    answer = outcome(["KYC is done"], sources=["KYC is done"])
    assert value(case, answer, "domain_terms") == 1.0
    assert value(case, answer, "completeness") == 0.0


@pytest.mark.parametrize(
    ("expected", "form", "given", "correct"),
    [
        ("आपका KYC पूरा है", "KYC", "आपका kyc पूरा है", False),
        ("आपका KYC पूरा है", "KYC", "आपकी KYC-प्रक्रिया पूरी है", True),
        ("आपका KYC पूरा है", "KYC", "आपका KYCX पूरा है", False),
        ("KYC를 완료했습니다", "KYC", "KYC는 끝났습니다", True),
        ("서울역에서 뵙겠습니다", "서울역", "서울역으로 오세요", True),
        ("Der Premiumtarif gilt", "Premium", "Die Premiumkunden", True),
        ("El plan D'Or sigue", "D’Or", "Sigue el plan D´Or", True),
    ],
)
def test_c71_a_form_is_matched_exactly_at_word_boundaries(
    expected: str, form: str, given: str, correct: bool
) -> None:
    case = translation_case(outcome([expected], terms={"term": form}))
    assert value(case, outcome([given]), "domain_terms") == float(correct)


@pytest.mark.parametrize(
    ("form", "given", "correct", "flag"),
    [
        ("प्रिया शर्मा", "प्रिया ने फ़ोन किया", False, False),
        ("प्रिया शर्मा", "प्रिया शर्मा ने बात की", True, False),
        ("Priya Sharma", "PRIYA SHARMA hat angerufen", True, False),
        ("Petrova", "Petrovu gesehen", False, True),
        ("Ivan", "Ivanka", False, True),
        ("Ali", "Alis Anruf", False, False),
        ("O'Brien", "Anruf von O’BRIEN", True, False),
    ],
)
def test_c72_names_match_in_any_case_but_not_inflected(
    form: str, given: str, correct: bool, flag: bool
) -> None:
    case = translation_case(outcome([f"Von {form} ein Anruf"], nouns={"name": form}))
    found = measure_answer(case, outcome([given]))
    assert found.measures["translation.proper_nouns"].value == float(correct)
    assert ("maybe_inflected" in found.flags) is flag


@pytest.mark.parametrize(
    ("verdict", "expected", "flags"),
    [
        ("same_name", 1.0, []),
        ("different_name", 0.0, []),
        ("cannot_tell", 0.0, ["abstained"]),
    ],
)
def test_c72_a_judge_may_accept_an_inflected_name(
    verdict: str, expected: float, flags: list[str]
) -> None:
    case = translation_case(outcome(["Zvonila Petrova"], nouns={"Petrova": "Petrova"}))
    answer = outcome(["Volali Petrovu"])
    found = measure_answer(case, answer, [word("proper_nouns", "Petrova", verdict)])
    assert found.measures["translation.proper_nouns"].value == expected
    assert list(found.flags) == flags


def test_c73_no_terms_or_nouns_is_one_and_vacuous() -> None:
    found = measure_answer(translation_case(outcome(["ठीक है"])), outcome(["ठीक"])).measures
    for metric in ("translation.domain_terms", "translation.proper_nouns"):
        assert (found[metric].value, found[metric].vacuous) == (1.0, True)


def test_c74_every_model_has_the_same_denominator() -> None:
    case = translation_case(outcome(["₹49 वापस, 3-5 दिन में", "खाता 99871234"]))
    answers = [outcome(["₹49 वापस", "ठीक"]), outcome(["7 दिन, ₹12, 80%, 5:30", "खाता 1"])]
    totals = {
        measure_answer(case, a).measures["translation.critical_facts"].denominator for a in answers
    }
    assert totals == {3.0}


@pytest.mark.parametrize("place", ["annotations", "config"])
def test_c74_given_facts_are_in_annotations_or_config(place: str) -> None:
    facts = ["₹49", {"fact": "the supervisor was called", "expected": "पर्यवेक्षक को बुलाया"}]
    expected = outcome(["₹49 वापस, पर्यवेक्षक को बुलाया, 12 बजे"])
    case = (
        translation_case(expected, facts=facts)
        if place == "config"
        else translation_case(expected, annotations={"critical_facts": facts})
    )
    found = measure_answer(case, outcome(["पर्यवेक्षक को बुलाया, 12 बजे"])).measures
    assert found["translation.critical_facts"].denominator == 2.0
    assert found["translation.critical_facts"].value == 0.5


def test_c74_a_fact_is_preserved_in_form_or_in_all_its_numbers_and_units() -> None:
    case = translation_case(
        outcome(["3–5 कार्य दिवस लगेंगे"]),
        facts=[{"fact": "3–5 business days", "expected": "3–5 कार्य दिवस"}],
    )
    assert value(case, outcome(["३-५ कार्य दिवस"]), "critical_facts") == 1.0
    assert value(case, outcome(["3 कार्य दिवस"]), "critical_facts") == 0.0


def test_c75_an_invented_amount_is_drift_too() -> None:
    case = translation_case(outcome(["₹49, ₹50, ₹51, ₹52"]))
    assert value(case, outcome(["₹49, ₹50, ₹51, ₹52 और ₹999"]), "critical_facts") == 0.75


def test_c75_an_altered_fact_is_not_also_added() -> None:
    case = translation_case(outcome(["₹49 और ₹50"]))
    assert value(case, outcome(["₹49 और ₹999"]), "critical_facts") == 0.5


@pytest.mark.parametrize(("given", "expected"), [("ठीक", 1.0), ("ठीक, ₹5", 0.0)])
def test_c75_without_expected_facts_only_added_ones_drift(given: str, expected: float) -> None:
    case = translation_case(outcome(["ठीक है"]))
    found = measure_answer(case, outcome([given])).measures["translation.critical_facts"]
    assert (found.value, found.vacuous) == (expected, expected == 1.0)


def test_c75_a_fact_of_the_source_is_never_added() -> None:
    case = translation_case(outcome(["पैसे वापस"], sources=["A refund of ₹49"]))
    answer = outcome(["₹49 वापस"], sources=["A refund of ₹49"])
    assert value(case, answer, "critical_facts") == 1.0


def test_c75_the_rate_stops_at_zero() -> None:
    case = translation_case(outcome(["₹49"]))
    found = measure_answer(case, outcome(["₹1, ₹2, ₹3"])).measures
    assert found["translation.critical_facts"].value == 0.0
    assert found["translation.drift"].value == 300.0


OUTCOME = {"fact": "Agent escalated to supervisor", "expected": "मामला पर्यवेक्षक को भेजा"}


def test_c75_a_listed_fact_that_code_cannot_decide_awaits_a_verdict() -> None:
    listed = ["₹49", OUTCOME, "₹50", "₹51"]
    case = translation_case(outcome(["₹49, ₹50, ₹51, मामला पर्यवेक्षक को भेजा"]), facts=listed)
    found = measure_answer(case, outcome(["₹49, ₹50, समस्या हल की"])).measures
    kept = found["translation.critical_facts"]
    assert (kept.value, kept.absence, kept.awaiting) == (None, "not_run", 1)
    assert kept.why == "1 of 4 facts awaits a verdict"
    assert (kept.numerator, kept.denominator) == (2, 3)
    assert found["translation.drift"].value is None


def test_c75_the_card_says_how_many_facts_await_a_verdict(tmp_path: Path) -> None:
    expected = outcome(["₹49, मामला पर्यवेक्षक को भेजा"])
    case = {
        "id": "c1",
        "task": "translation",
        "transcript": "Agent: source 1",
        "config": {"target_language": "hi"},
        "expected_outcome": expected,
        "annotations": {"critical_facts": ["₹49", OUTCOME]},
    }
    outputs = [output("c1", outcome(["₹49, समस्या हल की"]))]
    records = tmp_path / "records.jsonl"
    scored = score([case], outputs, tmp_path, records=records)
    metric = scored.task("translation").metrics["translation.critical_facts"]
    assert (metric.value, metric.provisional, metric.awaiting) == (None, 1.0, 1)
    assert metric.why == "not_run: 1 of 2 facts awaits a verdict; 0 of 1 calls decided"
    assert (metric.rating, metric.meets_threshold, metric.gate_value) == (None, None, None)
    assert "translation.critical_facts" in scored.task("translation").undecided_gates
    assert "1 of 2 facts awaits a verdict" in records.read_text(encoding="utf-8")


def test_c75_an_outcome_that_was_not_looked_for_makes_the_value_approximate() -> None:
    case = translation_case(outcome(["₹49, मामला पर्यवेक्षक को भेजा"]))
    found = measure_answer(case, outcome(["₹49, समस्या हल की"])).measures
    assert found["translation.critical_facts"].value == 1.0
    assert found["translation.critical_facts"].approximate
    assert not found["translation.critical_facts"].estimated
    assert found["translation.drift"].approximate


def test_c75_an_estimate_of_a_listed_fact_counts_and_no_gate_rests_on_it() -> None:
    case = translation_case(outcome(["₹49, मामला पर्यवेक्षक को भेजा"]), facts=["₹49", OUTCOME])
    estimate = Verdict("translation.critical_facts", "fact:2", "omitted", approximate=True)
    found = measure_answer(case, outcome(["₹49, समस्या हल की"]), [estimate]).measures
    kept = found["translation.critical_facts"]
    assert (kept.value, kept.approximate, kept.estimated) == (0.5, True, True)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("preserved", 1.0), ("altered", 0.5), ("omitted", 0.5), ("cannot_tell", 0.5)],
)
def test_c75_a_judged_outcome_counts_once(verdict: str, expected: float) -> None:
    case = translation_case(outcome(["₹49, मामला पर्यवेक्षक को भेजा"]), facts=["₹49", OUTCOME])
    verdicts = [word("critical_facts", "fact:2", verdict)]
    found = measure_answer(case, outcome(["₹49, समस्या हल की"]), verdicts).measures
    assert found["translation.critical_facts"].value == expected
    assert not found["translation.critical_facts"].approximate


@pytest.mark.parametrize(
    ("expected", "given", "same"),
    [
        ("₹49", "₹४९", True),
        ("₹1,00,000", "₹100,000", True),
        ("3–5", "3", False),
        ("₹49", "$49", False),
        ("3-5 दिन", "3–5 दिन", True),
        ("3 दिन", "3 घंटे", False),
    ],
)
def test_c76_numbers_agree_in_value_unit_and_both_ends(
    expected: str, given: str, same: bool
) -> None:
    case = translation_case(outcome([f"कुल {expected} है"]))
    assert value(case, outcome([f"यह {given} है"]), "critical_facts") == float(same)


def test_c77_few_facts_block_the_call_and_are_marked() -> None:
    ten = [f"₹{number}00" for number in range(1, 11)]
    case = translation_case(outcome([", ".join(ten)]))
    answer = outcome([", ".join([*ten[:9], "₹77"])])
    found = measure_answer(case, answer)
    assert found.measures["translation.critical_facts"].value == pytest.approx(0.9)
    assert "resolution_limited" in found.flags
    assert status(case, answer) == "invalid"


def test_c77_thirty_four_facts_can_show_one_drift_in_a_hundred() -> None:
    many = [f"₹{number}00" for number in range(1, 35)]
    case = translation_case(outcome([", ".join(many)]))
    answer = outcome([", ".join([*many[:33], "₹77"])])
    found = measure_answer(case, answer)
    assert "resolution_limited" not in found.flags
    assert (
        rating("critical_facts", found.measures["translation.critical_facts"].value) == "Acceptable"
    )


@pytest.mark.parametrize(
    ("full", "warned"),
    [
        ("", True),
        ("एक बात।", True),
        ("एक बात।  दो बात।", False),
        ("दो बात\nएक बात", False),
        (7, True),
    ],
)
def test_c78_full_translation_is_not_scored_but_checked(full: Any, warned: bool) -> None:
    expected = outcome(["एक बात।", "दो बात।"])
    found = measure_answer(translation_case(expected), {**expected, "full_translation": full})
    assert ("full_translation_incomplete" in found.flags) is warned
    values = {slug: measure.value for slug, measure in found.measures.items()}
    assert set(values.values()) == {1.0, 0.0} and values.pop("translation.drift") == 0.0
    assert set(values.values()) == {1.0}
