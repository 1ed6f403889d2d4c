"""Items of an answer are matched by id; what is said twice must be the same twice (C-19)."""

from __future__ import annotations

from typing import Any

import pytest

from callscore.suites.calls.items import match


def item(score: object) -> dict[str, Any]:
    return {"question_id": "Q1", "score": score}


@pytest.mark.parametrize("scores", [(1, True), (True, 1), (0, False), (5, 0), (None, 0)])
def test_items_that_differ_are_no_answer_in_either_order(scores: tuple[object, object]) -> None:
    found = match([item(score) for score in scores], "question_id", {"Q1"})
    assert (found.by_id, found.flags) == ({}, ("conflicting_duplicate",))


@pytest.mark.parametrize("scores", [(1, 1), (1, 1.0), (True, True), (None, None)])
def test_the_same_item_twice_counts_once(scores: tuple[object, object]) -> None:
    found = match([item(score) for score in scores], "question_id", {"Q1"})
    assert (found.by_id, found.flags) == ({"Q1": item(scores[0])}, ())
