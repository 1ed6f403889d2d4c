"""Claim limits: Gaffke's bound, its draws, and its laws (STATS §2)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from callscore.stats.claims import (
    DRAWS,
    UNIT,
    claim_weights,
    imaginary_weights,
    mean_limits,
    round_for_claims,
    unseen_share,
)
from callscore.stats.contributions import call_key
from callscore.stats.intervals import Interval

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
