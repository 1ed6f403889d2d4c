"""Calls that a decision takes, against statsmodels and the figures of STATS."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.power import TTestPower

from callscore.stats.power import (
    calls_for_claim,
    calls_for_difference,
    calls_for_limit,
    calls_for_width,
    detectable_difference,
)
from callscore.stats.rates import items_needed, upper_limit


@pytest.mark.parametrize("effect", [0.02, 0.1, 0.16, 0.5, 1.0])
def test_calls_for_a_difference_are_those_of_statsmodels(effect: float) -> None:
    expected = TTestPower().solve_power(effect, power=0.8, alpha=0.05)
    assert calls_for_difference(effect, 1.0) == pytest.approx(math.ceil(expected), rel=2e-3, abs=1)


@pytest.mark.parametrize("calls", [12, 48, 310, 5000])
def test_the_smallest_difference_is_the_one_that_needs_these_calls(calls: int) -> None:
    smallest = detectable_difference(0.25, calls)
    assert smallest is not None
    expected = TTestPower().solve_power(None, nobs=calls, power=0.8, alpha=0.05) * 0.25
    assert smallest == pytest.approx(expected, rel=0.01)
    assert calls_for_difference(smallest, 0.25) == pytest.approx(calls, abs=1)


def test_calls_for_a_limit_count_items_and_what_goes_together() -> None:
    one, five = calls_for_limit(0.03, 0.01, 1), calls_for_limit(0.03, 0.01, 5)
    assert one is not None
    assert five == math.ceil(one / 5)
    assert calls_for_limit(0.03, 0.01, 5, design_effect=5) == one
    assert upper_limit(0.01 * one, one) <= 0.03 < upper_limit(0.01 * (one - 1), one - 1)
    assert calls_for_limit(0.03, 0.03, 5) is None


def test_without_an_error_calls_are_counted_and_not_items() -> None:
    assert calls_for_limit(0.03, 0.0, 5) == items_needed(0, 0.03) == 99
    assert calls_for_limit(0.03, 0.0, 0.5) == 2 * 99 - 1


def test_an_interval_of_half_the_width_takes_four_times_the_calls() -> None:
    wide, narrow = calls_for_width(0.2, 0.1), calls_for_width(0.2, 0.05)
    assert wide == math.ceil((2 * 1.959964 * 0.2 / 0.1) ** 2)
    assert narrow == pytest.approx(4 * wide, abs=4)


def test_what_cannot_be_shown_has_no_number() -> None:
    assert calls_for_difference(0.0, 0.2) is None
    assert calls_for_difference(1e-9, 1.0) is None
    assert detectable_difference(0.0, 10) is None
    assert detectable_difference(0.2, 2) is None


def test_stats_2_calls_for_a_claim_are_at_least_those_without_a_failure() -> None:
    assert calls_for_claim(0.02) == 149 == math.ceil(math.log(0.05) / math.log(1 - 0.02))
    assert calls_for_claim(0.01) == 299
    spread = calls_for_claim(0.02, 0.1)
    assert spread is not None and spread > (1.645 * 0.1 / 0.02) ** 2
    assert calls_for_claim(0.0) is None
    assert calls_for_claim(-0.1, 0.1) is None
