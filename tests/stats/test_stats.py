"""Agreement, intervals and corrected means, against published or independent numbers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.stats.agreement import (
    cohen_kappa,
    confusion_counts,
    krippendorff_alpha,
    nominal_distance,
    observed_agreement,
    weighted_kappa,
)
from callscore.stats.intervals import clopper_pearson
from callscore.stats.prediction_powered import (
    judge_helps,
    prediction_powered_mean,
    rogan_gladen,
)

GRANTS = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
SCALE = ("low", "mid", "high")
PAIRS = st.lists(st.tuples(st.sampled_from(SCALE), st.sampled_from(SCALE)), max_size=30)


def test_kappa_of_fifty_grant_proposals() -> None:
    assert observed_agreement(GRANTS) == 0.7
    assert cohen_kappa(GRANTS) == pytest.approx(0.4)
    assert confusion_counts(GRANTS)["yes", "no"] == 5


def test_kappa_needs_two_words() -> None:
    assert cohen_kappa([]) is None
    assert cohen_kappa([("yes", "yes")] * 9) is None
    assert observed_agreement([]) is None


def test_weighted_kappa_forgives_near_misses() -> None:
    near = [("low", "low"), ("mid", "mid"), ("high", "mid"), ("high", "high")]
    far = [("low", "low"), ("mid", "mid"), ("high", "low"), ("high", "high")]
    near_kappa, far_kappa = weighted_kappa(near, SCALE), weighted_kappa(far, SCALE)
    assert near_kappa is not None
    assert far_kappa is not None
    assert near_kappa > far_kappa


@given(PAIRS)
def test_kappa_is_symmetric_and_at_most_one(pairs: list[tuple[str, str]]) -> None:
    swapped = [(b, a) for a, b in pairs]
    for kappa in (cohen_kappa, lambda p: weighted_kappa(p, SCALE)):
        assert kappa(pairs) == pytest.approx(kappa(swapped))
        assert kappa(pairs) is None or kappa(pairs) <= 1 + 1e-12  # type: ignore[operator]


def test_weighted_kappa_of_two_words_is_plain_kappa() -> None:
    assert weighted_kappa(GRANTS, ("yes", "no")) == pytest.approx(cohen_kappa(GRANTS))


def test_alpha_of_the_textbook_with_missing_ratings() -> None:
    raters = ("123321412***", "1233224125*3", "*3332342251*", "12332441251*")
    units = [[row[unit] for row in raters if row[unit] != "*"] for unit in range(12)]
    assert krippendorff_alpha(units, nominal_distance) == pytest.approx(0.743, abs=5e-4)


def test_alpha_is_one_where_all_agree_and_none_where_nothing_differs() -> None:
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]], nominal_distance) == 1
    assert krippendorff_alpha([["a", "a"], ["a"]], nominal_distance) is None
    assert krippendorff_alpha([["a", "b"], ["b", "a"]], nominal_distance) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 100, 0.0, 0.0362), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0)],
)
def test_clopper_pearson(successes: int, trials: int, low: float, high: float) -> None:
    interval = clopper_pearson(successes, trials)
    assert interval is not None
    assert interval == pytest.approx((low, high), abs=5e-5)


def test_no_trials_no_interval() -> None:
    assert clopper_pearson(0, 0) is None


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_the_corrected_mean_is_right_where_the_judge_is_biased() -> None:
    random = Random(7)
    inside = 0
    for _ in range(200):
        human = [float(random.random() < 0.6) for _ in range(600)]
        judge = [1.0 if random.random() < 0.25 else y for y in human]
        found = prediction_powered_mean(human[:150], judge[:150], judge[150:600], resamples=400)
        assert found is not None
        inside += found.interval.low <= 0.6 <= found.interval.high
        assert mean(judge) > 0.62
    assert 180 <= inside <= 199


def test_two_labels_show_nothing_about_a_judge() -> None:
    assert not judge_helps(1.0, 2)
    assert judge_helps(0.9, 6)
    assert not judge_helps(0.5, 6)  # 1 / √4


def test_a_good_judge_narrows_the_interval_and_a_poor_one_is_not_trusted() -> None:
    random = Random(3)
    human = [float(random.random() < 0.5) for _ in range(2000)]
    noise = [float(random.random() < 0.5) for _ in range(2000)]
    good = prediction_powered_mean(human[:100], human[:100], human[100:])
    poor = prediction_powered_mean(human[:100], noise[:100], noise[100:])
    alone = prediction_powered_mean(human[:100], noise[:100], [])
    assert good is not None
    assert poor is not None
    assert alone is not None
    assert good.interval.high - good.interval.low < 0.5 * (alone.interval.high - alone.interval.low)
    assert good.trust > 0.9 > 0.3 > poor.trust
    assert alone.value == pytest.approx(mean(human[:100]))
    assert alone.trust == 0


def test_one_label_corrects_nothing_and_uneven_lists_are_refused() -> None:
    assert prediction_powered_mean([1.0], [1.0], [1.0]) is None
    with pytest.raises(ValueError, match="2 human labels for 1"):
        prediction_powered_mean([1.0, 0.0], [1.0], [])


def test_rogan_gladen() -> None:
    assert rogan_gladen(0.5, 0.9, 0.8) == pytest.approx(0.3 / 0.7)
    assert rogan_gladen(0.05, 0.9, 0.8) == 0
    assert rogan_gladen(0.5, 0.5, 0.5) is None
