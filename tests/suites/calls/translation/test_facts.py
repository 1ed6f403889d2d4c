"""Critical facts kept, lost and added: C-74, C-75, C-76."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.facts.extraction import extract
from callscore.suites.calls.translation.facts import (
    Drift,
    GivenFact,
    drift,
    fact_sheet,
)
from growth import grows_in_line
from shared_cases import shared_cases


def drift_of(reference: str, translation: str, lang: str = "en", source: str = "") -> Drift:
    return drift(fact_sheet(source, reference, lang, source_lang="en"), translation)


def is_kept(fact: GivenFact, translation: str, lang: str) -> bool | None:
    """None if only a judge can decide."""
    found = drift(fact_sheet("", fact.expected, lang, given=[fact]), translation)
    return None if found.undecided else not found.lost


@given(st.text(alphabet="0123456789 .,-–:/'₹$%hAapm年月日से", max_size=30))
def test_c75_a_text_never_drifts_from_itself(text: str) -> None:
    for lang in ("en", "fr", "zh", None):
        assert drift(fact_sheet("", text, lang), text).count == 0


@pytest.mark.parametrize(
    ("expected", "translation", "kept"),
    [
        ("₹49", "इसकी कीमत ₹49 है", True),
        ("₹49", "इसकी कीमत ४९ रुपये है", True),
        ("₹49", "इसकी कीमत $49 है", False),
        ("₹49", "इसकी कीमत ₹490 है", False),
        ("₹49", "कीमत 49।", False),
        ("3–5 कार्य दिवस", "3 से 5 कार्यदिवसों में", True),
        ("3–5 कार्य दिवस", "3 दिन में", False),
        ("पीई 5 जे 05065", "ट्रेन PE5J05065", True),
        ("Order AB-1234", "ऑर्डर ab-1234", True),
        ("रिफंड स्वीकृत", "आपका रिफंड स्वीकृत है", True),
        ("रिफंड स्वीकृत", "आपका अनुरोध मान लिया गया", None),
    ],
)
def test_c74_a_given_fact_is_preserved_by_form_or_by_numbers(
    expected: str, translation: str, kept: bool | None
) -> None:
    assert is_kept(GivenFact("source", expected), translation, "hi") is kept


def test_c74_a_fact_given_only_in_its_source_form_is_read_with_either_marks() -> None:
    given = GivenFact("186,900 yuan", "186,900 yuan")
    assert is_kept(given, "C'est 186 900 yuans.", "fr") is True
    assert is_kept(given, "C'est 186 901 yuans.", "fr") is False


def test_c74_the_number_of_facts_does_not_depend_on_the_translation() -> None:
    sheet = fact_sheet("Pay $5 by 3 May.", "Zahlen Sie 5 $ bis zum 3. Mai.", "de", source_lang="en")
    assert drift(sheet, "").total == drift(sheet, "Zahlen Sie 5 $.").total == sheet.total == 2


def test_c75_a_repeated_fact_counts_once() -> None:
    found = drift_of("₹49, I said ₹49.", "Nothing.")
    assert (found.total, found.lost) == (1, ("₹49",))


def test_c75_an_omitted_fact_is_lost_and_may_be_there_in_words() -> None:
    found = drift_of("Wait 3 days and pay $5.", "Wait three days and pay $5.")
    assert found.lost == ("3 days",)
    assert found.maybe_spelled == ("3 days",)
    assert found.added == ()


@pytest.mark.parametrize(
    "translation",
    ["Pay $50 in 3–5 days.", "Pay ₹5 in 3–5 days.", "Pay $5 in 3 days.", "Pay $5 in 3–6 days."],
)
def test_c75_an_altered_fact_is_one_drift_and_not_also_an_addition(translation: str) -> None:
    found = drift_of("Pay $5 in 3–5 days.", translation)
    assert (found.count, found.added, found.maybe_spelled) == (1, (), ())


def test_c75_an_invented_amount_is_an_addition() -> None:
    found = drift_of("2 bags, 3 days, 4 hours, $5.", "2 bags, 3 days, 4 hours, $5, fee $12.")
    assert (found.total, found.lost, found.added) == (4, (), ("$12",))


def test_c75_what_the_source_says_is_no_addition() -> None:
    found = drift_of("Gracias.", "Gracias, son 49 dólares.", "es", "Thanks, that is $49.")
    assert found.count == 0


@pytest.mark.parametrize(
    ("source", "translation", "lang"),
    [
        ("I waited three days.", "Ich wartete 3 Tage.", "de"),
        ("It takes twenty-one days.", "Es dauert 21 Tage.", "de"),
        ("Two hundred euros.", "200 Euro.", "de"),
        ("We open at five.", "오후 5시에 엽니다.", "ko"),
        ("Wait an hour.", "1시간 기다리세요.", "ko"),
        ("The first of May.", "Am 1. Mai.", "de"),
    ],
)
def test_c76_digits_for_a_number_in_words_are_no_addition(
    source: str, translation: str, lang: str
) -> None:
    assert drift_of("", translation, lang, source).count == 0


@pytest.mark.parametrize(
    ("reference", "translation"),
    [
        ("Between 3 and 5 days.", "3-5 days."),
        ("3-5 days.", "3 days or 5 days."),
        ("3 days or 5 days.", "3–5 days."),
        ("From 2 pm to 4 pm.", "2-4 pm."),
        ("Order PE5J05065.", "Order P E 5 J 05065."),
        ("It is $49.", "It is 49 dollars."),
        ("Call 555-123-4567.", "Call 5551234567."),
    ],
)
def test_c76_the_same_fact_in_other_words_is_no_drift(reference: str, translation: str) -> None:
    assert drift_of(reference, translation).count == 0


@pytest.mark.parametrize("order", [1, -1])
def test_c76_hours_of_the_day_may_be_a_range_or_two_times(order: int) -> None:
    reference, translation = ["De 8 h 00 à 18 h 00.", "De 8 à 18 heures."][::order]
    assert drift_of(reference, translation, "fr").count == 0


def test_c75_outcomes_without_a_verdict_are_undecided_and_not_drift() -> None:
    given = [GivenFact("approved", "genehmigt"), GivenFact("$5", "5 $")]
    sheet = fact_sheet("Approved: $5", "Genehmigt: 5 $", "de", given=given)
    found = drift(sheet, "Bewilligt, 5 $")
    assert (found.total, found.count, found.undecided) == (2, 0, (0,))


def test_c75_a_given_fact_that_the_reference_lacks_is_not_asked_of_a_model() -> None:
    sheet = fact_sheet("x", "Nichts.", "de", given=[GivenFact("$5", "5 $")])
    assert drift(sheet, "Nichts.") == Drift(1, (), (), (0,), ())


def case_facts(case: dict[str, Any]) -> tuple[str, str, str, list[GivenFact] | None]:
    config, sentences = case["config"], case["expected_outcome"]["sentence_translations"]
    source = "\n".join(turn["text"] for turn in case["transcript"])
    reference = "\n".join(sentence["translated_text"] for sentence in sentences)
    given = [GivenFact(f["fact"], f["expected"]) for f in config.get("critical_facts", ())]
    return source, reference, config["target_language"], given or None


@pytest.mark.parametrize("name", ["translation_xrisawoz.jsonl", "mt_mlqe_da.jsonl"])
def test_c75_every_real_reference_has_no_drift_from_itself(name: str) -> None:
    seen = 0
    for case in shared_cases(name):
        source, reference, lang, given = case_facts(case)
        for facts in (given, None):
            found = drift(
                fact_sheet(source, reference, lang, source_lang="en", given=facts), reference
            )
            assert (found.lost, found.added, found.undecided) == ((), (), ())
            seen += found.total
    assert seen > 100


@pytest.mark.parametrize(
    ("name", "most"), [("translation_xrisawoz.jsonl", 0.01), ("mt_mlqe_da.jsonl", 0.02)]
)
def test_c75_a_real_source_alone_explains_nearly_every_fact_of_its_translation(
    name: str, most: float
) -> None:
    added = total = 0
    for case in shared_cases(name):
        source, reference, lang, _ = case_facts(case)
        added += len(drift(fact_sheet(source, "", lang, source_lang="en"), reference).added)
        total += len(extract(reference, lang))
    assert total > 0
    assert added <= most * total


def test_a_text_of_many_numbers_is_compared_in_line_with_its_length() -> None:
    sheet = fact_sheet("", " ".join(f"{n} days" for n in range(300)), "en")

    assert grows_in_line(lambda n: drift(sheet, ", ".join(f"{m} weeks" for m in range(n))), 1_000)


@pytest.mark.parametrize(
    ("translation", "added"),
    [
        ("It was approved.\nPay $5.", ()),
        ("It is approved.\nPay $5.", ()),
        ("It was approved.\nPay $5 and $7.", ("$7",)),
        ("It was approved for 9 days.\nPay $5.", ("9 days",)),
    ],
)
def test_c75_what_a_changed_sentence_adds_is_found_where_facts_are_given(
    translation: str, added: tuple[str, ...]
) -> None:
    sheet = fact_sheet("x", "It was approved.\nPay $5.", "en", given=[GivenFact("$5", "$5")])
    found = drift(sheet, translation)
    assert (found.lost, found.added) == ((), added)
