"""The clarifications of the Text chapter about summaries, one test an entry: C-54 … C-62."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from text_cases import (
    FOUR_FIELDS,
    PURPOSE,
    case_of_summary,
    claim_verdicts,
    flags,
    measures,
    outcome,
    score_answer,
    summarised,
    summary,
    text_case,
    values,
    verdict,
    verdicts,
)


def intent(purpose: object, *given: Any) -> float | None:
    """The intent of a purpose, after these verdicts."""
    return values(text_case(), outcome(summary=summary(purpose)), verdicts(*given))["call_intent"]


@pytest.mark.parametrize(
    ("purpose", "value"),
    [(f" {PURPOSE.upper()}. ", 1), ("", 0), ("N/A", 0), ("?", 0), ("Wants a refund", None)],
)
def test_c54_code_decides_equal_and_empty_purposes(purpose: str, value: float | None) -> None:
    assert intent(purpose) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["same"], 1),
        (["same", "no"], 1),
        (["same", "yes"], 0.5),
        (["same_domain_incomplete"], 0.5),
        (["same_domain_incomplete", "yes"], 0.5),
        (["different"], 0),
        (["different", "yes"], 0),
        (["same", "different"], 0),
        (["yes"], None),
        (["cannot_tell"], None),
    ],
)
def test_c54_verdicts_give_three_values_and_another_goal_caps_them(
    words: list[str], value: float | None
) -> None:
    given = [verdict("call_intent", "call_purpose", word) for word in words]
    assert intent("Wants a refund", *given) == value


def test_c54_the_other_goal_may_be_an_item_of_its_own() -> None:
    same = verdict("call_intent", "call_purpose", "same")
    other = verdict("call_intent", "call_purpose:other_goal", "yes")
    assert intent("Refund, and a new plan", same, other) == 0.5


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_c54_a_verdict_may_be_one_of_the_three_numbers(value: float) -> None:
    assert intent("Wants a refund", verdict("call_intent", "call_purpose", value=value)) == value


def test_c54_a_wrong_intent_blocks_the_call_and_an_abstention_does_not() -> None:
    answer = outcome(summary=summary("Wants to upgrade"))
    wrong = verdicts(verdict("call_intent", "call_purpose", "different"))
    assert list(score_answer(text_case(), answer, wrong).reasons) == ["text.call_intent"]
    unsure = verdicts(verdict("call_intent", "call_purpose", "cannot_tell"))
    assert score_answer(text_case(), answer, unsure).status == "incomplete"
    assert "abstained" in flags(text_case(), answer, unsure)


def test_c54_an_empty_purpose_blocks_the_call() -> None:
    result = score_answer(text_case(), outcome(summary=summary("")))
    assert (result.status, list(result.reasons)) == ("invalid", ["text.call_intent"])


def recall(given: Sequence[str], words: Sequence[str]) -> float | None:
    """Highlight recall where these verdicts were given on the two expected highlights."""
    case = case_of_summary(highlights=["charge confirmed", "$49 refund"])
    ruled = verdicts(
        *(
            verdict("highlight_recall", f"expected_highlights[{n}]", word)
            for n, word in enumerate(words)
        )
    )
    return values(case, outcome(summary=summary(highlights=given)), ruled)["highlight_recall"]


@pytest.mark.parametrize(
    ("given", "words", "value"),
    [
        (["charge confirmed and $49 refunded"], ["stated", "stated"], 1),
        (["$99 refund"], ["not_stated", "contradicted"], 0),
        (["a charge"], ["partly", "not_stated"], 0),
        (["Charge confirmed.", "a refund"], ["contradicted", "stated"], 1),
        (["a refund"], ["stated"], None),
    ],
)
def test_c55_recall_counts_what_the_highlights_state_together(
    given: list[str], words: list[str], value: float | None
) -> None:
    assert recall(given, words) == value


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("supported_by_transcript", 1),
        ("supported_by_reference", 1),
        ("contradicted", 2 / 3),
        ("not_found", 2 / 3),
    ],
)
def test_c56_an_extra_highlight_is_accurate_where_it_is_supported(word: str, value: float) -> None:
    answer = outcome(summary=summary(highlights=[*summary()["highlights"], "Refund of $99"]))
    given = verdicts(verdict("highlight_correctness", "highlights[2]", word))
    assert values(text_case(), answer, given)["highlight_correctness"] == pytest.approx(value)


def test_c57_nothing_expected_and_nothing_returned_is_perfect() -> None:
    found = measures(case_of_summary(highlights=[]), outcome(summary=summary(highlights=[])))
    for name in ("highlight_recall", "highlight_correctness"):
        assert (found[name].value, found[name].vacuous) == (1, True)


def test_c57_something_expected_and_nothing_returned_is_zero() -> None:
    found = summarised(summary(highlights=[]), highlights=["a", "b", "c", "d"])
    assert (found["highlight_recall"], found["highlight_correctness"]) == (0, 0)


def test_c57_nothing_expected_and_something_returned_is_judged() -> None:
    case, answer = case_of_summary(highlights=[]), outcome(summary=summary(highlights=["x"]))
    found = measures(case, answer)
    assert (found["highlight_recall"].value, found["highlight_recall"].vacuous) == (1, True)
    assert found["highlight_correctness"].absence == "not_run"
    given = verdicts(verdict("highlight_correctness", "highlights[0]", "not_found"))
    assert values(case, answer, given)["highlight_correctness"] == 0


def test_c58_only_fields_expected_filled_are_required() -> None:
    expected = FOUR_FIELDS | {"follow_up": ""}
    filled = {key: value for key, value in FOUR_FIELDS.items() if key != "follow_up"}
    assert summarised(summary(fields=filled), fields=expected)["field_presence"] == 1


def test_c58_presence_does_not_ask_whether_the_value_is_true() -> None:
    wrong = dict.fromkeys(FOUR_FIELDS, "something else")
    assert summarised(summary(fields=wrong), fields=FOUR_FIELDS)["field_presence"] == 1


def test_c58_no_required_field_is_vacuous() -> None:
    found = measures(case_of_summary(fields={"a": ""}), outcome(summary=summary(fields={})))
    assert (found["field_presence"].value, found["field_presence"].vacuous) == (1, True)


@pytest.mark.parametrize(
    ("value", "presence"),
    [
        *((word, 0) for word in ("N/A", "na", "None", "null", "nil", "Unknown", "not mentioned")),
        *((word, 0) for word in ("not provided", "Not applicable", "-", "\u2013", "?")),
        *((value, 0) for value in (None, "", " ", "\u200b")),
        *((value, 1) for value in (0, False, "0", "no", "Refund approved")),
    ],
)
def test_c59_placeholders_are_empty_and_zero_and_false_are_not(
    value: object, presence: int
) -> None:
    expected = {"resolution": "Refund approved"}
    found = summarised(summary(fields={"resolution": value}), fields=expected)
    assert found["field_presence"] == presence


def test_c60_facts_are_the_purpose_the_sentences_of_highlights_and_the_fields() -> None:
    answer = summary("Refund wanted", ["Charge seen. Refund sent.", "Agent was kind"], FOUR_FIELDS)
    case = case_of_summary(highlights=["Nothing alike"], fields=FOUR_FIELDS)
    last_of_four_open = ["supported_by_transcript"] * 3 + ["not_found"]
    found = measures(case, outcome(summary=answer), claim_verdicts(last_of_four_open, texts=False))
    assert found["fabrication_free"].denominator == 8
    assert found["fabrication_free"].value == pytest.approx(0.875)
    assert found["hallucination_rate"].value == pytest.approx(12.5)


def test_c60_a_claim_list_that_was_stored_is_the_one_that_counts() -> None:
    given = claim_verdicts(["supported_by_transcript"] * 7 + ["not_found"])
    found = measures(text_case(), outcome(), given)
    assert found["fabrication_free"].denominator == 8
    assert found["hallucination_rate"].value == pytest.approx(12.5)


@pytest.mark.parametrize("word", ["contradicted", "not_found", "cannot_tell"])
def test_c60_what_is_contradicted_or_unsupported_is_fabricated(word: str) -> None:
    given = claim_verdicts(["supported_by_reference", word])
    assert values(text_case(), outcome(), given)["hallucination_rate"] == 50


def test_c60_what_the_expected_summary_states_needs_no_judge() -> None:
    moved = summary(highlights=["Customer name: Ana", PURPOSE], fields={})
    found = values(text_case(), outcome(summary=moved))
    assert (found["fabrication_free"], found["hallucination_rate"]) == (1, 0)


@pytest.mark.parametrize(
    ("facts", "limited", "status"),
    [(20, True, "invalid"), (33, True, "invalid"), (34, False, "valid")],
)
def test_c61_few_facts_are_not_smoothed_but_flagged(facts: int, limited: bool, status: str) -> None:
    given = claim_verdicts([*["supported_by_reference"] * (facts - 1), "not_found"])
    fields = {f"detail {number}": "known" for number in range(facts)}  # none is padding (C-136)
    answer = outcome(summary=summary(fields=fields))
    found = measures(text_case(answer), answer, given)["hallucination_rate"]
    assert found.value == pytest.approx(100 / facts)
    assert (found.numerator, found.denominator) == (1, facts)
    assert ("resolution_limited" in flags(text_case(answer), answer, given)) is limited
    assert score_answer(text_case(answer), answer, given).status == status


def test_c62_an_empty_summary_is_blocked_by_intent_not_by_hallucination() -> None:
    answer = outcome(summary=summary("", [], dict.fromkeys(summary()["call_extracted_info"], "")))
    found = measures(text_case(), answer)
    assert (found["hallucination_rate"].value, found["hallucination_rate"].vacuous) == (0, True)
    assert (found["fabrication_free"].value, found["fabrication_free"].vacuous) == (1, True)
    assert list(score_answer(text_case(), answer).reasons) == ["text.call_intent"]
    assert "resolution_limited" not in flags(text_case(), answer)
