"""Calibration: a judge compared with people."""

from __future__ import annotations

import math

import msgspec
import pytest

from callscore.judges.calibration import LabelledItem, calibrate
from judge_cases import RUBRICS

SUPPORT, INTENT = RUBRICS["support"], RUBRICS["intent"]
GOOD, BAD = "supported_by_transcript", "not_found"


def pairs(*counted: tuple[int, str, str | None]) -> list[LabelledItem]:
    return [LabelledItem([human], judge) for number, human, judge in counted for _ in range(number)]


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
    assert found.passes == 50


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
    variance = 0.45 * 0.55 * 100 / 99
    trust = covariance / ((1 + 100 / 900) * variance)
    assert found.corrected.trust == pytest.approx(trust)
    assert found.corrected.value == pytest.approx(0.50 + trust * (0.50 - 0.45))
    assert found.corrected.interval.low < 0.55 < found.corrected.interval.high
    assert found.cross_check == pytest.approx((0.495 + 0.9 - 1) / 0.7)


@pytest.mark.parametrize(
    ("by_item", "alpha", "calibrated"),
    [
        ([[GOOD, "supported_by_reference"]] * 50 + [[BAD, BAD]] * 50, 1.0, False),
        ([[GOOD, GOOD]] * 40 + [[GOOD, BAD]] * 20 + [[BAD, BAD]] * 40, 0.602, True),
        ([[GOOD] * 3] * 40 + [[GOOD, BAD, BAD]] * 24 + [[BAD] * 3] * 36, 0.681, True),
        ([[GOOD] * 3] * 32 + [[GOOD, BAD, BAD]] * 36 + [[BAD] * 3] * 32, 0.515, False),
    ],
    ids=["people agree more", "people agree less", "three agree enough", "three differ"],
)
def test_a_judge_must_agree_with_people_as_well_as_they_do_with_each_other(
    by_item: list[list[str]], alpha: float, calibrated: bool
) -> None:
    def judged(at: int, words: list[str]) -> str:
        """The judge errs on every eighth item."""
        settled = BAD if words.count(BAD) * 2 >= len(words) else GOOD
        return settled if at % 8 else BAD if settled == GOOD else GOOD

    items = [LabelledItem(words, judged(at, words)) for at, words in enumerate(by_item)]
    found = calibrate(SUPPORT, items)
    assert found.n == 100
    assert found.kappa == pytest.approx(0.73, abs=0.03)
    assert found.people is not None
    assert found.people.alpha == pytest.approx(alpha, abs=5e-4)
    assert found.is_calibrated is calibrated, found.shortfall


def test_people_who_abstain_or_are_alone_do_not_count_as_agreement() -> None:
    items = [LabelledItem([GOOD], GOOD), LabelledItem([GOOD, "cannot_tell"], GOOD)]
    assert calibrate(SUPPORT, items).people is None


def test_people_a_step_apart_differ_less_than_two_steps_apart() -> None:
    def alpha(other: str) -> float:
        by_item = [["same", "same"]] * 4 + [["different", "different"]] * 4 + [["same", other]]
        people = calibrate(INTENT, [LabelledItem(words, None) for words in by_item]).people
        assert people is not None
        assert people.alpha is not None
        return people.alpha

    assert alpha("same_domain_incomplete") > alpha("different")


def test_stats_5_people_who_label_one_item_are_one_label() -> None:
    once = calibrate(SUPPORT, MIXED)
    thrice = calibrate(SUPPORT, [LabelledItem([*i.people] * 3, i.judge) for i in MIXED])
    assert (thrice.n, thrice.kappa, thrice.kappa_interval) == (100, once.kappa, once.kappa_interval)
    assert LabelledItem([GOOD, BAD, GOOD], None).word(SUPPORT) == GOOD
    assert LabelledItem([GOOD, BAD], None).word(SUPPORT) == BAD  # the stricter one


@pytest.mark.parametrize(
    ("counted", "shortfall"),
    [
        (((99, GOOD, GOOD), (1, BAD, BAD)), "not enough labels of failures: 1 of 30"),
        (((29, GOOD, GOOD), (90, BAD, BAD)), "not enough labels of passes: 29 of 30"),
        (((40, GOOD, GOOD), (40, BAD, BAD)), "not enough labels: 80 of 100"),
        (((60, GOOD, GOOD), (40, BAD, GOOD)), "kappa is 0.00, and 0.70 is needed"),
        (((60, GOOD, None), (40, BAD, None)), "kappa is undefined: the judge decided too few"),
        (((60, GOOD, GOOD), (40, BAD, BAD)), None),
    ],
)
def test_stats_5_a_calibration_rests_on_enough_failures(
    counted: tuple[tuple[int, str, str | None], ...], shortfall: str | None
) -> None:
    found = calibrate(SUPPORT, pairs(*counted)).shortfall
    assert found == shortfall or (shortfall is not None and str(found).startswith(shortfall))


def test_stats_5_labels_of_few_calls_show_little() -> None:
    """A hundred labels of five calls: kappa is 0.8, and may be far below 0.4."""
    calls = [[(GOOD, GOOD)] * 20, [(BAD, BAD)] * 20, [(GOOD, GOOD)] * 20, [(BAD, BAD)] * 20]
    calls.append([(GOOD, BAD)] * 10 + [(BAD, BAD)] * 10)
    items = [
        LabelledItem([human], judge, f"call {at}")
        for at, call in enumerate(calls)
        for human, judge in call
    ]
    found = calibrate(SUPPORT, items)
    assert found.kappa == pytest.approx(0.8)
    assert found.kappa_interval is not None
    assert found.kappa_interval.low < 0.4
    assert str(found.shortfall).startswith("kappa may be as low as")
    assert calibrate(
        SUPPORT, pairs((50, GOOD, GOOD), (40, BAD, BAD), (10, GOOD, BAD))
    ).is_calibrated


def test_stats_5_the_corrected_mean_moves_with_calls_and_stays_in_the_range() -> None:
    apart = [LabelledItem([GOOD], GOOD, f"call {at}") for at in range(40)]
    apart += [LabelledItem([BAD], GOOD, f"call {40 + at}") for at in range(4)]
    together = [LabelledItem(i.people, i.judge, f"call {at // 4}") for at, i in enumerate(apart)]
    found = [calibrate(SUPPORT, items, [GOOD] * 50).corrected for items in (apart, together)]
    assert found[0] is not None and found[1] is not None
    assert found[0].value == found[1].value == pytest.approx(40 / 44)
    widths = [one.interval.high - one.interval.low for one in found if one is not None]
    assert widths[1] > 1.5 * widths[0]
    assert all(0 <= one.interval.low < one.interval.high <= 1 for one in found if one is not None)
    assert not found[0].helps  # the judge always says the same


def test_without_labels_there_are_no_numbers() -> None:
    found = calibrate(SUPPORT, pairs((3, "cannot_tell", GOOD)))
    assert (found.n, found.coverage, found.kappa, found.corrected) == (0, None, None, None)
    assert not found.is_calibrated
