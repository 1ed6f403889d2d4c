"""Intervals against scipy and statsmodels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats
from statsmodels.stats.proportion import proportion_confint

from callscore.core.measure import Measure
from callscore.stats.contributions import Charge, MetricShape, TaskContributions, TaskShape
from callscore.stats.intervals import beta_cdf, beta_quantile, binomial_interval
from callscore.stats.matrix import CallMatrix, ResamplingUnits, make_units
from callscore.stats.rates import (
    calls_needed,
    count_rate,
    count_task,
    items_needed,
    rate_interval,
    rule_of_three_interval,
    upper_limit,
)
from callscore.stats.resampling import (
    Replicates,
    acceleration,
    bca_interval,
    expanded_z,
    make_replicates,
    quantile,
    rank_interval,
    resample_weights,
    round_to_grid,
)

Floats = npt.NDArray[np.float64]

SAMPLES = {
    "skewed": np.random.default_rng(1).exponential(size=60),
    "shares": np.random.default_rng(2).binomial(9, 0.8, size=50) / 9,
    "few": np.array([0.2, 0.9, 0.4, 1.0, 0.7, 0.35]),
}


def mean_replicates(values: Floats, resamples: int = 10_000, seed: int = 1) -> Replicates:
    """The mean of some calls, as any row is resampled."""
    units = ResamplingUnits(np.arange(len(values), dtype=np.uint64), len(values))
    matrix = CallMatrix(units, {}, np.array([values, np.ones(len(values))]))

    def statistic(sums: Sequence[Floats]) -> list[dict[tuple[str, ...], Floats]]:
        return [{("mean",): sums[0][0] / sums[0][1]}]

    return make_replicates([matrix], statistic, seed, resamples)[0]["mean",]


@pytest.mark.parametrize("name", SAMPLES)
def test_bca_limits_are_those_of_scipy(name: str) -> None:
    values = SAMPLES[name]
    found = bca_interval(mean_replicates(values, 40_000))
    oracle = stats.bootstrap(
        (values,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(2)
    )
    assert found is not None and found.method == "bca"
    noise = 0.06 * (oracle.confidence_interval.high - oracle.confidence_interval.low)
    assert found.low == pytest.approx(oracle.confidence_interval.low, abs=noise)
    assert found.high == pytest.approx(oracle.confidence_interval.high, abs=noise)


def test_bca_cuts_the_same_replicates_exactly_where_scipy_does() -> None:
    """scipy's own replicates in: the limits come out to the last digits."""
    values = SAMPLES["skewed"]
    oracle = stats.bootstrap(
        (values,), np.mean, n_resamples=9_999, method="BCa", rng=np.random.default_rng(3)
    )
    jackknife = np.array([np.delete(values, at).mean() for at in range(len(values))])
    replicated = Replicates(float(values.mean()), oracle.bootstrap_distribution, jackknife)
    found = bca_interval(replicated)
    assert found is not None
    assert found.low == pytest.approx(oracle.confidence_interval.low, abs=1e-9)
    assert found.high == pytest.approx(oracle.confidence_interval.high, abs=1e-9)


def test_acceleration_is_that_of_the_jackknife() -> None:
    values = SAMPLES["skewed"]
    jackknife = np.array([np.delete(values, at).mean() for at in range(len(values))])
    expected = stats.skew(values) / (6 * len(values) ** 0.5)
    assert acceleration(jackknife) == pytest.approx(expected, rel=1e-9)
    assert acceleration(np.ones(5)) is None
    assert acceleration(np.array([1.0, np.nan, 0.5])) is None


@pytest.mark.parametrize("calls", [2, 5, 15, 50, 400])
def test_few_calls_widen_the_limits_as_students_t_does(calls: int) -> None:
    expected = (calls / (calls - 1)) ** 0.5 * stats.t.ppf(0.975, calls - 1)
    assert expanded_z(calls) == pytest.approx(expected, rel=1e-9)
    found = mean_replicates(SAMPLES["few"])
    plain, wide = bca_interval(found), bca_interval(found, 6)
    assert plain is not None and wide is not None
    assert wide.low < plain.low and wide.high > plain.high


