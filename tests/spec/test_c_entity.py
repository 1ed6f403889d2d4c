"""The clarifications of the Entity chapter, one test an entry: C-13, C-18, C-40 … C-49."""

from __future__ import annotations

from typing import Any

import pytest

from calls_suite import formula_of
from callscore.core.case import Case
from callscore.core.spec import Rating, rate
from callscore.scorecard.formula import CaseScore, score_case
from callscore.suites.calls.spec import load_spec
from entity_cases import CONFIG, entity_case, flags, measure_answer, measures, outcome, values

METRICS = load_spec().metrics
ADHERENCE, FABRICATED = METRICS["entity.config_adherence"], METRICS["entity.fabricated_count"]


def keyword_scores(detected: list[Any], expected: list[str], **config: Any) -> list[float | None]:
    """Keyword precision, recall and F1."""
    case = entity_case(outcome(expected), config={**CONFIG, **config})
    found = values(case, outcome(detected))
    return [found["keyword_precision"], found["keyword_recall"], found["keyword_f1"]]


def fabricated(entity: str, transcript: str) -> float | None:
    """How many entities are made up where this one alone is reported."""
    case = entity_case(transcript=transcript)
    return values(case, outcome([entity]))["fabricated_count"]


def score(case: Case, answer: object) -> CaseScore:
    """The answer scored under all gates."""
    return score_case(formula_of("entity", "all"), measure_answer(case, answer))


@pytest.mark.parametrize(
    ("detected", "expected", "scores"),
    [([], [], [1, 1, 1]), (["x"], [], [0, None, 0]), ([], ["x"], [None, 0, 0])],
)
def test_c13_empty_sets(
    detected: list[str], expected: list[str], scores: list[float | None]
) -> None:
    assert keyword_scores(detected, expected) == scores


def test_c13_only_the_agreed_values_are_vacuous() -> None:
    nothing = measures(entity_case(), outcome())
    marked = {name for name, measure in nothing.items() if measure.vacuous}
    assert marked == {
        *("keyword_precision", "keyword_recall", "keyword_f1"),
        *("topic_precision", "topic_recall", "topic_f1"),
        "config_adherence",
    }
    something = measures(entity_case(outcome(["refund"])), outcome(["account"], ["billing"]))
    assert not any(measure.vacuous for measure in something.values())


def test_c13_no_overlap_is_f1_zero() -> None:
    assert keyword_scores(["account"], ["refund"]) == [0, 0, 0]


