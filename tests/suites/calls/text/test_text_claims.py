from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.suites.calls.structure import split_sentences
from callscore.suites.calls.text.claims import claims
from growth import grows_in_line
from text_cases import summary

TEXTS = st.text("aN/A. !?\n-\u3002\u0301", max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS


def test_the_purpose_is_one_claim_a_highlight_one_a_sentence_a_field_one() -> None:
    told = summary(
        "Customer asks for a refund. Twice.",
        ["Charge confirmed. Refund of $49.50 initiated.", "Apology given"],
        {"customer_name": "Ana", "issue_type": "Billing"},
    )
    assert [(claim.item, claim.text, claim.field) for claim in claims(told)] == [
        ("claim:1", "Customer asks for a refund. Twice.", "call_purpose"),
        ("claim:2", "Charge confirmed.", "highlights[0]"),
        ("claim:3", "Refund of $49.50 initiated.", "highlights[0]"),
        ("claim:4", "Apology given", "highlights[1]"),
        ("claim:5", "customer_name: Ana", "call_extracted_info.customer_name"),
        ("claim:6", "issue_type: Billing", "call_extracted_info.issue_type"),
    ]


def test_what_is_said_twice_is_one_claim() -> None:
    told = summary("Balance check", ["account balance: 140", "BALANCE CHECK."], {})
    told["call_extracted_info"] = {"account_balance": 140}
    assert [claim.text for claim in claims(told)] == ["Balance check", "account balance: 140"]


@pytest.mark.parametrize("nothing", ["", " ", "N/A", "none", "-", "?", None])
def test_what_says_nothing_is_no_claim(nothing: object) -> None:
    assert claims(summary(nothing, [nothing], {"follow_up": nothing})) == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (140, "f: 140"),
        (140.0, "f: 140"),
        ("140", "f: 140"),
        (0, "f: 0"),
        (False, "f: false"),
        (0.5, "f: 0.5"),
        (["a", "b"], 'f: ["a", "b"]'),
        ({"b": 1, "a": 2}, 'f: {"a": 2, "b": 1}'),
    ],
)
def test_a_field_is_written_the_same_whatever_its_type(value: object, text: str) -> None:
    assert [claim.text for claim in claims({"call_extracted_info": {"f": value}})] == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("one sentence", ["one sentence"]),
        ("Charged twice. Refunded.", ["Charged twice.", "Refunded."]),
        ("Really? Yes! Good", ["Really?", "Yes!", "Good"]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("Refund of $49.50 on 3.4.2024", ["Refund of $49.50 on 3.4.2024"]),
        ("Mr. Rao spoke to Dr. K. Shah", ["Mr. Rao spoke to Dr. K. Shah"]),
        ("Due at 5 p.m. today", ["Due at 5 p.m. today"]),
        ("Ticket no. 5 closed", ["Ticket no. 5 closed"]),
        ("The answer was no. Agent left", ["The answer was no.", "Agent left"]),
        ("返金しました。謝罪しました。", ["返金しました。", "謝罪しました。", ""]),
        ("रिफंड हुआ। माफ़ी दी।", ["रिफंड हुआ।", "माफ़ी दी।", ""]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, parts: list[str]) -> None:
    assert split_sentences(text) == parts


@given(
    st.dictionaries(
        st.sampled_from(["call_purpose", "highlights", "call_extracted_info", "x"]),
        SCALARS | st.lists(SCALARS) | st.dictionaries(TEXTS, SCALARS | st.lists(SCALARS)),
    )
)
def test_claims_are_distinct_and_numbered_whatever_the_summary_holds(told: dict[str, Any]) -> None:
    found = claims(told)
    assert [claim.item for claim in found] == [f"claim:{n}" for n in range(1, len(found) + 1)]
    assert len({claim.form for claim in found}) == len(found)
    assert all(claim.form for claim in found)


@pytest.mark.parametrize("piece", [" ", ".", ". ", '."', "a.", "\n", "。"])
def test_splitting_stays_linear_in_the_length(piece: str) -> None:
    assert grows_in_line(lambda size: split_sentences(piece * size), 20_000)
