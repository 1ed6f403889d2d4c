"""Rank bands: who is significantly better than whom, all pairs at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import studentized_range

from callscore.stats.bands import RankRange, compare_pairs, rank_bands

Array = NDArray[np.float64]


def resampled(scores: Array, seed: int, times: int = 2000) -> Array:
    """Means of every model over resamples of the same calls."""
    random = np.random.default_rng(seed)
    n = len(scores)
    counts = random.multinomial(n, np.full(n, 1 / n), times)
    found: Array = counts @ scores / n
    return found


def bands_of(scores: Array, seed: int = 1) -> list[RankRange]:
    pairs = compare_pairs(list(scores.mean(axis=0)), resampled(scores, seed), len(scores))
    return rank_bands(scores.shape[1], pairs)


def test_a_clear_winner_two_equals_and_a_clear_loser() -> None:
    random = np.random.default_rng(2)
    calls = random.random((400, 1)) * 0.2
    noise = random.normal(0, 0.05, (400, 4))
    scores = calls + noise + np.array([0.7, 0.6, 0.6, 0.3])
    assert bands_of(scores) == [RankRange(1, 1), RankRange(2, 3), RankRange(2, 3), RankRange(4, 4)]


def test_identical_models_share_all_ranks() -> None:
    scores = np.repeat(np.random.default_rng(3).random((30, 1)), 3, axis=1)
    assert bands_of(scores) == [RankRange(1, 3)] * 3


def test_a_difference_that_never_varies_needs_enough_calls() -> None:
    values = np.linspace(0.1, 0.5, 30)[:, None]
    assert bands_of(np.hstack([values + 0.1, values])) == [RankRange(1, 1), RankRange(2, 2)]
    assert bands_of(np.hstack([values[:4] + 0.1, values[:4]])) == [RankRange(1, 2), RankRange(1, 2)]


def test_the_factor_is_that_of_the_studentized_range() -> None:
    """Equal independent models: max |t| over pairs is the studentized range / √2        Tukey"""
    scores = np.random.default_rng(5).normal(0.5, 0.1, (500, 4))
    pairs = compare_pairs(list(scores.mean(axis=0)), resampled(scores, 7, 6000), len(scores))
    factors = [(pair.high - pair.difference) / pair.standard_error for pair in pairs]
    expected = studentized_range.ppf(0.95, 4, 1e5) / 2**0.5
    assert factors == pytest.approx([expected] * 6, rel=0.04)


@pytest.mark.slow
def test_equal_models_are_distinguished_in_at_most_one_of_twenty_data_sets() -> None:
    wrong = 0
    for seed in range(1000):
        scores = np.random.default_rng(seed).normal(0.5, 0.1, (80, 4))
        wrong += bands_of(scores, seed) != [RankRange(1, 4)] * 4
    assert wrong <= 50 + 3 * (1000 * 0.05 * 0.95) ** 0.5
