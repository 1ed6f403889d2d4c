from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.offline.passages import PassageIndex, index_passages
from callscore.judges.offline.support import check_support, judge_reason
from callscore.suites.calls.structure import split_sentences

CALL = (
    ("Agent", "Good morning, this is Priya from Northwind. How can I help?"),
    ("Customer", "I was charged twice, forty nine dollars each, on the third of March."),
    ("Agent", "I see the duplicate charge. I have approved a refund of $49."),
    ("Customer", "Do I have to return the headset?"),
    ("Agent", "No, you don't. The refund takes 3 to 5 business days."),
    (
        "Customer",
        "Great, my colleague Mr. Alvarez will check the account. It is only for this order.",
    ),
)
REFERENCE = {"summary": {"call_extracted_info": {"ticket": "Ticket AB-1042 was opened"}}}


def read(
    reference: Mapping[str, Any] | None = None, turns: Sequence[tuple[str, str]] = CALL
) -> PassageIndex:
    said = [Turn(text=text, speaker=speaker) for speaker, text in turns]
    return index_passages(
        JudgeRequest("text", said, {}, REFERENCE if reference is None else reference, [], "en")
    )


def doubts(claim: str, lang: str | None = "en") -> list[str]:
    return [finding.kind for finding in check_support(claim, read(), lang).doubts]


@pytest.mark.parametrize(
    "claim",
    [
        "The agent approved a refund of $49.",
        "Priya approved the refund.",
        "The customer was charged 49 dollars twice.",
        "The refund takes 3-5 business days.",
        "The customer does not have to return the headset.",
        "Mr. Alvarez will check the account.",
        "Ticket AB-1042 was opened.",
        "Mr. Alvares will check the account.",
        "The agent is called Priya.",
        "Priya approved the customer's refund.",
        "The customer's colleague Mr. Alvarez will check the account.",
        "",
    ],
)
def test_what_was_said_raises_no_doubt(claim: str) -> None:
    assert doubts(claim) == []
    assert check_support(claim, read(), "en").is_supported


@pytest.mark.parametrize(
    ("claim", "doubt"),
    [
        ("The agent approved a refund of $99.", "number"),
        ("The agent approved a refund of 49 %.", "number"),
        ("The customer was charged three hundred dollars, seven times.", "number"),
        ("The refund takes 10 business days.", "number"),
        ("Ticket AB-2042 was opened.", "number"),
        ("The agent Marcus approved the refund.", "name"),
        ("The charge was on Tuesday.", "name"),
        ("Ms. Alvarez will check the account.", "name"),
        ("The agent did not approve the refund.", "negation"),
        ("The agent denied the refund.", "opposite"),
        ("The agent disapproved the refund.", "opposite"),
        ("The refund is approved only for members.", "restriction"),
        ("The customer explained the refund takes business days.", "speaker"),
    ],
)
def test_what_was_not_said_raises_its_doubt(claim: str, doubt: str) -> None:
    assert doubt in doubts(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "The agent approved a refund of $99.",
        "The agent did not approve the refund.",
        "The agent denied the refund.",
        "Marvellous weather pleased several bicycle enthusiasts.",
    ],
)
def test_a_claim_against_the_call_is_not_supported(claim: str) -> None:
    assert not check_support(claim, read(), "en").is_supported


def test_the_reference_supports_too() -> None:
    assert "number" in [f.kind for f in check_support("Ticket AB-1042", read({}), "en").doubts]
    assert doubts("Ticket AB-1042") == []


def test_more_doubts_are_more_suspicion() -> None:
    one = check_support("A refund of $99.", read(), "en").suspicion
    two = check_support("Marcus did not approve a refund of $99.", read(), "en").suspicion
    none = check_support("A refund of $49.", read(), "en").suspicion
    assert 0 == none < one < two < 1


def test_the_nearest_passage_is_shown() -> None:
    best = check_support("a duplicate charge and a refund of $49", read(), "en").best
    assert best is not None
    assert best.source == "t3"


def test_speech_recognition_may_misspell_a_name_but_not_a_short_one() -> None:
    turns = [("Agent", "You spoke to Katherine and to Ann.")]
    known = read({}, turns)
    assert check_support("They spoke to Catherine.", known, "en").doubts == []
    assert [f.kind for f in check_support("They spoke to Jan.", known, "en").doubts] == ["name"]


@pytest.mark.parametrize(
    ("lang", "said", "claim"),
    [
        ("de", "Die Rückerstattung wurde genehmigt.", "Die Rückerstattung wurde nicht genehmigt."),
        ("es", "Aprobamos el reembolso hoy.", "No aprobamos el reembolso hoy."),
        ("hi", "रिफंड मंजूर हो गया है", "रिफंड मंजूर नहीं हुआ है"),
    ],
)
def test_a_denial_is_seen_in_other_languages(lang: str, said: str, claim: str) -> None:
    known = index_passages(JudgeRequest("text", [Turn(text=said)], {}, {}, [], lang))
    assert check_support(said, known, lang).doubts == []
    assert "negation" in [f.kind for f in check_support(claim, known, lang).doubts]


