"""Calls that a decision takes, against statsmodels and the figures of STATS."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench import coverage
from scipy.stats import binom
from statsmodels.stats.power import TTestPower

from callscore.stats.differences import mcnemar_p
from callscore.stats.power import (
    AGREEMENT,
    PilotRate,
    Spread,
    alpha_per_pair,
    calls_for_claim,
    calls_for_difference,
    calls_for_limit,
    calls_for_width,
    detectable_difference,
    is_claimed,
)
from callscore.stats.rates import items_needed, rule_of_three_interval, upper_limit


def test_stats3_calls_for_an_assumed_spread_are_those_of_statsmodels() -> None:
    """A little more, because bands and interval must agree."""
    for effect in (0.02, 0.1, 0.16, 0.5):
        expected = AGREEMENT * TTestPower().solve_power(effect, power=0.8, alpha=0.05)
        found = calls_for_difference(effect, Spread(1.0))
        assert found == pytest.approx(math.ceil(expected), rel=2e-3, abs=2)


def test_stats3_a_small_pilot_takes_more_calls_than_its_spread_alone() -> None:
    def needed(pilot: int, kurtosis: float = 5.0) -> int:
        return calls_for_difference(0.02, Spread(0.15, pilot, kurtosis)) or 0

    assert needed(10) > needed(40) > needed(1000) > needed(0) > 0
    assert needed(40, kurtosis=20.0) > needed(40)


def test_stats3_more_models_take_more_calls_because_every_two_are_compared() -> None:
    assert [alpha_per_pair(models) for models in (1, 2, 5)] == [0.05, 0.05, 0.005]
    expected = AGREEMENT * TTestPower().solve_power(0.1, power=0.8, alpha=0.005)
    found = calls_for_difference(0.1, Spread(1.0), alpha=alpha_per_pair(5))
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("calls", [12, 48, 310, 5000])
def test_the_smallest_difference_is_that_of_statsmodels(calls: int) -> None:
    smallest = detectable_difference(0.25, calls)
    assert smallest is not None
    expected = TTestPower().solve_power(None, nobs=calls, power=0.8, alpha=0.05) * 0.25
    assert smallest == pytest.approx(expected, rel=0.01)


def test_stats3_a_gate_is_planned_by_the_exact_binomial() -> None:
    """At the planned number and every larger one, so many errors are allowed in 80 % of samples."""
    pilot = PilotRate(0.0, 1.0, 1)
    needed = calls_for_limit(0.03, pilot, rate=0.01)
    assert needed is not None
    for calls in range(needed, needed + 300, 7):
        allowed = next(k for k in range(calls) if upper_limit(k + 1, calls) > 0.03)
        assert binom.cdf(allowed, calls, 0.01) >= 0.8
    allowed = next(k for k in range(needed) if upper_limit(k + 1, needed - 1) > 0.03)
    assert binom.cdf(allowed, needed - 1, 0.01) < 0.8
    assert calls_for_limit(0.03, pilot, rate=0.03) is None


def test_stats3_a_gate_needs_more_calls_the_less_the_pilot_knows() -> None:
    """0 errors of 200, 400 and 4,000; at 0 errors for certain, 99."""
    found = [calls_for_limit(0.03, PilotRate(0, calls, calls)) for calls in (200, 400, 4000)]
    assert found[0] > found[1] > found[2] == 99  # type: ignore[operator]
    assert calls_for_limit(0.03, PilotRate(0, 50, 50)) is None  # 0 of 50 are no surprise at 3 %
    assert calls_for_limit(0.03, PilotRate(5, 200, 200)) is None
    assert calls_for_limit(0.03, PilotRate(8, 800, 800)) > 99  # type: ignore[operator]


def test_stats3_the_heaviest_call_counts_as_in_the_claim_limit() -> None:
    """Without an error, calls are counted and not items, as the limit of Gaffke does."""
    assert calls_for_limit(0.03, PilotRate(0, 5, 1, heaviest=5.0), 0.0) == items_needed(0, 0.03)
    assert calls_for_limit(0.03, PilotRate(0, 0.5, 1), 0.0) == 2 * 99 - 1
    uneven = calls_for_limit(0.03, PilotRate(0, 5, 1, heaviest=10.0), 0.0)
    assert uneven == pytest.approx(2 * 99, abs=1)


@pytest.mark.parametrize(("errors", "heavy"), [(0, 10.0), (1, 10.0), (4, 10.0), (9, 2.0)])
def test_stats3_the_rule_of_the_plan_is_the_claim_limit(errors: int, heavy: float) -> None:
    """Two gamma variables instead of Gaffke's weights: within 3 % of his limit."""
    calls = 400
    items = np.full(calls, 2.0)
    items[0] = heavy
    events = np.where(np.arange(calls) >= calls - errors, 1.0, 0.0)
    population = coverage.Population("", 0.0, lambda *_: (), is_rate=True)
    matrix = coverage.matrix_of(population, (events, items), np.random.default_rng(1))
    bound = coverage.claim_limits(*matrix)[1]
    total = float(items.sum())
    assert is_claimed(1.03 * bound, errors, total, heavy)
    assert not is_claimed(0.97 * bound, errors, total, heavy)


def test_stats3_a_width_holds_in_four_of_five_samples() -> None:
    wide, narrow = calls_for_width(Spread(0.2), 0.1), calls_for_width(Spread(0.2), 0.05)
    assert wide is not None and wide > math.ceil((2 * 1.959964 * 0.2 / 0.1) ** 2)
    assert 3 * wide < narrow < 4 * wide  # type: ignore[operator]
    assert calls_for_width(Spread(0.2, 20), 0.1) > wide  # type: ignore[operator]


def test_stats3_a_width_of_equal_calls_is_that_of_the_rule_of_three() -> None:
    calls = calls_for_width(Spread(1e-17, 40), 0.04)
    assert calls is not None
    for number, holds in ((calls, True), (calls - 1, False)):
        low, high, _ = rule_of_three_interval(1.0, number, (0.0, 1.0))
        assert (high - low <= 0.04) is holds


def test_what_cannot_be_shown_has_no_number() -> None:
    assert calls_for_difference(0.0, Spread(0.2)) is None
    assert calls_for_difference(1e-9, Spread(1.0)) is None
    assert detectable_difference(0.0, 10) is None


def test_stats3_below_six_pairs_nothing_can_be_shown() -> None:
    assert sign_flip_is_at_least(5) > 0.05 > sign_flip_is_at_least(6)
    assert detectable_difference(0.2, 5) is None
    assert calls_for_difference(0.9, Spread(0.1)) == 6


def sign_flip_is_at_least(pairs: int) -> float:
    return mcnemar_p(0, pairs)


def test_stats_2_calls_for_a_claim_are_at_least_those_without_a_failure() -> None:
    assert calls_for_claim(0.02) == 149 == math.ceil(math.log(0.05) / math.log(1 - 0.02))
    assert calls_for_claim(0.01) == 299
    spread = calls_for_claim(0.02, 0.1)
    assert spread is not None and spread > ((1.645 + 0.842) * 0.1 / 0.02) ** 2
    assert calls_for_claim(0.0) is None
    assert calls_for_claim(-0.1, 0.1) is None
