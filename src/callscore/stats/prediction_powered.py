"""Prediction-powered inference: the human mean, estimated from few labels and many verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from callscore.stats.intervals import LEVEL, Interval

MIN_LABELS = 2


class CorrectedMean(NamedTuple):
    """An estimate of the human mean, its interval, and the weight of the judge (λ)."""

    value: float
    interval: Interval
    trust: float


def prediction_powered_mean(
    human: Sequence[float],
    judge: Sequence[float],
    judge_alone: Sequence[float],
    level: float = LEVEL,
) -> CorrectedMean | None:
    """λ·mean(judge, N) + mean(human − λ·judge, n)        PPI++, Angelopoulos et al. 2023

    `human` and `judge` have the n labelled items, `judge_alone` the N others. λ minimises the
    variance: a poor judge widens the interval and does not bias the estimate.
    """
    n, alone = len(human), len(judge_alone)
    if n != len(judge):
        raise ValueError(f"{n} human labels for {len(judge)} verdicts of the judge")
    if n < MIN_LABELS:
        return None
    from scipy.stats import norm

    trust = _trust(human, judge, judge_alone)
    rest = [y - trust * f for y, f in zip(human, judge, strict=True)]
    value = (trust * _mean(judge_alone) if alone else 0.0) + _mean(rest)
    variance = _variance(rest) / n
    if alone > 1:
        variance += trust**2 * _variance(judge_alone) / alone
    half = float(norm.ppf((1 + level) / 2)) * variance**0.5
    return CorrectedMean(value, Interval(value - half, value + half), trust)


def rogan_gladen(positive_share: float, sensitivity: float, specificity: float) -> float | None:
    """(p + specificity − 1) / (sensitivity + specificity − 1), within 0 and 1

    Rogan & Gladen 1978. None if the judge is not better than chance.
    """
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return None
    return min(1.0, max(0.0, (positive_share + specificity - 1) / gain))


def _trust(human: Sequence[float], judge: Sequence[float], alone: Sequence[float]) -> float:
    """λ = cov(human, judge) / ((1 + n/N)·var(judge)), within 0 and 1"""
    spread = _variance([*judge, *alone])
    if len(alone) < MIN_LABELS or not spread:
        return 0.0
    mean_human, mean_judge = _mean(human), _mean(judge)
    shared = math.fsum(
        (y - mean_human) * (f - mean_judge) for y, f in zip(human, judge, strict=True)
    ) / (len(human) - 1)
    return min(1.0, max(0.0, shared / ((1 + len(human) / len(alone)) * spread)))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
