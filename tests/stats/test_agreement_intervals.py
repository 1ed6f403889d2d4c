"""Agreement beside statsmodels, and its intervals over calls        STATS §5"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from callscore.stats.agreement import (
    alpha_interval,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
    nominal_distance,
    squared_distance,
    weighted_kappa,
)

SCALE = ("bad", "fair", "good")


def rated(number: int, seed: int = 1) -> list[tuple[str, str]]:
    dice = Random(seed)
    first = [dice.choice(SCALE) for _ in range(number)]
    return [(word, word if dice.random() < 0.7 else dice.choice(SCALE)) for word in first]


def test_kappas_are_those_of_statsmodels() -> None:
    pairs = rated(200)
    table = [[sum(p == (a, b) for p in pairs) for b in SCALE] for a in SCALE]
    assert cohen_kappa(pairs) == pytest.approx(cohens_kappa(table).kappa)
    expected = cohens_kappa(table, wt="quadratic").kappa
    assert weighted_kappa(pairs, SCALE) == pytest.approx(expected)


def test_an_interval_over_single_items_is_near_the_one_of_statsmodels() -> None:
    pairs = rated(300)
    table = [[sum(p == (a, b) for p in pairs) for b in SCALE] for a in SCALE]
    oracle = cohens_kappa(table)
    found = kappa_interval(pairs, [str(at) for at in range(300)], nominal_distance, seed=1)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((oracle.kappa_low, oracle.kappa_upp), abs=0.02)


def test_stats_5_items_of_a_call_move_together() -> None:
    """Every item ten times in its call: as sure as one item a call, not as ten."""
    once = rated(40)
    ten = [pair for pair in once for _ in range(10)]
    calls = [str(at // 10) for at in range(400)]
    together = kappa_interval(ten, calls, nominal_distance, seed=1)
    single = kappa_interval(once, [str(at) for at in range(40)], nominal_distance, seed=1)
    apart = kappa_interval(ten, [str(at) for at in range(400)], nominal_distance, seed=1)
    assert together is not None and single is not None and apart is not None
    assert together.high == pytest.approx(single.high)
    assert together.low == pytest.approx(single.low, abs=0.05)  # one imagined item is less of ten
    assert apart.high - apart.low < (together.high - together.low) / 2


def test_krippendorff_alpha_has_an_interval_too() -> None:
    units = [list(pair) for pair in rated(60)]
    found = alpha_interval(units, [str(at) for at in range(60)], nominal_distance, seed=1)
    alpha = krippendorff_alpha(units, nominal_distance)
    assert found is not None and alpha is not None and found.low < alpha < found.high
    assert kappa_interval(rated(5), ["one"] * 5, nominal_distance, seed=1) is None


def test_stats_5_perfect_agreement_has_an_interval_with_a_width() -> None:
    pairs = [("good", "good")] * 60 + [("bad", "bad")] * 40
    calls = [str(at) for at in range(100)]
    found = kappa_interval(pairs, calls, nominal_distance, seed=1)
    assert found is not None
    with_one = cohen_kappa([*pairs, ("good", "bad")])
    assert with_one is not None
    assert found.high == 1
    assert found.low <= with_one < 1
    people = alpha_interval([list(pair) for pair in pairs], calls, nominal_distance, seed=1)
    assert people is not None
    assert people.low < people.high == 1


def test_stats_5_one_failure_among_a_hundred_proves_no_agreement() -> None:
    pairs = [("good", "good")] * 99 + [("bad", "bad")]
    found = kappa_interval(pairs, [str(at) for at in range(100)], nominal_distance, seed=1)
    assert cohen_kappa(pairs) == 1
    assert found is not None
    assert found.low < 0.1


@given(
    st.lists(st.tuples(st.sampled_from(SCALE), st.sampled_from(SCALE)), min_size=2, max_size=12),
    st.integers(1, 4),
)
@settings(max_examples=20, deadline=None)
def test_stats_5_an_interval_is_within_the_range_and_never_without_width(
    pairs: list[tuple[str, str]], per_call: int
) -> None:
    calls = [str(at // per_call) for at in range(len(pairs))]
    for distance in (nominal_distance, squared_distance(SCALE)):
        found = kappa_interval(pairs, calls, distance, seed=1)
        if found is not None:
            assert -1 <= found.low < found.high <= 1
        of_units = alpha_interval([list(pair) for pair in pairs], calls, distance, seed=1)
        if of_units is not None:
            assert -1 <= of_units.low < of_units.high <= 1
