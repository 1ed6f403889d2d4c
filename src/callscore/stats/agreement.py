"""Agreement of two or more raters beyond chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from callscore.stats.intervals import Interval, bootstrap

Pairs = Sequence[tuple[str, str]]
Distance = Callable[[str, str], float]
Rating = TypeVar("Rating")


def agreement_interval(
    statistic: Callable[[Sequence[Rating]], float | None],
    ratings: Sequence[Rating],
    calls: Sequence[str],
    seed: int,
) -> Interval | None:
    """Percentile interval of an agreement over resampled calls        STATS §5

    `calls` has the call of each rating: the ratings of a call are resampled together. None if there
    are fewer than two calls.
    """
    by_call: dict[str, list[Rating]] = {}
    for rating, call in zip(ratings, calls, strict=True):
        by_call.setdefault(call, []).append(rating)

    def resample_statistic(resample: Sequence[Sequence[Rating]]) -> float | None:
        return statistic([rating for ratings in resample for rating in ratings])

    return bootstrap(resample_statistic, list(by_call.values()), seed)


def confusion_counts(pairs: Pairs) -> Mapping[tuple[str, str], int]:
    """The confusion matrix: number of items by (first rater, second rater)"""
    return dict(sorted(Counter(pairs).items()))


def observed_agreement(pairs: Pairs) -> float | None:
    """agreeing pairs / pairs; None if there is none"""
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def nominal_distance(one: str, other: str) -> float:
    """1 for different labels, 0 for equal ones"""
    return float(one != other)


def cohen_kappa(pairs: Pairs) -> float | None:
    """1 − Σ d·observed / Σ d·expected, d = 1 for different labels        Cohen 1960

    None if chance explains everything: both raters use a single label.
    """
    return _kappa(pairs, nominal_distance)


def weighted_kappa(pairs: Pairs, scale: Sequence[str]) -> float | None:
    """1 − Σ d·observed / Σ d·expected, d = (i − j)² on the scale        Cohen 1968"""
    position = {label: at for at, label in enumerate(scale)}
    return _kappa(pairs, lambda a, b: float((position[a] - position[b]) ** 2))


def _kappa(pairs: Pairs, distance: Distance) -> float | None:
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = math.fsum(distance(a, b) * count for (a, b), count in Counter(pairs).items())
    expected = math.fsum(distance(a, b) * first[a] * second[b] for a in first for b in second)
    return 1 - observed * n / expected if expected else None


def krippendorff_alpha(units: Sequence[Sequence[str]], distance: Distance) -> float | None:
    """1 − D_observed / D_expected over all pairs within units        Krippendorff 2011

    A unit has the labels of its raters; units with fewer than two labels are ignored. None if all
    labels are equal.
    """
    shared = [unit for unit in units if len(unit) > 1]
    totals = Counter(label for unit in shared for label in unit)
    n = sum(totals.values())
    observed = math.fsum(
        distance(a, b) * count_a * count_b / (len(unit) - 1)
        for unit in shared
        for counts in [Counter(unit)]
        for a, count_a in counts.items()
        for b, count_b in counts.items()
    )
    expected = math.fsum(distance(a, b) * totals[a] * totals[b] for a in totals for b in totals)
    return 1 - observed * (n - 1) / expected if expected else None
