"""Rank bands: who is significantly better than whom, all pairs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from callscore.stats.claim_limits import ClaimInput, FinalValues, claim_scores
from callscore.stats.contributions import MetricShape, ModelShape, TaskShape
from callscore.stats.differences import (
    Contrast,
    PairOfValues,
    RankRange,
    ResampledDifference,
    are_significant,
    difference_interval,
    rank_bands,
    resample_models,
)
from callscore.stats.matrix import CallMatrix, ResamplingUnits
from callscore.stats.resampling import ModelValues

Array = NDArray[np.float64]
MEAN = ("mean",)


def finals_of(scores: Array) -> list[tuple[FinalValues, FinalValues] | None]:
    """The final scores of all pairs under every weighting, as claim limits need them."""
    rows = [MetricShape("t.mean", "mean")]
    shape = ModelShape({"t": TaskShape(rows, [("", 1.0, [("t.mean", 1.0)])])}, {"t": 1.0})
    ones = np.ones(len(scores))
    places = [("t", "", "cases"), ("t", "", "blocked"), ("t", "", "breached")]
    places += [("t", "t.mean", "total"), ("t", "t.mean", "n")]
    units = ResamplingUnits(np.arange(len(scores), dtype=np.uint64), len(scores))
    inputs = []
    for values in scores.T:
        sums = np.array([ones, 0 * ones, 0 * ones, values, ones])
        matrix = CallMatrix(units, {place: at for at, place in enumerate(places)}, sums)
        inputs.append(ClaimInput(shape, matrix, sums.max(axis=1)))
    found = [claimed.finals["final",] for claimed in claim_scores(inputs)]
    return list(combinations(found, 2))


def differences_of(scores: Array, resamples: int = 2_000) -> list[ResampledDifference]:
    """The differences of all pairs of models; a row of scores per call, a column per model."""
    calls, models = scores.shape
    units = ResamplingUnits(np.arange(calls, dtype=np.uint64), calls)
    matrices = [
        CallMatrix(units, {}, np.array([scores[:, at], np.ones(calls)])) for at in range(models)
    ]

    def statistic(sums: Sequence[Array]) -> Sequence[ModelValues]:
        return [{MEAN: own[0] / own[1]} for own in sums]

    pairs = [PairOfValues(MEAN, *pair) for pair in combinations(range(models), 2)]
    return list(resample_models(matrices, statistic, pairs, resamples).differences)


def bands_of(scores: Array) -> list[RankRange]:
    found = differences_of(scores)
    significant = are_significant(found, finals_of(scores))
    pairs = combinations(range(scores.shape[1]), 2)
    contrasts = [
        Contrast(*pair, one.replicates.estimate, is_so)
        for pair, one, is_so in zip(pairs, found, significant, strict=True)
    ]
    return rank_bands(scores.shape[1], contrasts)


def test_a_clear_winner_two_equals_and_a_clear_loser() -> None:
    random = np.random.default_rng(2)
    calls = random.random((400, 1)) * 0.2
    noise = random.normal(0, 0.05, (400, 4))
    scores = calls + noise + np.array([0.7, 0.6, 0.6, 0.3])
    assert bands_of(scores) == [RankRange(1, 1), RankRange(2, 3), RankRange(2, 3), RankRange(4, 4)]


def test_identical_models_share_all_ranks() -> None:
    scores = np.repeat(np.random.default_rng(3).random((30, 1)), 3, axis=1)
    assert bands_of(scores) == [RankRange(1, 3)] * 3


def test_stats_2_a_difference_without_spread_is_a_tie() -> None:
    values = np.linspace(0.1, 0.5, 30)[:, None]
    assert bands_of(np.hstack([values + 0.1, values])) == [RankRange(1, 2)] * 2


def test_stats_2_a_model_that_is_worse_on_every_call_is_worse() -> None:
    """Nothing right against everything right: no spread, and nothing unseen can turn it."""
    nothing, all_right = np.zeros((20, 1)), np.ones((20, 1))
    assert bands_of(np.hstack([nothing, all_right])) == [RankRange(2, 2), RankRange(1, 1)]
    assert bands_of(np.hstack([nothing[:3], all_right[:3]])) == [RankRange(1, 2)] * 2
    mostly = np.where(np.arange(24)[:, None] < 20, 0.5, 1.0)
    assert bands_of(np.hstack([mostly, np.ones((24, 1))])) == [RankRange(2, 2), RankRange(1, 1)]


def test_two_models_that_differ_on_one_call_hide_no_difference_from_a_third() -> None:
    """Resamples without that call have no spread, whatever the other pairs are like."""
    random = np.random.default_rng(4)
    good = random.beta(9, 1, 50)
    near = good.copy()
    near[7] = 0.0
    poor = good - 0.4 * random.random(50)
    found = bands_of(np.column_stack([good, near, poor]))
    assert found == [RankRange(1, 2), RankRange(1, 2), RankRange(3, 3)]


def test_one_pair_of_many_calls_is_decided_as_by_the_paired_t_test() -> None:
    """With many calls, the studentised bootstrap and Student's t agree."""
    agree = 0
    for seed in range(40):
        scores = np.random.default_rng(seed).normal(0.5, 0.1, (200, 2)) + np.array([0.0, 0.015])
        (pair,) = differences_of(scores)
        expected = ttest_rel(scores[:, 1], scores[:, 0])
        assert pair.replicates.estimate / pair.error == pytest.approx(expected.statistic)
        agree += are_significant([pair], [None]) == [expected.pvalue < 0.05]
    assert agree >= 38