def test_scripts_without_spaces_are_covered_by_pairs() -> None:
    known = index_passages(JudgeRequest("text", [Turn(text="退款已经批准")], {}, {}, [], "zh"))
    assert check_support("退款批准", known, "zh").coverage == pytest.approx(2 / 3)


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["en", "hi", "zh", None]))
def test_any_text_can_be_compared_with_any_call(claim: str, said: str, lang: str | None) -> None:
    known = index_passages(JudgeRequest("text", [Turn(text=said)], {}, {"a": [said]}, [], lang))
    found = check_support(claim, known, lang)
    assert 0 <= found.suspicion <= 1
    assert 0 <= found.coverage <= 1


@given(st.text(max_size=200), st.sampled_from(["en", "de", None]))
def test_what_a_turn_says_word_for_word_is_covered(said: str, lang: str | None) -> None:
    known = index_passages(JudgeRequest("text", [Turn(text=said)], {}, {}, [], lang))
    found = check_support(said, known, lang)
    assert found.coverage == 1
    assert not {"number", "name", "opposite"} & {finding.kind for finding in found.doubts}


@pytest.mark.parametrize(
    "claim",
    [
        "The customer is called Priya.",
        "The customer's name is Priya.",
        "The agent spoke with the customer Priya.",
        "A caller named Priya was charged twice.",
    ],
)
def test_a_name_that_the_other_side_gave_as_its_own_raises_a_doubt(claim: str) -> None:
    assert doubts(claim) == ["name"]
    assert not check_support(claim, read(), "en").is_supported


@pytest.mark.parametrize(
    "claim", ["The customer told Priya about the headset.", "The customer and Priya spoke."]
)
def test_a_side_next_to_the_name_of_the_other_is_not_called_so(claim: str) -> None:
    assert doubts(claim) == []


def test_a_name_that_both_sides_have_raises_none() -> None:
    turns = [*CALL, ("Customer", "My name is Priya, too.")]
    assert check_support("The customer is called Priya.", read(turns=turns), "en").doubts == []


@pytest.mark.parametrize("marker", ["1. ", "12) ", "(3) ", "a) ", "(b) ", "- ", "• ", "iv. ", "– "])
def test_a_list_marker_is_no_claim(marker: str) -> None:
    assert doubts(f"{marker}The agent approved a refund of $49.") == []
    assert (
        doubts(f"The agent approved a refund.\n{marker}The refund takes 3 to 5 business days.")
        == []
    )


def test_a_date_at_the_beginning_is_no_list_marker() -> None:
    assert doubts("14. March was the date of the charge.") == ["number"]


def test_a_list_in_one_highlight_is_as_many_sentences_as_it_has_members() -> None:
    told = "1. The refund was approved. 2. It takes 3 days.\n3. The headset stays."
    assert split_sentences(told) == [
        "1. The refund was approved.",
        "2. It takes 3 days.",
        "3. The headset stays.",
    ]
    assert split_sentences("It costs 5. He paid.") == ["It costs 5.", "He paid."]


def test_a_paraphrase_is_not_accused_for_its_words() -> None:
    claim = "A representative granted the caller reimbursement for duplicate billing."
    found = check_support(claim, read(), "en")
    assert found.coverage < 0.5
    assert found.is_supported


def test_a_denial_counts_only_where_the_contrary_was_said() -> None:
    assert doubts("The agent did not approve the refund.") == ["negation"]
    unsaid = check_support("The customer never visited a shop.", read(), "en")
    assert [finding.kind for finding in unsaid.doubts] == ["unsaid negation"]
    assert unsaid.is_supported


@pytest.mark.parametrize("known", ["Canadian", "Customer", "Kanadas"])
def test_another_form_of_a_word_is_no_other_name(known: str) -> None:
    said = index_passages(
        JudgeRequest("text", [Turn("We ship from Canada and Kanada.")], {}, {}, [], "en")
    )
    assert check_support(f"They ship with a {known} firm.", said, "en").doubts == []


def test_an_abbreviation_of_what_was_said_is_no_other_name() -> None:
    said = index_passages(
        JudgeRequest("text", [Turn("the national bank of harper called")], {}, {}, [], "en")
    )
    assert check_support("They work at NBOH.", said, "en").doubts == []
    assert [f.kind for f in check_support("They work at NBXH.", said, "en").doubts] == ["name"]


FLOODS = [
    "not ",
    "not w{} ",
    "only w{} ",
    "Customer ",
    "I'm I'm ",
    "Name{} ",
    "customer said w{}. ",
    "one ",
    "five million ",
    "double ",
    "1. ",
    '"w{} w" ',
]


@pytest.mark.parametrize("flood", FLOODS)
def test_work_grows_no_faster_than_a_claim(flood: str) -> None:
    """Twice the text, at most about twice the calls of functions; quadratic would be four times."""

    def calls(size: int) -> int:
        claim = "".join(flood.format(number) for number in range(size))
        known = read()
        known.statements  # noqa: B018  the page is read once for all claims
        check_support("", known, "en")
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            check_support(claim, known, "en")
            judge_reason(claim, known, "en")
        finally:
            sys.setprofile(None)
        return counted

    assert calls(1600) <= 2.5 * calls(800)
