from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.classification import Averaging, Pair, accuracy, macro_f1

CLASSES = ("positive", "neutral", "negative")
PAIRS = st.lists(
    st.tuples(st.sampled_from(CLASSES), st.sampled_from((*CLASSES, "angry", None))), min_size=1
)


def f1_from_precision_and_recall(pairs: Sequence[Pair], name: str) -> Fraction:
    """The F1 of one class by the document's own three lines."""
    right = sum(e == p == name for e, p in pairs)
    if not right:
        return Fraction(0)
    precision = Fraction(right, sum(p == name for _, p in pairs))
    recall = Fraction(right, sum(e == name for e, _ in pairs))
    return 2 * precision * recall / (precision + recall)


@given(PAIRS)
def test_macro_f1_is_the_mean_of_the_documents_f1_over_the_classes_that_occur(
    pairs: list[Pair],
) -> None:
    present = {e for e, _ in pairs} | {p for _, p in pairs if p in CLASSES}
    exact = sum(f1_from_precision_and_recall(pairs, name) for name in CLASSES)
    found = macro_f1(pairs, CLASSES, "present_classes")
    assert found.value == pytest.approx(float(exact / len(present)))
    assert found.denominator == len(present)


@given(PAIRS)
def test_macro_f1_divides_by_all_classes_where_asked_to(pairs: list[Pair]) -> None:
    exact = sum(f1_from_precision_and_recall(pairs, name) for name in CLASSES)
    found = macro_f1(pairs, CLASSES, "divide_by_3")
    assert found.value == pytest.approx(float(exact / 3))


@given(PAIRS)
def test_the_order_of_the_items_does_not_matter(pairs: list[Pair]) -> None:
    turned = list(reversed(pairs))
    assert accuracy(pairs) == accuracy(turned)
    assert macro_f1(pairs, CLASSES, "present_classes") == macro_f1(
        turned, CLASSES, "present_classes"
    )


@pytest.mark.parametrize("averaging", ["present_classes", "divide_by_3"])
@given(PAIRS, st.integers(min_value=0))
def test_one_more_right_label_never_lowers_accuracy_and_values_stay_in_bounds(
    averaging: Averaging, pairs: list[Pair], index: int
) -> None:
    at = index % len(pairs)
    better = [*pairs[:at], (pairs[at][0], pairs[at][0]), *pairs[at + 1 :]]
    before, after = accuracy(pairs).value, accuracy(better).value
    assert before is not None and after is not None
    assert 0 <= before <= after <= 1
    score = macro_f1(pairs, CLASSES, averaging).value
    assert score is not None and 0 <= score <= 1


def test_an_unknown_word_is_a_miss_of_the_true_class_and_no_false_alarm() -> None:
    pairs: list[Pair] = [("positive", "positive"), ("positive", "angry"), ("neutral", None)]
    found = macro_f1(pairs, CLASSES, "present_classes")
    assert found.value == pytest.approx((2 / 3 + 0) / 2)


def test_nothing_labelled_is_undefined_not_zero() -> None:
    assert accuracy([]).absence == "undefined"
    assert macro_f1([], CLASSES, "present_classes").absence == "undefined"
