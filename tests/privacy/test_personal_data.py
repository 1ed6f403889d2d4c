"""Redaction finds what it must, leaves the rest alone, and names the same thing the same way."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.errors import CallscoreError
from callscore.metrics.payment_cards import CARD_LEAK, CODE_LEAK, card_leaks, is_card_number
from callscore.privacy.finder import KINDS, Finder
from callscore.privacy.name_model import SpacyNameModel
from callscore.privacy.redactor import Placeholders, Redactor

LINES = (Path(__file__).parent / "lines.txt").read_text(encoding="utf-8").splitlines()
MARK = re.compile(r"\{\{(\w+)\|(.*?)\}\}")
FINDER = Finder()


def labelled(line: str) -> tuple[str, set[tuple[str, int, int]]]:
    """A line without its marks, and the places that they name."""
    text, spans = "", set()
    at = 0
    for mark in MARK.finditer(line):
        text += line[at : mark.start()]
        spans.add((mark[1], len(text), len(text) + len(mark[2])))
        text += mark[2]
        at = mark.end()
    return text + line[at:], spans


def test_the_labelled_lines_are_many_and_of_every_kind() -> None:
    kinds = Counter(kind for line in LINES for kind, _, _ in labelled(line)[1])
    assert len(LINES) >= 500
    assert set(kinds) == set(KINDS) - {"name", "birth_date", "postcode", "answer"}
    assert min(count for kind, count in kinds.items() if kind != "address") >= 20


def test_recall_is_at_least_98_and_precision_at_least_95_percent() -> None:
    wanted = found = right = 0
    missed: list[str] = []
    for line in LINES:
        text, spans = labelled(line)
        given = {(one.kind, one.start, one.end) for one in FINDER.find(text)}
        wanted, found, right = wanted + len(spans), found + len(given), right + len(spans & given)
        if spans != given:
            missed.append(f"{text!r}: {spans ^ given}")
    assert right / wanted >= 0.98, missed
    assert right / found >= 0.95, missed


def test_one_value_has_one_placeholder_however_it_is_written() -> None:
    redactor = Redactor(FINDER)
    case = {
        "id": "call 415-555-0132",
        "transcript": [
            {"speaker": "customer", "text": "My number is (415) 555-0132."},
            {"speaker": "agent", "text": "So +1 415 555 0132, and jo@example.com?"},
        ],
        "expected_outcome": {"summary": {"call_extracted_info": {"phone": "415-555-0132"}}},
    }
    done = redactor.redact_record(case)
    assert done["id"] == case["id"]
    assert [turn["text"] for turn in done["transcript"]] == [
        "My number is [PHONE_1].",
        "So [PHONE_1], and [EMAIL_1]?",
    ]
    assert done["expected_outcome"]["summary"]["call_extracted_info"] == {"phone": "[PHONE_1]"}
    assert redactor.report.replaced == {"phone": 3, "email": 1}


def test_names_of_the_config_are_whole_words_in_any_case() -> None:
    redactor = Redactor(Finder(names=["Priya Sharma", "Ann"]))
    text = redactor.redact_text("PRIYA SHARMA met Ann at Annabel's.", Placeholders())
    assert text == "[NAME_1] met [NAME_2] at Annabel's."


@given(st.text(max_size=200))
def test_redaction_never_fails_and_is_stable(text: str) -> None:
    once = Redactor(FINDER).redact_text(text, Placeholders())
    assert Redactor(FINDER).redact_text(text, Placeholders()) == once


@given(st.integers(10**12, 10**19 - 1))
def test_a_card_number_has_a_right_luhn_sum(number: int) -> None:
    digits = str(number)
    last = [end for end in "0123456789" if is_card_number(digits[:-1] + end)]
    is_mastercard = 2221 <= int(digits[:4]) <= 2720
    is_network = is_mastercard or digits.startswith(("3", "4", "5", "6", "220", "81"))
    assert len(last) == (1 if is_network else 0)


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("The customer paid with 4111 1111 1111 1111.", [CARD_LEAK]),
        ('{"card": "4242424242424242", "cvv": "123"}', [CARD_LEAK, CODE_LEAK]),
        ("security code is 9 0 5", [CODE_LEAK]),
        ("The order 4111 1111 1111 1112 was late.", []),
        ("No card was named; 16 digits are needed.", []),
    ],
)
def test_card_data_in_an_answer_is_found(text: str, leaks: list[str]) -> None:
    assert card_leaks(text) == leaks


class CapitalisedPairs:
    """A stand-in for a model: two capitalised words are a name."""

    def names(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in re.finditer(r"[A-Z][a-z]+ [A-Z][a-z]+", text)]


def test_a_model_may_find_further_names() -> None:
    redactor = Redactor(Finder(names=["Ann"], name_model=CapitalisedPairs()))
    text = redactor.redact_text("Ann met Joan Rivers, and joan rivers met her.", Placeholders())
    assert text == "[NAME_1] met [NAME_2], and joan rivers met her."


def test_without_its_package_the_extra_is_named() -> None:
    with pytest.raises(CallscoreError, match=r"callscore\[names\]|no pipeline"):
        SpacyNameModel("no_such_pipeline")