def test_percentiles_are_used_where_the_jackknife_does_not_vary() -> None:
    found = Replicates(0.5, np.linspace(0, 1, 1001), np.full(10, 0.5))
    limits = bca_interval(found)
    assert limits is not None and limits.method == "percentile"
    assert (limits.low, limits.high) == pytest.approx((0.025, 0.975), abs=1e-9)


def test_undefined_resamples_are_left_out_and_too_many_leave_nothing() -> None:
    values = np.concatenate([np.linspace(0, 1, 900), np.full(100, np.nan)])
    assert bca_interval(Replicates(0.5, values, np.linspace(0.4, 0.6, 9))) is not None
    values[:500] = np.nan
    assert bca_interval(Replicates(0.5, values, np.linspace(0.4, 0.6, 9))) is None
    assert bca_interval(Replicates(np.nan, values, np.ones(3))) is None


def test_quantiles_are_those_of_numpy() -> None:
    ordered = np.sort(SAMPLES["skewed"])
    for share in (0.0, 0.013, 0.5, 0.975, 1.0):
        assert quantile(ordered, share) == pytest.approx(np.quantile(ordered, share), rel=1e-12)


def test_rank_limits_hold_95_percent_of_the_resamples() -> None:
    ranks = np.array([1.0] * 960 + [2.0] * 30 + [3.0] * 10)
    assert rank_interval(Replicates(1.0, ranks, ranks)) == (1, 2)
    assert rank_interval(Replicates(1.0, np.ones(100), ranks)) == (1, 1)


def test_the_beta_distribution_is_scipys() -> None:
    dice = np.random.default_rng(4)
    for _ in range(300):
        a, b = 10 ** dice.uniform(-1, 5, 2)
        x = dice.random() ** dice.choice([1, 4])
        assert beta_cdf(x, a, b) == pytest.approx(special.betainc(a, b, x), abs=1e-9)
        p = dice.choice([0.025, 0.05, 0.95, 0.975])
        expected = special.betaincinv(a, b, p)
        assert beta_quantile(p, a, b) == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert (beta_cdf(0, 2, 3), beta_cdf(1, 2, 3)) == (0, 1)


