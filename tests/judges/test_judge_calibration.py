"""Calibration: a judge compared with people."""

from __future__ import annotations

import math

import msgspec
import pytest

from callscore.judges.calibration import LabelledVerdict, calibrate
from judge_cases import RUBRICS

SUPPORT, INTENT = RUBRICS["support"], RUBRICS["intent"]
GOOD, BAD = "supported_by_transcript", "not_found"


def pairs(*counted: tuple[int, str, str | None]) -> list[LabelledVerdict]:
    return [
        LabelledVerdict(human, judge) for number, human, judge in counted for _ in range(number)
    ]


MIXED = pairs((40, GOOD, GOOD), (10, GOOD, BAD), (5, BAD, GOOD), (45, BAD, BAD))


def test_agreement_with_people() -> None:
    found = calibrate(SUPPORT, MIXED)
    assert found.n == 100
    assert found.accuracy == 0.85
    assert (found.sensitivity, found.specificity) == (0.8, 0.9)
    assert found.kappa == pytest.approx(0.7)
    assert found.kappa_interval is not None
    assert found.kappa_interval.low < 0.7 < found.kappa_interval.high
    assert found.confusion[GOOD, BAD] == 10
    assert found.is_calibrated


def test_words_that_count_the_same_agree() -> None:
    found = calibrate(SUPPORT, pairs((5, GOOD, "supported_by_reference"), (5, BAD, "contradicted")))
    assert found.accuracy == 1
    assert found.kappa == 1
    assert not found.is_calibrated, "ten labels prove nothing"


def test_abstentions_lower_the_coverage_and_not_the_agreement() -> None:
    found = calibrate(SUPPORT, [*MIXED, *pairs((20, GOOD, "cannot_tell"), (5, BAD, None))])
    assert found.coverage == 100 / 125
    assert found.accuracy == 0.85
    assert found.confusion[BAD, "none"] == 5


def test_the_mean_of_a_judge_is_the_same_on_every_python() -> None:
    """`sum` adds floats differently since Python 3.12."""
    scale = msgspec.structs.replace(INTENT, words=dict.fromkeys("abcd", ""), alike=())
    found = calibrate(scale, pairs((10, "b", "b")))
    assert found.judge_mean == math.fsum([1 - 1 / 3] * 10) / 10


def test_steps_of_a_scale_are_weighted() -> None:
    near = calibrate(INTENT, pairs((8, "same", "same"), (2, "different", "same_domain_incomplete")))
    far = calibrate(INTENT, pairs((8, "same", "same"), (2, "different", "same")))
    assert near.weighted
    assert near.kappa is not None
    assert near.kappa > 0
    assert far.kappa == 0
    assert near.judge_mean == pytest.approx(0.9)
    assert near.cross_check is None


def test_the_corrected_mean_is_between_judge_and_people() -> None:
    found = calibrate(SUPPORT, MIXED, [GOOD] * 450 + [BAD] * 450)
    assert found.corrected is not None
    covariance = (0.40 - 0.50 * 0.45) * 100 / 99
    variance = 0.495 * 0.505 * 1000 / 999
    trust = covariance / ((1 + 100 / 900) * variance)
    assert found.corrected.trust == pytest.approx(trust)
    assert found.corrected.value == pytest.approx(0.50 + trust * (0.50 - 0.45))
    assert found.corrected.interval.low < 0.55 < found.corrected.interval.high
    assert found.cross_check == pytest.approx((0.495 + 0.9 - 1) / 0.7)


@pytest.mark.parametrize(
    ("by_item", "alpha", "calibrated"),
    [
        ([[GOOD, "supported_by_reference"]] * 9 + [[BAD, BAD]] * 9, 1.0, False),
        ([[GOOD, GOOD]] * 7 + [[GOOD, BAD]] * 4 + [[BAD, BAD]] * 7, 0.568, True),
        ([[GOOD] * 3] * 7 + [[GOOD, BAD, BAD]] * 8 + [[BAD] * 3] * 7, 0.515, False),
        ([[GOOD, GOOD]] * 3, None, True),
    ],
    ids=["people agree more", "people agree less", "three people who differ", "one word only"],
)
def test_a_judge_must_agree_with_people_as_well_as_they_do_with_each_other(
    by_item: list[list[str]], alpha: float | None, calibrated: bool
) -> None:
    found = calibrate(SUPPORT, MIXED, by_item=by_item)
    assert found.kappa == pytest.approx(0.7)
    assert found.people is not None
    assert found.people.alpha == (alpha if alpha is None else pytest.approx(alpha, abs=5e-4))
    assert found.is_calibrated is calibrated


def test_people_who_abstain_or_are_alone_do_not_count_as_agreement() -> None:
    assert calibrate(SUPPORT, MIXED, by_item=[[GOOD], [GOOD, "cannot_tell"]]).people is None


def test_people_a_step_apart_differ_less_than_two_steps_apart() -> None:
    def alpha(other: str) -> float:
        by_item = [["same", "same"]] * 4 + [["different", "different"]] * 4 + [["same", other]]
        people = calibrate(INTENT, MIXED[:0], by_item=by_item).people
        assert people is not None
        assert people.alpha is not None
        return people.alpha

    assert alpha("same_domain_incomplete") > alpha("different")


def test_without_labels_there_are_no_numbers() -> None:
    found = calibrate(SUPPORT, pairs((3, "cannot_tell", GOOD)))
    assert (found.n, found.coverage, found.kappa, found.corrected) == (0, None, None, None)
    assert not found.is_calibrated
