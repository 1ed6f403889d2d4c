"""Items of an answer: matched by id, the same if said twice (C-19); what is empty (C-59)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.text import n2
from callscore.suites.calls.items import PLACEHOLDERS, is_empty, match_items

PIECES = st.sampled_from(
    [
        "n/a",
        "N A",
        "na",
        "not",
        "Applicable",
        "unknown",
        "-",
        "?",
        ".",
        " ",
        "_",
        "\u200b",
        "\u0301",
        "x",
        "9",
        "\uff4e",
        "\u092f",
        "\u2713",
        "$",
        "none of it",
    ]
)


def item(score: object) -> dict[str, Any]:
    return {"question_id": "Q1", "score": score}


@pytest.mark.parametrize("scores", [(1, True), (True, 1), (0, False), (5, 0), (None, 0)])
def test_items_that_differ_are_no_answer_in_either_order(scores: tuple[object, object]) -> None:
    found = match_items([item(score) for score in scores], "question_id", {"Q1"})
    assert (found.by_id, found.flags) == ({}, ("conflicting_duplicate",))


@pytest.mark.parametrize("scores", [(1, 1), (1, 1.0), (True, True), (None, None)])
def test_the_same_item_twice_counts_once(scores: tuple[object, object]) -> None:
    found = match_items([item(score) for score in scores], "question_id", {"Q1"})
    assert (found.by_id, found.flags) == ({"Q1": item(scores[0])}, ())


@given(st.lists(PIECES, max_size=8).map("".join) | st.lists(PIECES, max_size=8).map(" ".join))
def test_quick_looks_find_what_the_normal_form_says(text: str) -> None:
    assert is_empty(text) is (not any(map(str.isalnum, text)) or n2(text) in PLACEHOLDERS)


@pytest.mark.parametrize(
    "value", [None, [], {}, "", "\u2013", " N/A. ", "Not_Applicable", "$", "\u2713"]
)
def test_nothing_is_empty(value: object) -> None:
    assert is_empty(value)


@pytest.mark.parametrize(
    "value", [0, 0.0, False, [""], {"a": None}, "0", "no", "n", "unknown caller"]
)
def test_something_is_not_empty(value: object) -> None:
    assert not is_empty(value)