def test_stats_2_intervals_of_differences_are_widened_for_few_calls() -> None:
    scores = np.random.default_rng(6).normal(0.5, 0.1, (12, 2))
    (pair,) = differences_of(scores, 10_000)
    wide, plain = (difference_interval(pair.replicates, calls) for calls in (12, 10_000))
    assert wide is not None and plain is not None
    assert wide.low < plain.low and wide.high > plain.high
    t = ttest_rel(scores[:, 1], scores[:, 0]).confidence_interval(0.95)
    assert (wide.low, wide.high) == pytest.approx((t.low, t.high), abs=0.25 * (t.high - t.low))
    assert difference_interval(pair.replicates, 1) is None


Population = Callable[[np.random.Generator, int, int], Array]


def _normal(dice: np.random.Generator, calls: int, models: int) -> Array:
    return 0.7 + 0.05 * dice.normal(size=(calls, 1)) + 0.1 * dice.normal(size=(calls, models))


def _right_or_wrong(dice: np.random.Generator, calls: int, models: int) -> Array:
    ease = 1 / (1 + np.exp(-1.5 - dice.normal(size=(calls, 1))))
    return (dice.random((calls, models)) < ease).astype(np.float64)


def _shares(dice: np.random.Generator, calls: int, models: int) -> Array:
    ease = 1 / (1 + np.exp(-2 - dice.normal(size=(calls, 1))))
    return dice.binomial(8, np.repeat(ease, models, axis=1)) / 8


def _rare_failures(dice: np.random.Generator, calls: int, models: int) -> Array:
    failed = dice.random((calls, models)) < 0.08
    return np.asarray(1 - 0.9 * failed * dice.beta(2, 1, (calls, models)), np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("population", [_normal, _right_or_wrong, _shares, _rare_failures])
@pytest.mark.parametrize("calls", [20, 50])
@pytest.mark.parametrize("models", [2, 5, 8])
def test_stats_2_equal_models_are_separated_in_at_most_6_percent_of_data_sets(
    population: Population, calls: int, models: int
) -> None:
    dice = np.random.default_rng(100 * calls + models)
    samples, wrong = 1_000, 0
    for _ in range(samples):
        found = differences_of(population(dice, calls, models), 1_000)
        wrong += any(are_significant(found, [None] * len(found)))
    assert wrong / samples <= 0.06 + 2 * (0.06 * 0.94 / samples) ** 0.5
