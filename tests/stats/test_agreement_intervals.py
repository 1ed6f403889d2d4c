"""Agreement beside statsmodels, and its intervals over calls        STATS §5"""

from __future__ import annotations

from random import Random

import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from callscore.stats.agreement import (
    agreement_interval,
    cohen_kappa,
    krippendorff_alpha,
    nominal_distance,
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
    found = agreement_interval(cohen_kappa, pairs, [str(at) for at in range(300)], seed=1)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((oracle.kappa_low, oracle.kappa_upp), abs=0.02)


def test_stats_5_items_of_a_call_move_together() -> None:
    """Every item ten times in its call: as sure as one item a call, not as ten."""
    once = rated(40)
    ten = [pair for pair in once for _ in range(10)]
    calls = [str(at // 10) for at in range(400)]
    together = agreement_interval(cohen_kappa, ten, calls, seed=1)
    single = agreement_interval(cohen_kappa, once, [str(at) for at in range(40)], seed=1)
    apart = agreement_interval(cohen_kappa, ten, [str(at) for at in range(400)], seed=1)
    assert together is not None and single is not None and apart is not None
    assert together == pytest.approx(single)
    assert apart.high - apart.low < (together.high - together.low) / 2


def test_krippendorff_alpha_has_an_interval_too() -> None:
    units = [list(pair) for pair in rated(60)]
    found = agreement_interval(
        lambda some: krippendorff_alpha(some, nominal_distance),
        units,
        [str(at) for at in range(60)],
        seed=1,
    )
    alpha = krippendorff_alpha(units, nominal_distance)
    assert found is not None and alpha is not None and found.low < alpha < found.high
    assert agreement_interval(cohen_kappa, rated(5), ["one"] * 5, seed=1) is None