@pytest.mark.parametrize(("events", "items"), [(0, 10), (10, 10), (1, 33), (3, 100), (480, 900)])
def test_binomial_limits_are_those_of_statsmodels_and_scipy(events: int, items: int) -> None:
    found = binomial_interval(events, items)
    assert found == pytest.approx(proportion_confint(events, items, method="beta"), abs=1e-9)
    exact = stats.binomtest(events, items).proportion_ci(0.95, "exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)
    one_sided = stats.binomtest(events, items, alternative="less").proportion_ci(0.95, "exact")
    assert upper_limit(events, items) == pytest.approx(one_sided.high, abs=1e-9)


def test_stats_2_clean_items_that_show_a_rate_below_one_percent() -> None:
    assert [items_needed(errors, 0.01) for errors in (0, 1, 2)] == [299, 473, 628]
    for errors, limit in ((0, 0.03), (1, 0.05), (4, 0.03)):
        needed = items_needed(errors, limit)
        assert upper_limit(errors, needed) <= limit < upper_limit(errors, needed - 1)


def test_stats_2_calls_that_show_a_rate_are_counted_as_calls() -> None:
    """Five items per call: what is clean or wrong together counts once."""
    clean = count_rate(np.zeros(98), np.full(98, 5.0))
    assert clean is not None and calls_needed(clean, 0.03) == 99
    wrong = count_rate(np.array([5.0] + [0.0] * 97), np.full(98, 5.0))
    assert wrong is not None and wrong.calls_with_events == 1
    assert calls_needed(wrong, 0.03) == items_needed(1, 0.03)


def test_stats_2_no_event_counts_calls_not_items() -> None:
    counts = count_rate(np.zeros(8), np.full(8, 6.0))
    assert counts is not None
    limits = rate_interval(counts, None)
    assert (limits.low, limits.high) == pytest.approx((0, 1 - 0.025 ** (1 / 8)))
    all_of_them = count_rate(np.full(8, 6.0), np.full(8, 6.0))
    assert all_of_them is not None and rate_interval(all_of_them, None).high == 1.0
    assert rate_interval(all_of_them, None).low == pytest.approx(0.025 ** (1 / 8))


def test_stats_2_single_items_are_binomial() -> None:
    counts = count_rate(np.array([1.0, 0, 0, 1, 0, 0]), np.array([1.0, 1, 1, 1, 0, 1]))
    assert counts is not None and counts.single and counts.calls == 5
    limits = rate_interval(counts, None)
    assert (limits.low, limits.high) == pytest.approx(binomial_interval(2, 5))


def test_stats_2_items_of_a_call_that_agree_count_as_one() -> None:
    """Ten items a call, all right or all wrong: as much as one item a call."""
    wrong = np.array([1.0] * 4 + [0.0] * 36)
    counts = count_rate(10 * wrong, np.full(40, 10.0))
    assert counts is not None
    assert counts.design_effect == pytest.approx(10 * 40 / 39)
    limits = rate_interval(counts, None)
    assert (limits.low, limits.high) == pytest.approx(binomial_interval(4, 40), abs=0.006)
    spread = bca_interval(mean_replicates(wrong), 40)
    widened = rate_interval(counts, spread)
    assert spread is not None and widened.method == "design_effect"
    assert widened.low <= min(spread.low, limits.low) and widened.high >= spread.high
    even = count_rate(np.array([1.0, 1, 1, 1]), np.array([10.0, 10, 10, 10]))
    assert even is not None and even.design_effect == 1


def test_stats_2_calls_that_agree_say_so_by_the_rule_of_three() -> None:
    found = mean_replicates(np.full(60, 1.0))
    plain = bca_interval(found, 60)
    assert plain is not None and plain.method == "all_equal"
    limits = rule_of_three_interval(plain.low, 60, (0.0, 1.0))
    assert (limits.low, limits.high) == pytest.approx(proportion_confint(60, 60, method="beta"))
    half = rule_of_three_interval(0.5, 60, (0.0, 1.0))
    assert half.low < 0.5 < half.high and half.method == "all_equal"


def test_a_pooled_row_is_counted_call_by_call() -> None:
    kept = TaskContributions()
    kept.add_cases([Charge(7), Charge(7), Charge(9)], [1, 1, 1])
    measures = [Measure(0.5, 1, 2), Measure(1.0, 3, 3), Measure(1.0, vacuous=True)]
    kept.add_column("rate", measures, pooled=True)
    shape = TaskShape([MetricShape("rate", "pooled"), MetricShape("other", "pooled")], [])
    found = count_task(kept, shape, make_units([{"t": kept}]))
    counts = found.rates["rate"].counts()
    assert counts is not None and (counts.events, counts.items, counts.calls) == (4, 5, 1)
    errors = found.rates["rate"].counts(complement=True)
    assert errors is not None and errors.events == 1
    assert "other" not in found.rates
    assert (found.calls, dict(found.with_value)) == (2, {"rate": 2, "other": 0})


def test_the_same_seed_draws_the_same_calls_and_each_as_often_as_chance_has_it() -> None:
    draws = [np.concatenate(list(resample_weights(30, seed, 2_000)), axis=1) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    assert (draws[0].sum(axis=0) == 30).all()
    assert draws[0].var() == pytest.approx(29 / 30, rel=0.02)
    assert stats.chisquare(draws[0].sum(axis=1)).pvalue > 1e-4


def test_sums_do_not_depend_on_the_order_of_addition() -> None:
    dice = np.random.default_rng(5)
    given = np.array([dice.random(1_000), dice.random(1_000) * 1e-7, np.zeros(1_000)])
    columns = round_to_grid(given)
    orders = [dice.permutation(1_000) for _ in range(20)]
    sums = [columns[:, order].cumsum(axis=1)[:, -1] for order in orders]
    assert all((one == other).all() for one, other in pairwise(sums))
    np.testing.assert_allclose(columns, given, rtol=0, atol=1e-11)
