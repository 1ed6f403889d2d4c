"""The e-process against a plain implementation in fractions, and against every order of a pool."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.stats.race_tests import (
    Array,
    Draws,
    EProcess,
    initial_e_process,
    log_mean_exp,
    update_future,
    update_pool,
)

FRACTIONS = [Fraction(step, 16) for step in range(1, 17)]
scores = st.lists(st.integers(-8, 8).map(lambda n: Fraction(n, 8)), min_size=1, max_size=12)


def plain(values: Sequence[Fraction], pool: int | None) -> list[Fraction | None]:
    """STATS §4.3 word for word; None where the conclusion is certain"""
    wealth, total = [Fraction(1)] * 16, Fraction(0)
    found: list[Fraction | None] = []
    for s, value in enumerate(values, start=1):
        mean = -total / (pool - s + 1) if pool is not None else Fraction(0)
        if mean < -1:
            return [*found, None]
        stake = 1 / (1 + mean) if mean > -1 else Fraction(0)
        wealth = [
            w * (1 + part * stake * (value - mean))
            for w, part in zip(wealth, FRACTIONS, strict=True)
        ]
        found.append(sum(wealth, Fraction(0)) / 16)
        total += value
    return found


def pool_draws(values: Sequence[Fraction], pool: int) -> Draws:
    """Differences as shares of the pool's mean: a draw stands for all calls that are left"""
    value = np.array([[float(v) * (pool - s) / pool for s, v in enumerate(values)]])
    seen = np.array([[float(v) / pool for v in values]])
    least = np.array([[-(pool - s) / pool for s in range(len(values))]])
    return Draws(value, seen, least)


def future_draws(values: Sequence[Fraction]) -> Draws:
    value = np.array([[float(v) for v in values]])
    return Draws(value, value, -np.ones_like(value))


def peak_of(found: Sequence[Fraction | None]) -> float:
    if None in found:
        return math.inf
    return math.log(max(Fraction(1), *(e for e in found if e is not None)))


@given(scores, st.integers(0, 8))
def test_evidence_about_a_pool_is_the_product_in_the_formula(
    values: list[Fraction], unseen: int
) -> None:
    pool = len(values) + unseen
    expected = plain(values, pool)
    found = update_pool(initial_e_process(1), pool_draws(values, pool), np.zeros(1))
    assert found.peak[0] == pytest.approx(peak_of(expected), abs=1e-9)
    if (last := expected[-1]) is not None and last > 0:
        assert log_mean_exp(found.log_wealth)[0] == pytest.approx(math.log(last), abs=1e-9)


@given(scores)
def test_evidence_about_future_calls_is_the_product_in_the_formula(values: list[Fraction]) -> None:
    found = update_future(initial_e_process(1), future_draws(values), np.zeros(1))
    assert found.peak[0] == pytest.approx(peak_of(plain(values, None)), abs=1e-9)


@given(scores, st.integers(1, 11))
def test_bets_in_parts_are_the_same_to_the_last_bit(values: list[Fraction], cut: int) -> None:
    pool = len(values) + 2
    draws, limit = pool_draws(values, pool), np.zeros(1)
    at_once = update_pool(initial_e_process(1), draws, limit)
    first = update_pool(initial_e_process(1), Draws(*(part[:, :cut] for part in draws)), limit)
    in_parts = update_pool(first, Draws(*(part[:, cut:] for part in draws)), limit)
    for one, other in zip(at_once, in_parts, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "values",
    [[1, -1, 0, 0, 0], [4, -1, -1, -1, -1], [2, 2, -3, -1, 0], [-4, 1, 1, 1, 1, 0]],
)
def test_no_order_of_a_balanced_pool_is_expected_to_gain(values: list[int]) -> None:
    """The mean of E over all orders is 1 after every draw: a martingale, so Ville's bound holds"""
    orders = list(itertools.permutations([Fraction(v, 4) for v in values]))
    for length in range(1, len(values) + 1):
        wealth = [
            float(np.exp(log_mean_exp(evidence_of(order[:length], len(values)).log_wealth))[0])
            for order in orders
        ]
        assert math.fsum(wealth) / len(orders) == pytest.approx(1, abs=1e-9)


def evidence_of(values: Sequence[Fraction], pool: int) -> EProcess:
    return update_pool(initial_e_process(1), pool_draws(values, pool), np.zeros(1))


def test_a_lead_that_the_rest_cannot_take_back_is_certain() -> None:
    assert evidence_of([Fraction(1)] * 6, 10).peak[0] < math.inf
    assert evidence_of([*[Fraction(1)] * 6, Fraction(-1)], 10).peak[0] == math.inf


def test_claims_side_by_side_do_not_touch_each_other() -> None:
    random = np.random.default_rng(3)
    value: Array = random.uniform(-1, 1, (5, 40))
    least = -np.ones_like(value)
    together = update_future(initial_e_process(5), Draws(value, value, least), np.zeros(5))
    for row in range(5):
        rows = slice(row, row + 1)
        alone = update_future(
            initial_e_process(1), Draws(value[rows], value[rows], least[rows]), np.zeros(1)
        )
        assert np.array_equal(alone.log_wealth[0], together.log_wealth[row])


def test_a_drift_is_found_and_its_absence_is_not() -> None:
    """The same engine against any limit: here a mean of 0.3 against 0.2 and against 0.4"""
    random = np.random.default_rng(1)
    value: Array = random.binomial(1, 0.3, (1, 400)).astype(float)
    draws = Draws(value, value, np.zeros_like(value))
    assert update_future(initial_e_process(1), draws, np.array([0.2])).peak[0] > math.log(20)
    assert update_future(initial_e_process(1), draws, np.array([0.4])).peak[0] < math.log(20)
