"""Two texts word by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.report.html.comparison_section import MOST_COMPARED, DiffPart, diff_texts


@pytest.mark.parametrize(
    ("first", "second", "parts"),
    [
        ("same", "same", [DiffPart("same", "same")]),
        ("", "new", [DiffPart("second", "new")]),
        (
            "the card is lost",
            "the card was stolen",
            [DiffPart("same", "the card "), DiffPart("first", "is lost"),
             DiffPart("second", "was stolen")],
        ),
        (
            "카드를 잃어버렸어요",
            "카드를 찾았어요",
            [DiffPart("same", "카드를 "), DiffPart("first", "잃어버렸어요"),
             DiffPart("second", "찾았어요")],
        ),
        (
            "मेरा कार्ड खो गया",
            "मेरा कार्ड मिल गया",
            [DiffPart("same", "मेरा कार्ड "), DiffPart("first", "खो"), DiffPart("second", "मिल"),
             DiffPart("same", " गया")],
        ),
        (
            "支払い済み",
            "支払い未済",
            [DiffPart("same", "支払い"), DiffPart("second", "未"), DiffPart("same", "済"),
             DiffPart("first", "み")],
        ),
        ("1,200.50", "1,200.75", [DiffPart("first", "1,200.50"), DiffPart("second", "1,200.75")]),
    ],
)  # fmt: skip
def test_what_changed_is_marked_word_by_word_in_any_script(
    first: str, second: str, parts: list[DiffPart]
) -> None:
    assert diff_texts(first, second) == parts


@given(st.text(), st.text())
def test_the_parts_of_each_side_are_that_text(first: str, second: str) -> None:
    parts = diff_texts(first, second)
    assert "".join(part.text for part in parts if part.kind != "second") == first
    assert "".join(part.text for part in parts if part.kind != "first") == second


def test_long_texts_are_compared_by_lines() -> None:
    lines = [f"line {number}\n" for number in range(MOST_COMPARED)]
    parts = diff_texts("".join(lines), "".join([*lines[:-1], "another\n"]))
    assert [part.kind for part in parts] == ["same", "first", "second"]