@pytest.mark.parametrize(
    ("detected", "expected", "matches"),
    [
        ("Account_Management ", "account management", True),
        ("refunds", "refund", False),
        ("ＫＹＣ", "kyc", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("credit-card", "Credit  Card", True),
        ("“refund”", "refund", True),
        ("₹", "$", False),
        ("खाता", "खात", False),
        ("Children’s Palace", "Children's Palace", True),
        ("plan १२", "plan 12", True),
        ("फोन", "फ़ोन", True),
    ],
)
def test_c18_entities_are_compared_under_n2(detected: str, expected: str, matches: bool) -> None:
    assert keyword_scores([detected], [expected])[2] == float(matches)


def test_c18_an_entity_spelt_with_another_apostrophe_digit_or_nukta_is_not_fabricated() -> None:
    spoken = "Agent: the Children's Palace, plan 12, फ़ोन"
    for entity in ("Children’s Palace", "plan १२", "फोन"):
        assert fabricated(entity, spoken) == 0
    assert fabricated("plan १३", spoken) == 1


@pytest.mark.parametrize(
    ("detected", "expected", "aliases", "f1"),
    [
        ("Refund ", "refund", {}, 1),
        ("refunds", "refund", {}, 0),
        ("refunds", "refund", {"refund": ["Refunds", "money back"]}, 1),
        ("refund", "refunds", {"refund": ["refunds"]}, 1),
        ("money-back", "Refunds", {"refund": ["refunds", "money back"]}, 1),
        ("refunds", "refund", {"refunds": "refund"}, 1),
        ("account", "refund", {"refund": ["refunds"]}, 0),
    ],
)
def test_c40_aliases_apply_to_expected_and_detected_alike(
    detected: str, expected: str, aliases: dict[str, Any], f1: float
) -> None:
    assert keyword_scores([detected], [expected], aliases=aliases)[2] == f1


def test_c40_an_alias_of_a_configured_entity_is_configured() -> None:
    case = entity_case(config={**CONFIG, "aliases": {"refund": ["money back"]}})
    found = values(case, outcome(["Money Back"]))
    assert (found["config_adherence"], found["fabricated_count"]) == (1, 0)


def test_c41_lists_are_sets() -> None:
    assert keyword_scores(["refund", "Refund", "loan"], ["refund"])[0] == 0.5
    assert "duplicates_removed" in flags(entity_case(), outcome(["refund", "Refund", "loan"]))
    assert flags(entity_case(), outcome(["refund", "account"])) == []


@pytest.mark.parametrize("empty", ["", "  ", "\u200b", "-"])
def test_c41_empty_strings_are_dropped(empty: str) -> None:
    assert keyword_scores(["refund", empty], ["refund"]) == [1, 1, 1]
    assert flags(entity_case(), outcome(["refund", empty])) == ["empty_dropped"]


@pytest.mark.parametrize("wrong", [None, True, 5, 5.5])
def test_c41_other_non_strings_are_wrong_detections(wrong: object) -> None:
    assert keyword_scores(["5", wrong], ["5"]) == [0.5, 1, pytest.approx(2 / 3)]
    assert keyword_scores([wrong], [str(wrong), repr(wrong), "null", "true"])[2] == 0
    assert "bad_scalar" in flags(entity_case(), outcome([wrong]))


def test_c42_null_leaves_its_own_mean_and_f1_never_does() -> None:
    both = [keyword_scores([], []), keyword_scores([], ["a"])]
    precisions = [scores[0] for scores in both if scores[0] is not None]
    f1s = [scores[2] for scores in both if scores[2] is not None]
    assert precisions == [1]
    assert sum(f1s) / len(f1s) == 0.5


def test_c43_a_model_cannot_configure_its_own_inventions() -> None:
    answer = outcome(["loan"], valid=["refund", "account", "billing", "loan"])
    assert values(entity_case(outcome(["refund"])), answer)["config_adherence"] == 0
    assert "valid_entity_set_differs" in flags(entity_case(outcome(["refund"])), answer)


@pytest.mark.parametrize(
    ("config", "adherence"),
    [
        ({"keywords": ["refund"], "topics": ["loan"]}, 1),
        ({"keywords": ["refund"]}, 0.5),
        ({"topics": ["loan"], "entities": ["refund", "loan"]}, 0.5),
        ({"entities": ["Loan"]}, 0.5),
        ({"keywords": None, "entities": ["loan", "refund"]}, 1),
        ({"keywords": [], "topics": []}, 0),
        ({}, 0.5),
    ],
)
def test_c43_the_configured_list_has_one_authority(
    config: dict[str, Any], adherence: float
) -> None:
    case = entity_case(outcome(valid=["refund"]), config=config)
    assert values(case, outcome(["refund", "loan"]))["config_adherence"] == adherence


@pytest.mark.parametrize(
    ("valid", "differs"),
    [
        (["refund", "account", "billing"], False),
        (["Billing", "account", "refund", "REFUND"], False),
        (["refund", "account"], True),
        (["refund", "account", "billing", None], True),
        ([], True),
    ],
)
def test_c43_a_differing_valid_entity_set_is_a_warning_only(
    valid: list[Any], differs: bool
) -> None:
    answer = outcome(["refund"], ["billing"], valid=valid)
    case = entity_case(outcome(["refund"], ["billing"]))
    assert ("valid_entity_set_differs" in flags(case, answer)) is differs
    assert score(case, answer).score == pytest.approx(1)


def test_c44_every_reported_entity_counts_whichever_its_kind() -> None:
    adherence = measures(entity_case(), outcome(["refund", "loan"], ["billing"]))[
        "config_adherence"
    ]
    assert (adherence.numerator, adherence.denominator) == (2, 3)
    topics = measures(entity_case(), outcome(["refund"], ["loan"]))["config_adherence"]
    assert (topics.numerator, topics.denominator) == (1, 2)
    assert adherence.value is not None
    assert rate(adherence.value, ADHERENCE.bands, ADHERENCE.otherwise) is Rating.BLOCKER
    assert score(entity_case(), outcome(["refund", "loan"], ["billing"])).reasons == [
        "entity.config_adherence"
    ]
    assert values(entity_case(), outcome(["billing"], ["refund"]))["config_adherence"] == 1


def test_c44_distinct_keywords_and_distinct_topics_are_added() -> None:
    found = measures(entity_case(), outcome(["billing", "Billing", "x"], ["billing"]))
    assert found["config_adherence"].denominator == 3


def test_c44_silence_earns_nothing_where_something_is_expected() -> None:
    adherence = measures(entity_case(outcome(["refund"])), outcome())["config_adherence"]
    assert (adherence.value, adherence.vacuous) == (0, True)
    assert score(entity_case(outcome(["refund"])), outcome()).status == "valid"


def test_c44_nothing_reported_where_nothing_is_expected_is_one_and_vacuous() -> None:
    adherence = measures(entity_case(outcome()), outcome())["config_adherence"]
    assert (adherence.value, adherence.vacuous) == (1, True)


def test_c45_a_configured_entity_is_a_precision_error_not_a_fabrication() -> None:
    config = {"keywords": ["refund"], "topics": ["billing", "account_management"]}
    case = entity_case(outcome(topics=["billing"]), config=config)
    found = measures(case, outcome(topics=["billing", "account_management"]))
    assert found["fabricated_count"].value == 0
    assert (found["topic_precision"].numerator, found["topic_precision"].denominator) == (1, 2)


def test_c45_an_entity_that_occurs_nowhere_is_fabricated() -> None:
    assert fabricated("insurance", "Agent: Hello.") == 1


@pytest.mark.parametrize(
    "expected",
    [
        outcome(["insurance"]),
        outcome(topics=["Insurance"]),
        outcome(valid=["INSURANCE"]),
    ],
    ids=["keywords", "topics", "valid_entity_set"],
)
def test_c45_no_list_of_the_expected_outcome_is_a_fabrication(expected: dict[str, Any]) -> None:
    assert values(entity_case(expected), outcome(["insurance"]))["fabricated_count"] == 0


@pytest.mark.parametrize(
    ("entity", "transcript", "count"),
    [
        ("loan", "he reloaned it", 1),
        ("返金", "返金してください", 0),
        ("REFUND-fee", "a refund_fee, please", 0),
        ("Agent", "Agent: Good morning", 1),
        ("insurances", "my insurance", 1),
        ("हिन्द", "हिन्दी में", 1),
        ("credit card", "credit\nCard", 0),
    ],
)
def test_c46_the_transcript_is_searched_as_n2_for_whole_words(
    entity: str, transcript: str, count: int
) -> None:
    assert fabricated(entity, transcript) == count


def test_c46_ids_and_times_of_turns_are_no_text() -> None:
    assert fabricated("12", "[00:12] Agent: Good morning") == 1


def test_c46_an_unconfigured_entity_is_spoken_under_any_of_its_forms() -> None:
    config = {**CONFIG, "aliases": {"insurance": ["cover"]}}
    case = entity_case(config=config, transcript="Customer: I want cover.")
    assert values(case, outcome(["Insurance"]))["fabricated_count"] == 0


def test_c47_three_in_one_call_block_it_and_one_in_each_of_three_only_warns() -> None:
    spoken = entity_case(outcome(["refund"]))
    three, one = outcome(["x", "y"], ["z"]), outcome(["x", "X"], ["x"])
    assert values(spoken, three)["fabricated_count"] == 3
    assert values(spoken, one)["fabricated_count"] == 1
    assert "entity.fabricated_count" in score(spoken, three).reasons
    assert "entity.fabricated_count" not in score(spoken, one).reasons
    assert rate(1, FABRICATED.bands, FABRICATED.otherwise) is Rating.WARNING


FOREIGN = {"keywords": ["refund", "account", "card"], "topics": ["billing"]}
FOUR = outcome(["refund", "account", "card"], ["billing"])
THREE = outcome(["refund", "account"], ["billing"])


def test_c48_share_of_the_entities_configured_in_another_language() -> None:
    plain, tagged = FOREIGN, {**FOREIGN, "entity_language": "en"}
    rate_in_hindi = measures(entity_case(FOUR, tagged, lang="hi"), THREE)[
        "cross_language_match_rate"
    ]
    assert (rate_in_hindi.numerator, rate_in_hindi.denominator) == (3, 4)
    with_tag = score(entity_case(FOUR, tagged, lang="hi"), THREE)
    without = score(entity_case(FOUR, plain, lang="hi"), THREE)
    assert with_tag.score is not None
    assert (with_tag.score, with_tag.reasons) == (without.score, without.reasons)


def test_c48_an_entity_counts_as_detected_in_its_own_list_only() -> None:
    case = entity_case(FOUR, {**FOREIGN, "entity_language": "en"}, lang="hi")
    swapped = outcome(["refund", "billing"], ["account", "card"])
    assert values(case, swapped)["cross_language_match_rate"] == 0.25


@pytest.mark.parametrize(
    ("lang", "config", "expected_rate"),
    [
        (None, {}, None),
        ("hi", {}, None),
        (None, {"entity_language": "en"}, None),
        ("en-US", {"entity_language": "EN"}, None),
        ("en_GB", {"entity_language": "en-US"}, None),
        ("und", {"entity_language": "en"}, None),
        ("hi", {"entity_language": "und"}, None),
        ("hi", {"entity_language": "enhi"}, None),
        ("HI-Latn", {"entity_language": "en"}, 0.75),
        (None, {"entity_language": "en", "source_language": "hi"}, 0.75),
        ("en", {"entity_language": "en", "source_language": "hi"}, None),
        ("hi", {"entity_language": {"refund": "en", "Card ": "en", "account": "hi"}}, 0.5),
        ("hi", {"entity_language": {"insurance": "en"}}, None),
        ("hi", {"entity_language": {"charge card": "en"}, "aliases": {"card": ["charge card"]}}, 0),
    ],
)
def test_c48_languages_come_from_the_case(
    lang: str | None, config: dict[str, Any], expected_rate: float | None
) -> None:
    found = measures(entity_case(FOUR, {**FOREIGN, **config}, lang=lang), THREE)
    measure = found["cross_language_match_rate"]
    assert measure.value == expected_rate
    assert measure.absence == ("undefined" if expected_rate is None else "")


def test_c49_a_keyword_reported_as_topic_is_a_wrong_topic_and_a_missed_keyword() -> None:
    found = values(entity_case(outcome(["refund"])), outcome(topics=["refund"]))
    assert (found["keyword_f1"], found["topic_f1"], found["config_adherence"]) == (0, 0, 1)
