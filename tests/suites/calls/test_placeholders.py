from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.text import n2
from callscore.suites.calls.placeholders import PLACEHOLDERS, is_empty

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
