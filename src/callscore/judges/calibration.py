"""Agreement of a judge with people, and what the people would have scored.

`cannot_tell` is an abstention: it lowers the coverage, is left out of agreement and accuracy, and
counts as nothing in the corrected estimate, as it does in the scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.judges.rubric import CANNOT_TELL, Rubric, settle
from callscore.stats.agreement import (
    Distance,
    Pairs,
    alpha_interval,
    cohen_kappa,
    confusion_counts,
    kappa_interval,
    krippendorff_alpha,
    nominal_distance,
    observed_agreement,
    squared_distance,
    weighted_kappa,
)
from callscore.stats.intervals import Interval
from callscore.stats.prediction_powered import CorrectedMean, prediction_powered_mean, rogan_gladen

KAPPA_NEEDED = 0.70
"""Of κ, quadratically weighted if the words have an order (STATS §5)."""
KAPPA_LIMIT_NEEDED = 0.40
"""The least lower limit of kappa (STATS §5)."""
LABELS_NEEDED = 100
"""Labelled items per metric (STATS §5)."""
RARER_NEEDED = 30
"""Labelled items of the rarer class, passes or failures (STATS §5)."""
BELOW_PEOPLE = 0.10
"""How far a judge's kappa may be below the agreement of people among themselves."""
SEED = 0
"""Fixed, so that the same labels give the same limits."""
RATERS_FOR_ALPHA = 3
ALPHA_NEEDED = 0.67
"""Of Krippendorff's α, as κ compares two raters only (STATS §5)."""


class LabelledItem(msgspec.Struct, frozen=True):
    """An item with the verdicts of people and of the judge; None if the judge gave none."""

    people: Sequence[str]
    """One word per person."""
    judge: str | None
    call: str = ""
    """The call that the item belongs to; an item without one is resampled by itself."""

    def word(self, rubric: Rubric) -> str:
        """The word of most people, else the strictest; `cannot_tell` if all abstained."""
        words = [word for word in self.people if word != CANNOT_TELL]
        return words[settle(rubric, words).place] if words else CANNOT_TELL


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
    """Labelled items; several people who label an item count once."""
    passes: int
    """Items that people passed; the others failed."""
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
        return self.shortfall is None

    @property
    def shortfall(self) -> str | None:
        """What is missing for a calibration, in words; None if nothing is        STATS §5"""
        failures = self.n - self.passes
        rarer, name = min((failures, "failures"), (self.passes, "passes"))
        if rarer < RARER_NEEDED:
            return f"not enough labels of {name}: {rarer} of {RARER_NEEDED}"
        if self.n < LABELS_NEEDED:
            return f"not enough labels: {self.n} of {LABELS_NEEDED}"
        if self.kappa is None or self.kappa_interval is None:
            return "kappa is undefined: the judge decided too few of the labelled items"
        if self.kappa < KAPPA_NEEDED:
            return f"kappa is {self.kappa:.2f}, and {KAPPA_NEEDED:.2f} is needed"
        if self.kappa_interval.low < KAPPA_LIMIT_NEEDED:
            return (
                f"kappa may be as low as {self.kappa_interval.low:.2f}, and at least "
                f"{KAPPA_LIMIT_NEEDED:.2f} is needed"
            )
        if self.people is not None and not self.people.allow(self.kappa):
            return "the judge agrees less with people than they do with each other"
        return None


def calibrate(
    rubric: Rubric,
    items: Sequence[LabelledItem],
    judge_alone: Sequence[str] = (),
    *,
    calls_alone: Sequence[str] = (),
) -> Calibration:
    """Agreement on the labelled items, and the corrected mean with the judge's other verdicts.

    `calls_alone` has the call of each of the other verdicts. Intervals resample calls with all
    their items (STATS §5).
    """
    words = [(item, item.word(rubric)) for item in items]
    labelled = [(item, word) for item, word in words if word != CANNOT_TELL]
    both = [(item, word) for item, word in labelled if item.judge not in (None, CANNOT_TELL)]
    decided = [(word, item.judge or "") for item, word in both]
    alike = [(rubric.counts_as(human), rubric.counts_as(judge)) for human, judge in decided]
    sensitivity = _share(rubric, decided, passing=True)
    specificity = _share(rubric, decided, passing=False)
    human = [rubric.worth(word) for _, word in labelled]
    worth = [rubric.worth(item.judge or CANNOT_TELL) for item, _ in labelled]
    alone = [rubric.worth(word) for word in judge_alone]
    everything = [*worth, *alone]
    judge_mean = math.fsum(everything) / len(everything) if everything else None
    cross_check = None
    if judge_mean is not None and not rubric.ordinal and sensitivity and specificity:
        cross_check = rogan_gladen(judge_mean, sensitivity, specificity)
    return Calibration(
        rubric.name,
        len(labelled),
        human.count(1.0),
        len(decided) / len(labelled) if labelled else None,
        confusion_counts([(word, item.judge or "none") for item, word in labelled]),
        observed_agreement(alike),
        sensitivity,
        specificity,
        _kappa(rubric, alike),
        kappa_interval(alike, _calls([item.call for item, _ in both]), _distance_of(rubric), SEED),
        rubric.ordinal,
        judge_mean,
        prediction_powered_mean(
            human,
            worth,
            alone,
            (
                _calls([item.call for item, _ in labelled]),
                calls_alone or [f"other {place}" for place in range(len(alone))],
            ),
            SEED,
        ),
        cross_check,
        _people(rubric, items),
    )


def _calls(named: Sequence[str]) -> list[str]:
    """The call of each item; one without is its own."""
    return [call or f"item {place}" for place, call in enumerate(named)]


def _people(rubric: Rubric, items: Sequence[LabelledItem]) -> People | None:
    calls = _calls([item.call for item in items])
    decided = [[rubric.counts_as(w) for w in item.people if w != CANNOT_TELL] for item in items]
    shared = [(words, call) for words, call in zip(decided, calls, strict=True) if len(words) > 1]
    if not shared:
        return None
    distance, units = _distance_of(rubric), [words for words, _ in shared]
    interval = alpha_interval(units, [call for _, call in shared], distance, SEED)
    alpha = krippendorff_alpha(units, distance)
    return People(alpha, len(units), max(map(len, units)), interval)


def _distance_of(rubric: Rubric) -> Distance:
    """Squared if the verdicts are steps of a scale."""
    return squared_distance(_scale(rubric)) if rubric.ordinal else nominal_distance


def _kappa(rubric: Rubric, pairs: Pairs) -> float | None:
    """Weighted if the verdicts are steps of a scale."""
    return weighted_kappa(pairs, _scale(rubric)) if rubric.ordinal else cohen_kappa(pairs)


def _scale(rubric: Rubric) -> list[str]:
    return [word for word in rubric.words if word != CANNOT_TELL]


def _share(rubric: Rubric, decided: Sequence[tuple[str, str]], *, passing: bool) -> float | None:
    """The share of what the human passed (or failed) on which the judge agrees."""
    asked = [judge for human, judge in decided if (rubric.worth(human) == 1) is passing]
    if not asked:
        return None
    return sum((rubric.worth(judge) == 1) is passing for judge in asked) / len(asked)
