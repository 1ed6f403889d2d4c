"""Precision, recall and F1 from counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.classification import (
    Averaging,
    Counts,
    Pair,
    accuracy,
    counts,
    f1,
    macro_f1,
    precision,
    recall,
)

NUMBER = st.integers(0, 1000)
COUNTS = st.builds(Counts, NUMBER, NUMBER, NUMBER)
WORDS = st.frozensets(st.sampled_from("abcdefgh"))


@pytest.mark.parametrize(
    ("expected", "found", "tp_fp_fn"),
    [
        ({"a", "b"}, {"b", "c", "d"}, Counts(1, 2, 1)),
        ({"a"}, {"a"}, Counts(1, 0, 0)),
        ({"a"}, set(), Counts(0, 0, 1)),
        (set(), {"a"}, Counts(0, 1, 0)),
        (set(), set(), Counts(0, 0, 0)),
    ],
)
def test_sets_are_counted(expected: set[str], found: set[str], tp_fp_fn: Counts) -> None:
    assert counts(expected, found) == tp_fp_fn


def test_numerator_and_denominator_are_kept_for_pooling() -> None:
    c = Counts(tp=3, fp=1, fn=2)
    assert [(m.numerator, m.denominator) for m in (precision(c), recall(c), f1(c))] == [
        (3, 4),
        (3, 5),
        (6, 9),
    ]


@pytest.mark.parametrize(
    ("c", "values", "reasons"),
    [
        (Counts(0, 0, 0), [None, None, None], ["found", "expected", "nothing found"]),
        (Counts(0, 2, 0), [0, None, 0], ["", "expected", ""]),
        (Counts(0, 0, 2), [None, 0, 0], ["found", "", ""]),
    ],
)
def test_without_denominator_the_value_is_undefined(
    c: Counts, values: list[float | None], reasons: list[str]
) -> None:
    measures = [precision(c), recall(c), f1(c)]
    assert [m.value for m in measures] == values
    assert [m.absence for m in measures] == ["undefined" if v is None else "" for v in values]
    assert all(m.why.endswith(reason) for m, reason in zip(measures, reasons, strict=True))


@given(COUNTS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(c: Counts) -> None:
    p, r, f = precision(c), recall(c), f1(c)
    if c.tp:
        exact_p, exact_r = Fraction(c.tp, c.tp + c.fp), Fraction(c.tp, c.tp + c.fn)
        assert f.value == pytest.approx(float(2 * exact_p * exact_r / (exact_p + exact_r)))
        assert min(p.value or 0, r.value or 0) - 1e-9 <= (f.value or 0)
        assert (f.value or 0) <= max(p.value or 0, r.value or 0) + 1e-9
    else:
        assert f.value in (0, None)


@given(WORDS, WORDS)
def test_swapping_the_sets_swaps_precision_and_recall(a: frozenset[str], b: frozenset[str]) -> None:
    one, other = counts(a, b), counts(b, a)
    assert precision(one).value == recall(other).value
    assert f1(one).value == f1(other).value


@given(WORDS)
def test_a_set_is_perfect_against_itself(words: frozenset[str]) -> None:
    c = counts(words, words)
    assert {precision(c).value, recall(c).value, f1(c).value} == {1.0 if words else None}


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
