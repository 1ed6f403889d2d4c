"""Calls are paired by the best assignment, then compared by name, key and value."""

from __future__ import annotations

from itertools import permutations
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callscore.core.judging import Question, Verdict
from callscore.suites.orchestration.call.compare import AcceptedValues
from callscore.suites.orchestration.call.measures import CallScore, measure_calls, pair_calls
from callscore.suites.orchestration.call.questions import METRIC
from callscore.suites.orchestration.scenario.model import DecodedCall


def nobody(_: Question) -> Verdict | None:
    return None


def measured(
    predicted: list[DecodedCall], expected: list[DecodedCall], *malformed: str
) -> CallScore:
    return measure_calls(predicted, expected, malformed, {}, nobody)


def call(tool: str, **arguments: Any) -> DecodedCall:
    return DecodedCall(tool, arguments)


def test_a_right_call_is_perfect() -> None:
    found = measured([call("book", day="Fri", seats=2)], [call("book", day="fri", seats=2.0)])
    assert found == CallScore(1.0, 1.0, 1.0)


def test_keys_and_values_are_counted_apart() -> None:
    found = measured([call("book", day=1, note="x")], [call("book", day=2, seats=2)])
    assert found.key == 0.5
    assert found.value == 0.0
    assert [d.kind for d in found.differences] == [
        "missing_argument",
        "surplus_argument",
        "wrong_value",
    ]


def test_one_call_for_five_is_not_forgiven() -> None:
    five = [call("get", month=month) for month in range(5)]
    found = measured(five[:1], five)
    assert found.name == pytest.approx(2 / 6)
    assert found.value == pytest.approx(2 / 6)
    assert [d.kind for d in found.differences] == ["missing_call"] * 4


def test_arguments_swapped_between_two_calls_are_wrong() -> None:
    due = [call("pay", to="A1", amount=10), call("pay", to="B2", amount=20)]
    swapped = [call("pay", to="A1", amount=20), call("pay", to="B2", amount=10)]
    assert measured(swapped, due).value == 0.5


def test_the_order_of_calls_does_not_matter() -> None:
    due = [call("pay", to=f"A{n}") for n in range(7)] + [call("tell", who="x")]
    assert measured(due[::-1], due) == CallScore(1.0, 1.0, 1.0)


def test_the_name_comes_before_the_keys_when_calls_are_paired() -> None:
    due = [call("a", x=1, y=1), call("b", z=1)]
    given_ = [call("b", x=1, y=1), call("a", z=1)]
    pairs = pair_calls(given_, due, lambda mine, other: 0)
    assert [(p.predicted.name, p.expected.name) for p in pairs if p.predicted and p.expected] == [
        ("a", "a"),
        ("b", "b"),
    ]


def test_a_malformed_call_next_to_a_good_one_is_a_wrong_name() -> None:
    assert measured([call("a")], [call("a")], "a").name == pytest.approx(2 / 3)


def test_a_free_text_is_asked_and_without_answer_counts_as_unequal() -> None:
    due, mine = call("book", place="New York City"), call("book", place="NYC")
    found = measured([mine], [due])
    assert found.value == 0.0
    assert [question.item for question in found.undecided] == ["calls[0].place"]
    assert (found.undecided[0].text, found.undecided[0].reference) == ("NYC", "New York City")


@pytest.mark.parametrize(
    ("word", "approximate", "value", "decided"),
    [
        ("same", False, 1.0, True),
        ("different", False, 0.0, True),
        ("cannot_tell", False, 0.0, False),
        ("same", True, 1.0, False),
        ("different", True, 0.0, False),
    ],
)
def test_a_verdict_decides_and_an_estimate_counts_but_leaves_the_value_open(
    word: str, approximate: bool, value: float, decided: bool
) -> None:
    due, mine = call("book", place="New York City"), call("book", place="NYC")
    verdict = Verdict(METRIC, "calls[0].place", word, approximate=approximate)
    found = measure_calls([mine], [due], (), {}, lambda _: verdict)
    assert found.value == value
    assert (found.undecided == ()) == decided


def test_an_optional_argument_may_be_left_out_but_not_be_wrong() -> None:
    due = call(
        "find", id=AcceptedValues(("a1",)), species=AcceptedValues(("human",), optional=True)
    )
    assert measured([call("find", id="a1")], [due]) == CallScore(1.0, 1.0, 1.0)
    assert measured([call("find", id="a1", species="human")], [due]).value == 1.0
    assert measured([call("find", id="a1", species=3)], [due]).value == 0.5
    without_id = measured([call("find", species="human")], [due])
    assert without_id.key == pytest.approx(2 / 3)  # one of two expected keys


CALLS = st.lists(
    st.builds(
        DecodedCall,
        st.sampled_from(["a", "b"]),
        st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 1)),
    ),
    max_size=4,
)


@given(CALLS, CALLS)
@settings(max_examples=60)
def test_the_pairing_is_the_best_of_all_orders(
    mine: list[DecodedCall], due: list[DecodedCall]
) -> None:
    def agreement(first: DecodedCall, second: DecodedCall) -> tuple[int, int]:
        return first.name == second.name, len(first.arguments.keys() & second.arguments.keys())

    def total(pairs: list[tuple[DecodedCall, DecodedCall]]) -> tuple[int, int]:
        found = [agreement(a, b) for a, b in pairs]
        return sum(name for name, _ in found), sum(keys for _, keys in found)

    paired = pair_calls(mine, due, lambda a, b: 0)
    chosen = [(p.predicted, p.expected) for p in paired if p.predicted and p.expected]
    short, long = sorted((mine, due), key=len)
    best = max(
        total(list(zip(order, short, strict=True))) for order in permutations(long, len(short))
    )
    assert total(chosen) == best
    assert len(chosen) == len(short)
    assert len(paired) == len(long)


@given(CALLS, CALLS)
def test_scores_are_fractions_and_one_only_for_the_same_calls(
    mine: list[DecodedCall], due: list[DecodedCall]
) -> None:
    found = measured(mine, due)
    assert all(0 <= score <= 1 for score in (found.name, found.key, found.value))
    perfect = found.name == found.key == found.value == 1.0
    same = sorted(map(repr, mine)) == sorted(map(repr, due))
    assert perfect or not same


def test_c115_names_and_keys_are_compared_as_nfc() -> None:
    composed = "예약"
    split = normalize("NFD", composed)
    assert composed != split
    found = measured([DecodedCall(split, {split: 1})], [DecodedCall(composed, {composed: 1})])
    assert found == CallScore(1.0, 1.0, 1.0)
