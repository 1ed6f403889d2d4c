"""Tests of a difference between two models on the same calls, against scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from callscore.stats.differences import holm_adjust, mcnemar_p, sign_flip_p

Array = NDArray[np.float64]


def mean(sums: Array) -> dict[str, Array]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"mean": sums[0] / sums[1]}


def with_counts(values: Array) -> Array:
    return np.vstack([values, np.ones(len(values))])


def p_of(a: Array, b: Array, seed: int = 1) -> float | None:
    return sign_flip_p(a, b, mean, {"mean": (0, 1)}, seed)["mean"]


def test_twelve_discordant_calls_are_counted_exactly() -> None:
    random = np.random.default_rng(3)
    a = random.random(30).round(2)
    b = a.copy()
    b[:12] += random.normal(0.05, 0.1, 12)
    found = p_of(with_counts(a), with_counts(b), seed=1)
    expected = permutation_test(
        (a[:12], b[:12]),
        lambda x, y, axis: np.mean(y - x, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert found == pytest.approx(expected.pvalue, abs=1e-12)


def test_many_discordant_calls_are_sampled_near_the_exact_value() -> None:
    random = np.random.default_rng(5)
    a = random.random(200)
    b = a + random.normal(0.02, 0.15, 200)
    found = p_of(with_counts(a), with_counts(b), seed=2)
    expected = permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(y - x, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(7),
    ).pvalue
    assert found == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 10_000) ** 0.5)


def test_a_pooled_rate_exchanges_counts_and_not_rates() -> None:
    random = np.random.default_rng(11)
    items = random.integers(1, 9, 12).astype(float)
    a = np.vstack([random.binomial(items.astype(int), 0.2), items])
    b = np.vstack([random.binomial(items.astype(int), 0.4), items])

    def rate_gap(x: Array, y: Array, axis: int) -> Array:
        found: Array = (y[..., :] / items.sum() - x[..., :] / items.sum()).sum(axis=axis)
        return found

    expected = permutation_test(
        (a[0], b[0]), rate_gap, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    found = p_of(a.astype(float), b.astype(float), seed=1)
    assert found == pytest.approx(expected, abs=1e-12)


def test_equal_models_have_p_of_one_and_an_undefined_row_has_none() -> None:
    same = with_counts(np.linspace(0, 1, 20))
    nothing = np.zeros((2, 20))
    assert p_of(same, same) == 1.0
    assert p_of(nothing, nothing) is None


def test_the_same_seed_gives_the_same_p() -> None:
    random = np.random.default_rng(13)
    a, b = with_counts(random.random(60)), with_counts(random.random(60))
    assert p_of(a, b, seed=4) == p_of(a, b, seed=4)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (5, 1), (3, 9), (40, 22)])
def test_mcnemar_is_that_of_statsmodels(b: int, c: int) -> None:
    expected = mcnemar([[10, b], [c, 10]], exact=True).pvalue
    assert mcnemar_p(b, c) == pytest.approx(min(1.0, float(expected)), abs=1e-12)


def test_mcnemar_and_the_exact_sign_flip_are_one_test_on_yes_and_no() -> None:
    a = np.array([1.0] * 9 + [0.0] * 4 + [1.0] * 10)
    b = np.array([0.0] * 9 + [1.0] * 4 + [1.0] * 10)
    found = p_of(with_counts(a), with_counts(b), seed=1)
    assert found == pytest.approx(mcnemar_p(9, 4))


def test_holm_is_that_of_statsmodels_and_leaves_out_what_has_no_p() -> None:
    values = [0.01, 0.04, 0.03, 0.005, 0.6]
    expected = multipletests(values, method="holm")[1]
    assert holm_adjust(values) == pytest.approx(list(expected))
    assert holm_adjust([0.01, None, 0.02]) == [0.02, None, 0.02]
