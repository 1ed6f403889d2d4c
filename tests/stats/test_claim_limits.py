"""Claim limits: Gaffke's bound, its draws, and its laws (STATS §2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from callscore.core.measure import Measure
from callscore.stats.claim_limits import (
    DRAWS,
    UNIT,
    ClaimedScores,
    ClaimInput,
    claim_scores,
    claim_weights,
    difference_limits,
    imaginary_weights,
    mean_limits,
    round_for_claims,
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

Floats = npt.NDArray[np.float64]
SHARES = st.floats(0, 1, allow_subnormal=False)
CALLS = st.lists(SHARES, min_size=1, max_size=60)


def keys(calls: int) -> npt.NDArray[np.uint64]:
    return np.array([call_key(number, "") for number in range(calls)], np.uint64)


def limits(values: Floats | list[float], *, difference: bool = False) -> Interval:
    found = mean_limits(
        np.array(values), keys(len(values)), (-1.0, 1.0) if difference else (0.0, 1.0)
    )
    assert found is not None
    return found


def weights_of(number: int, seed: int = 1) -> Floats:
    return np.concatenate(list(claim_weights(keys(number), seed)), axis=1) / UNIT


def test_stats_2_the_draws_of_a_call_do_not_depend_on_the_other_calls() -> None:
    np.testing.assert_array_equal(weights_of(7), weights_of(2_000)[:7])
    assert (weights_of(7) != weights_of(7, seed=2)).any()


def test_stats_2_draws_are_exponential_and_independent() -> None:
    drawn = weights_of(200)
    assert drawn.shape == (200, DRAWS)
    assert stats.kstest(drawn[:50].ravel()[:20_000], "expon").pvalue > 0.01
    assert (drawn.mean(), drawn.var()) == pytest.approx((1, 1), abs=0.003)
    between = np.atleast_2d(np.corrcoef(drawn))[np.triu_indices(200, 1)]
    assert between.std() == pytest.approx(1 / math.sqrt(DRAWS), rel=0.03)
    assert np.abs(between).max() < 6 / math.sqrt(DRAWS)
    one = drawn[0]
    assert abs(np.atleast_2d(np.corrcoef(one[:-1], one[1:]))[0, 1]) < 4 / math.sqrt(DRAWS)


def test_stats_2_the_imaginary_call_has_every_quantile_once_in_an_order_of_its_own() -> None:
    imaginary = imaginary_weights() / UNIT
    assert stats.kstest(imaginary, "expon").statistic < 1e-3
    calls = weights_of(50)
    assert np.abs([np.corrcoef(imaginary, call)[0, 1] for call in calls]).max() < 0.04


def test_draws_round_the_same_on_every_machine() -> None:
    """No quantile is so near the middle of two integers that a last digit decides."""
    for size in (1 << 16, DRAWS):
        exact = -np.log((np.arange(size) + 0.5) / size) * UNIT
        assert np.abs(exact % 1 - 0.5).min() > 1e-7


@pytest.mark.parametrize(
    ("right", "calls"), [(13, 13), (50, 50), (149, 149), (40, 50), (1, 20), (0, 20), (297, 300)]
)
def test_stats_2_right_and_wrong_calls_have_the_limits_of_clopper_and_pearson(
    right: int, calls: int
) -> None:
    found = limits([1.0] * right + [0.0] * (calls - right))
    low = stats.beta.ppf(0.05, right, calls - right + 1) if right else 0.0
    high = stats.beta.ppf(0.95, right + 1, calls - right) if right < calls else 1.0
    noise = 0.03 * (high - low)
    assert (found.low, found.high) == pytest.approx((low, high), abs=noise)


def test_stats_2_the_unseen_share_is_the_limit_of_calls_without_a_failure() -> None:
    assert unseen_share(13) == pytest.approx(0.2058, abs=1e-4)
    assert unseen_share(149) <= 0.02 < unseen_share(148)
    assert unseen_share(0) == 1.0
    assert 1 - limits([1.0] * 13).low == pytest.approx(unseen_share(13), rel=0.03)


def test_stats_2_more_than_2000_calls_are_weighted_in_groups_and_the_imaginary_call_stays_one() -> (
    None
):
    values = np.ones(30_000)
    assert 1 - limits(values).low == pytest.approx(unseen_share(30_000), rel=0.03)
    values[:30] = 0.0
    expected = stats.beta.ppf(0.05, 30_000 - 30, 31)
    assert 1 - limits(values).low == pytest.approx(1 - expected, rel=0.03)


@given(CALLS, st.data())
def test_stats_2_at_least_as_good_on_every_call_is_never_limited_lower(
    values: list[float], data: st.DataObject
) -> None:
    better = [data.draw(st.floats(value, 1, allow_subnormal=False)) for value in values]
    assert limits(better).low >= limits(values).low
    assert limits(better).high >= limits(values).high


@given(CALLS)
def test_stats_2_one_more_perfect_call_never_lowers_the_limit(values: list[float]) -> None:
    assert limits([*values, 1.0]).low >= limits(values).low
    assert limits([*values, 0.0]).high <= limits(values).high


@given(CALLS, st.integers(0, 10**6), st.floats(0, 1e-3))
def test_stats_2_the_limit_is_continuous(values: list[float], at: int, step: float) -> None:
    """A change of one call changes the limit by no more than the call."""
    changed = list(values)
    changed[at % len(values)] = min(1.0, changed[at % len(values)] + step)
    assert abs(limits(changed).low - limits(values).low) <= step + 1e-7


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=60))
def test_stats_2_one_more_call_with_a_difference_of_one_never_lowers_the_limit(
    differences: list[float],
) -> None:
    before = limits(differences, difference=True)
    assert limits([*differences, 1.0], difference=True).low >= before.low
    assert limits([*differences, -1.0], difference=True).high <= before.high


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(60, 1_999), st.integers(0, 2**32))
def test_stats_2_the_laws_hold_up_to_two_thousand_calls(calls: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    values = dice.beta(8, 1, calls) * (dice.random(calls) > 0.02)
    better = np.minimum(1.0, values + dice.random(calls) * (dice.random(calls) < 0.3))
    assert limits(better).low >= limits(values).low
    assert limits(np.append(values, 1.0)).low >= limits(values).low


def test_sums_with_weights_are_exact_whatever_the_order() -> None:
    dice = np.random.default_rng(5)
    line = round_for_claims(dice.random((1, 2_000)))
    weights = np.concatenate(list(claim_weights(keys(2_000), 1, 40)), axis=1)
    orders = [dice.permutation(2_000) for _ in range(10)]
    sums = [(line[0, order, None] * weights[order]).cumsum(axis=0)[-1] for order in orders]
    assert all((one == sums[0]).all() for one in sums)


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


LABELLED_CALLS = st.lists(
    st.tuples(st.integers(0, 4), st.floats(0, 1, allow_subnormal=False)), min_size=1
)


@settings(max_examples=30, deadline=None)
@given(LABELLED_CALLS, st.integers(0, 10**6))
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
