"""The worked examples and test vectors of the Translation chapter, with their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.scorecard.formula import task_score
from callscore.suites.calls.spec import load_spec
from callscore.suites.calls.translation import measures
from translation_cases import cosine, measure_answer, outcome, rating, translation_case, value, word

SPEC = load_spec()


def different(number: int) -> list[str]:
    """Sentences that differ in a letter, without numbers."""
    return ["वाक्य " + chr(0x0915 + place % 30) * (1 + place // 30) for place in range(number)]


@pytest.mark.parametrize(
    ("translated", "total", "expected"), [pytest.param(55, 60, 11 / 12, id="W-TR-1")]
)
def test_completeness_is_the_share_of_translated_sentences(
    translated: int, total: int, expected: float
) -> None:
    human = different(total)
    found = value(translation_case(outcome(human)), outcome(human[:translated]), "completeness")
    assert found == expected
    assert rating("completeness", found) == "Fail"


@pytest.mark.parametrize(
    ("similarities", "expected", "band"),
    [
        pytest.param([0.95, 0.88, 0.42, 0.96], 0.8025, "Acceptable", id="W-TR-2"),
        pytest.param([0.9, 0.9, 0.9, None], 0.675, "Fail", id="C-67-meaning-1"),
    ],
)
def test_meaning_is_the_mean_over_all_expected_sentences(
    similarities: list[float | None], expected: float, band: str
) -> None:
    case = translation_case(outcome(different(4)))
    answer = outcome(["" if s is None else f"कुछ {s}" for s in similarities])
    verdicts = [cosine(str(n), s) for n, s in enumerate(similarities, start=1) if s is not None]
    found = value(case, answer, "meaning", verdicts)
    assert found == pytest.approx(expected, abs=1e-12)
    assert rating("meaning", found) == band


@pytest.mark.parametrize(
    ("anchors", "expected", "band"),
    [
        pytest.param(["significant"], 0.25, "Fail", id="W-TR-3"),
        pytest.param(
            ["native", "native", "minor", "minor", "noticeable"],
            0.8,
            "Acceptable",
            id="C-69-fluency-1",
        ),
    ],
)
def test_fluency_is_the_mean_of_the_anchors(anchors: list[str], expected: float, band: str) -> None:
    case = translation_case(outcome(different(len(anchors))))
    answer = outcome([f"कुछ {anchor}" for anchor in anchors])
    verdicts = [word("fluency", str(n), anchor) for n, anchor in enumerate(anchors, start=1)]
    found = value(case, answer, "fluency", verdicts)
    assert found == pytest.approx(expected)
    assert rating("fluency", found) == band


@pytest.mark.parametrize(
    ("metric", "listed", "expected", "given"),
    [
        pytest.param("domain_terms", "terms", {"KYC": "KYC"}, "ग्राहक सत्यापन", id="W-TR-4"),
        pytest.param("proper_nouns", "nouns", {"Priya Sharma": "प्रिया शर्मा"}, "प्रिया", id="W-TR-5"),
    ],
)
def test_a_translated_term_and_half_a_name_are_incorrect(
    metric: str, listed: str, expected: dict[str, str], given: str
) -> None:
    parts: dict[str, Any] = {listed: expected}
    case = translation_case(outcome([f"{form} है" for form in expected.values()], **parts))
    assert value(case, outcome([f"{given} है"]), metric) == 0.0


@pytest.mark.parametrize(("expected", "drift"), [pytest.param(0.5, 50.0, id="W-TR-6")])
def test_two_of_four_facts_drifted(expected: float, drift: float) -> None:
    facts = [
        "refund of ₹49",
        "3–5 business days",
        "Agent escalated to supervisor",
        "Account number 9987",
    ]
    given = ["refund of ₹49", "7–10 days", "Agent resolved the issue", "Account number 9987"]
    case = translation_case(outcome(facts), lang="en", facts=facts)
    verdicts = [word("critical_facts", "fact:3", "altered")]
    found = measure_answer(case, outcome(given), verdicts).measures
    assert found["translation.critical_facts"].value == expected
    assert found["translation.drift"].value == drift
    assert rating("critical_facts", expected) == "Blocker"


@pytest.mark.parametrize(
    ("lost", "added", "total", "expected"),
    [
        pytest.param(0, 1, 4, 0.75, id="C-75-critical_facts-1"),
        pytest.param(2, 0, 4, 0.5, id="C-75-critical_facts-2"),
        pytest.param(0, 1, 0, 0.0, id="C-75-critical_facts-3"),
    ],
)
def test_critical_facts_count_lost_and_added_once(
    lost: int, added: int, total: int, expected: float
) -> None:
    count = measures.FactCount(lost + added, total, added=added)
    assert measures.critical_facts(count).value == expected
    assert count.lost == lost  # the facts that a benchmark counts as not recalled


@pytest.mark.parametrize(
    ("preserved", "band"),
    [
        pytest.param(0.95, "Blocker", id="C-11-critical_fact_rating-1"),
        pytest.param(0.97, "Acceptable", id="C-11-critical_fact_rating-2"),
        pytest.param(1.0, "Good", id="C-11-critical_fact_rating-3"),
    ],
)
def test_critical_facts_have_no_fail_band(preserved: float, band: str) -> None:
    assert rating("critical_facts", preserved) == band


@pytest.mark.parametrize("expected", [pytest.param(0.897, id="W-TR-7")])
def test_the_translation_score_is_the_weighted_sum(expected: float) -> None:
    found = {
        "completeness": 0.97,
        "meaning": 0.84,
        "fluency": 0.80,
        "domain_terms": 0.92,
        "proper_nouns": 0.95,
        "critical_facts": 0.98,
    }
    values = {f"translation.{name}": value for name, value in found.items()}
    score = task_score(SPEC.scores["translation"], values)
    assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "expected", [pytest.param([10, 35, 10, 20, 10, 15], id="W-WT-Translation")]
)
def test_the_weights_make_a_whole(expected: list[int]) -> None:
    weights = SPEC.scores["translation"].weights
    assert [round(100 * weight) for weight in weights.values()] == expected
    assert sum(weights.values()) == pytest.approx(1.0)
