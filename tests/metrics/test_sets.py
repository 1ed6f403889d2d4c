"""Precision, recall and F1 from counts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.classification import Counts, counts, f1, precision, recall

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
