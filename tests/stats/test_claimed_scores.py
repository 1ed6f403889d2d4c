"""Claim limits of scores: the imaginary call in tasks, pooled rates and differences (STATS §2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.measure import Measure
from callscore.stats.claims import (
    ClaimedScores,
    ClaimInput,
    claim_scores,
    difference_limits,
    mean_limits,
    unseen_share,
)
from callscore.stats.contributions import (
    CALL_BLOCKED,
    EVALUATED,
    Charge,
    Contributions,
    MetricShape,
    ModelShape,
    TaskContributions,
    TaskShape,
    call_key,
)
from callscore.stats.intervals import Interval
from callscore.stats.matrix import call_matrix, heaviest_calls, make_units, shared_calls

MEAN, RATE = "t.share", "t.rate"
FINAL = ("final",)


def shape(mean: float = 1.0) -> ModelShape:
    """One task: a mean with this weight, a pooled rate with the rest."""
    rows = [MetricShape(MEAN, "mean"), MetricShape(RATE, "pooled")]
    terms = [(MEAN, mean), (RATE, 1 - mean)]
    return ModelShape({"t": TaskShape(rows, [("", 1.0, [t for t in terms if t[1]])])}, {"t": 1.0})


Call = tuple[float | None, int, int]
"""The value of a call, None if its reply is unreadable; items that are right; items."""


def contributions(calls: Sequence[Call], first: int = 0) -> Contributions:
    task = TaskContributions()
    charges = [Charge(call_key(first + at, "")) for at in range(len(calls))]
    flags = [EVALUATED | (CALL_BLOCKED if call[0] is None else 0) for call in calls]
    task.add_cases(charges, flags)
    task.add_column(MEAN, [Measure(call[0]) for call in calls])
    rates = [Measure(right / items if items else 1.0, right, items) for _, right, items in calls]
    task.add_column(RATE, rates, pooled=True)
    return {"t": task}


def claimed(models: Sequence[Sequence[Call]], mean: float = 1.0) -> list[ClaimedScores]:
    given = [contributions(calls) for calls in models]
    units = make_units(given)
    matrices = [call_matrix(one, shape(mean), units) for one in given]
    return claim_scores(
        [
            ClaimInput(shape(mean), matrix, heaviest_calls(one, shape(mean), matrix))
            for one, matrix in zip(given, matrices, strict=True)
        ]
    )


def macro(values: Sequence[float | None]) -> list[Call]:
    return [(value, 0, 0) for value in values]


def of_mean(values: Sequence[float], low: float = 0.0) -> Interval:
    keys = np.array([call_key(at, "") for at in range(len(values))], np.uint64)
    found = mean_limits(np.array(values), keys, (low, 1.0))
    assert found is not None
    return found


VALUES = [1.0, 0.9, 0.25, 1.0, 0.8, 1.0, 0.5, 1.0, 1.0, 0.75]


def test_stats_2_the_final_of_readable_calls_has_the_limits_of_their_mean() -> None:
    (found,) = claimed([macro(VALUES)])
    for key in (FINAL, ("task", "t"), ("row", MEAN)):
        assert found.limits[key] == pytest.approx(of_mean(VALUES), abs=1e-6)


def test_stats_2_an_unreadable_call_counts_zero_and_may_come_again() -> None:
    (found,) = claimed([macro([None, *VALUES])])
    (without,) = claimed([macro(VALUES)])
    assert found.limits[FINAL].low < without.limits[FINAL].low
    readable = np.array([0.0, *[1.0] * len(VALUES)])
    assert found.limits[FINAL].low <= of_mean(list(readable)).low


def test_stats_2_a_pooled_rate_with_one_item_per_call_is_binomial() -> None:
    right = [1] * 17 + [0] * 3
    (found,) = claimed([[(1.0, one, 1) for one in right]])
    assert found.limits["row", RATE] == pytest.approx(of_mean([float(one) for one in right]))


def test_stats_2_the_imaginary_call_is_as_heavy_as_the_heaviest() -> None:
    light = [(1.0, 2, 2)] * 20
    (even,) = claimed([light])
    (uneven,) = claimed([[*light[1:], (1.0, 40, 40)]])
    assert 1 - even.limits["row", RATE].low == pytest.approx(unseen_share(20), rel=0.03)
    assert 1 - uneven.limits["row", RATE].low > 4 * unseen_share(20)
    assert even.limits["row", RATE].high == uneven.limits["row", RATE].high == 1.0


def test_stats_2_all_wrong_in_pooled_rates_lowers_the_final() -> None:
    perfect = [(1.0, 3, 3)] * 30
    (means,), (rates,) = claimed([perfect], mean=1.0), claimed([perfect], mean=0.5)
    assert rates.limits[FINAL].low < means.limits[FINAL].low


CALLS = st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1, allow_subnormal=False)), min_size=1)


@given(CALLS, st.integers(0, 10**6))
def test_stats_2_pooled_laws_hold_for_equal_item_counts(
    calls: list[tuple[int, float]], at: int
) -> None:
    plain: list[Call] = [(value, right, 4) for right, value in calls]
    better = list(plain)
    better[at % len(plain)] = (1.0, 4, 4)
    low, higher = (found.limits[FINAL].low for found in claimed([plain, better], mean=0.6))
    (more,) = claimed([[*plain, (1.0, 4, 4)]], mean=0.6)
    assert higher >= low - 1e-12
    assert more.limits[FINAL].low >= low - 1e-12
    assert more.limits["row", RATE].low >= claimed([plain])[0].limits["row", RATE].low


def test_stats_2_a_difference_is_the_mean_of_differences_with_one_of_minus_one() -> None:
    other = [0.5, 0.9, 0.5, 0.9, 1.0, 1.0, 0.5, 0.6, 1.0, 1.0]
    first, second = claimed([macro(VALUES), macro(other)])
    found = difference_limits(first.finals[FINAL], second.finals[FINAL])
    differences = [b - a for a, b in zip(VALUES, other, strict=True)]
    assert found == pytest.approx(of_mean(differences, -1.0), abs=1e-6)
    narrow = difference_limits(first.finals[FINAL], second.finals[FINAL], 0.05 / 4)
    assert found is not None and narrow is not None
    assert narrow.low < found.low and narrow.high > found.high


def test_stats_2_equal_answers_differ_by_no_more_than_what_is_unseen() -> None:
    calls: list[Call] = [(0.8, 3, 3), (None, 0, 0), (1.0, 2, 3), (0.9, 3, 3)] * 12
    first, second = claimed([calls, calls])
    found = difference_limits(first.finals[FINAL], second.finals[FINAL])
    assert found is not None
    assert found.low == pytest.approx(-found.high)
    assert found.high == pytest.approx(unseen_share(48), rel=0.03)


def test_stats_3_models_are_compared_on_the_calls_that_both_answered() -> None:
    first, second = contributions(macro(VALUES)), contributions(macro(VALUES[5:] * 2), first=5)
    assert shared_calls(first, first, ["t"]) is None
    shared = shared_calls(first, second, ["t"])
    assert shared is not None and len(shared["t"]) == 5
    units = make_units([first, second])
    given = [call_matrix(one, shape(), units, shared) for one in (first, second)]
    inputs = [
        ClaimInput(shape(), matrix, heaviest_calls(one, shape(), matrix, shared))
        for one, matrix in zip((first, second), given, strict=True)
    ]
    one, other = claim_scores(inputs)
    found = difference_limits(one.finals[FINAL], other.finals[FINAL])
    assert found is not None
    assert found.high == -found.low == pytest.approx(unseen_share(5), rel=0.03)


def test_a_row_that_counts_has_no_claim_limit() -> None:
    calls = contributions(macro(VALUES))
    counted = ModelShape(
        {"t": TaskShape([MetricShape(MEAN, "count")], [("", 1.0, [])])}, {"t": 1.0}
    )
    units = make_units([calls])
    matrix = call_matrix(calls, counted, units)
    (found,) = claim_scores([ClaimInput(counted, matrix, heaviest_calls(calls, counted, matrix))])
    assert ("row", MEAN) not in found.limits
