"""Agreement of a judge with people, and what the people would have scored.

`cannot_tell` is an abstention: it lowers the coverage, is left out of agreement and accuracy, and
counts as nothing in the corrected estimate, as it does in the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from callscore.judges.rubric import CANNOT_TELL, Rubric
from callscore.stats.agreement import (
    Distance,
    agreement_interval,
    cohen_kappa,
    confusion_counts,
    krippendorff_alpha,
    nominal_distance,
    observed_agreement,
    weighted_kappa,
)
from callscore.stats.intervals import Interval
from callscore.stats.prediction_powered import CorrectedMean, prediction_powered_mean, rogan_gladen

KAPPA_NEEDED = 0.70
LABELS_NEEDED = 100
BELOW_PEOPLE = 0.10
"""How far a judge's kappa may be below the agreement of people among themselves."""
ALPHA_NEEDED = 0.67
RATERS_FOR_ALPHA = 3


class LabelledVerdict(msgspec.Struct, frozen=True):
    """The verdicts of a person and of the judge on one item; None if the judge gave none."""

    human: str
    judge: str | None
    call: str = ""
    """The call that the item belongs to; an item without one is resampled by itself."""


class People(msgspec.Struct, frozen=True):
    """How far people agree among themselves, if two or more labelled the same item."""

    alpha: float | None
    items: int
    raters: int
    """The most people that labelled one item."""
    alpha_interval: Interval | None = None
    """95 %, over calls."""

    def allow(self, kappa: float) -> bool:
        """Whether a judge with this kappa is as reliable as these people."""
        if self.alpha is None:
            return True
        if self.raters >= RATERS_FOR_ALPHA and self.alpha < ALPHA_NEEDED:
            return False
        return kappa >= self.alpha - BELOW_PEOPLE


class Calibration(msgspec.Struct, frozen=True):
    """A judge's agreement with people on one rubric."""

    rubric: str
    n: int
    coverage: float | None
    """Items that both decided / items that the human decided."""
    confusion: Mapping[tuple[str, str], int]
    """By (human, judge)."""
    accuracy: float | None
    sensitivity: float | None
    """Of what the human passed, the share that the judge passed."""
    specificity: float | None
    """Of what the human failed, the share that the judge failed."""
    kappa: float | None
    kappa_interval: Interval | None
    weighted: bool
    judge_mean: float | None
    corrected: CorrectedMean | None
    cross_check: float | None
    """The same estimate by Rogan and Gladen, if the verdicts only pass or fail."""
    people: People | None = None
    """None if no item has two labels."""

    @property
    def is_calibrated(self) -> bool:
        """Whether the judge is shown to be reliable on this rubric."""
        if self.n < LABELS_NEEDED or self.kappa is None or self.kappa < KAPPA_NEEDED:
            return False
        return self.people is None or self.people.allow(self.kappa)


def calibrate(
    rubric: Rubric,
    pairs: Sequence[LabelledVerdict],
    judge_alone: Sequence[str] = (),
    *,
    by_item: Sequence[Sequence[str]] = (),
    calls: Sequence[str] = (),
    seed: int = 0,
) -> Calibration:
    """Agreement on the labelled pairs, and the corrected mean with the judge's other verdicts.

    `by_item` holds the verdicts of all people on one item, for their own agreement, and `calls`
    the call of each of these items. Intervals are over calls (STATS §5).
    """
    labelled = [pair for pair in pairs if pair.human != CANNOT_TELL]
    compared = [pair for pair in labelled if pair.judge not in (None, CANNOT_TELL)]
    decided = [(pair.human, pair.judge or "") for pair in compared]
    alike = [(rubric.counts_as(human), rubric.counts_as(judge)) for human, judge in decided]
    kappa = _kappa_of(rubric)
    sensitivity = _share(rubric, decided, passing=True)
    specificity = _share(rubric, decided, passing=False)
    worth = [rubric.worth(pair.judge or CANNOT_TELL) for pair in labelled]
    alone = [rubric.worth(word) for word in judge_alone]
    everything = [*worth, *alone]
    judge_mean = math.fsum(everything) / len(everything) if everything else None
    cross_check = None
    if judge_mean is not None and not rubric.ordinal and sensitivity and specificity:
        cross_check = rogan_gladen(judge_mean, sensitivity, specificity)
    return Calibration(
        rubric.name,
        len(labelled),
        len(decided) / len(labelled) if labelled else None,
        confusion_counts([(pair.human, pair.judge or "none") for pair in labelled]),
        observed_agreement(alike),
        sensitivity,
        specificity,
        kappa(alike),
        agreement_interval(kappa, alike, _calls([pair.call for pair in compared]), seed),
        rubric.ordinal,
        judge_mean,
        prediction_powered_mean([rubric.worth(pair.human) for pair in labelled], worth, alone),
        cross_check,
        _people(rubric, by_item, _calls(calls or [""] * len(by_item)), seed),
    )


def _calls(named: Sequence[str]) -> list[str]:
    """The call of each item; one without is its own."""
    return [call or f"item {place}" for place, call in enumerate(named)]


def _people(
    rubric: Rubric, by_item: Sequence[Sequence[str]], calls: Sequence[str], seed: int
) -> People | None:
    decided = [[rubric.counts_as(w) for w in words if w != CANNOT_TELL] for words in by_item]
    shared = [(words, call) for words, call in zip(decided, calls, strict=True) if len(words) > 1]
    if not shared:
        return None
    distance = _distance_of(rubric)

    def alpha(units: Sequence[Sequence[str]]) -> float | None:
        return krippendorff_alpha(units, distance)

    units = [words for words, _ in shared]
    interval = agreement_interval(alpha, units, [call for _, call in shared], seed)
    return People(alpha(units), len(units), max(map(len, units)), interval)


def _distance_of(rubric: Rubric) -> Distance:
    """Squared if the verdicts are steps of a scale, as in the weighted kappa."""
    if not rubric.ordinal:
        return nominal_distance
    return lambda a, b: (rubric.worth(a) - rubric.worth(b)) ** 2


def _kappa_of(rubric: Rubric) -> Callable[[Sequence[tuple[str, str]]], float | None]:
    """Weighted if the verdicts are steps of a scale."""
    if not rubric.ordinal:
        return cohen_kappa
    scale = [word for word in rubric.words if word != CANNOT_TELL]
    return lambda pairs: weighted_kappa(pairs, scale)


def _share(rubric: Rubric, decided: Sequence[tuple[str, str]], *, passing: bool) -> float | None:
    """The share of what the human passed (or failed) on which the judge agrees."""
    asked = [judge for human, judge in decided if (rubric.worth(human) == 1) is passing]
    if not asked:
        return None
    return sum((rubric.worth(judge) == 1) is passing for judge in asked) / len(asked)
