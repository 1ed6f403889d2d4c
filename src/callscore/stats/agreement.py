"""Agreement of two or more raters beyond chance, with intervals over calls        STATS §5"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from callscore.stats.intervals import Interval

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

Pairs = Sequence[tuple[str, str]]
Distance = Callable[[str, str], float]
RANGE = (-1.0, 1.0)
"""The range of κ and α: an interval ends there."""


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
    return _kappa(pairs, squared_distance(scale))


def squared_distance(scale: Sequence[str]) -> Distance:
    """(i − j)² on the scale"""
    position = {label: at for at, label in enumerate(scale)}
    return lambda a, b: float((position[a] - position[b]) ** 2)


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


def kappa_interval(
    pairs: Pairs, calls: Sequence[str], distance: Distance, seed: int
) -> Interval | None:
    """95 % percentiles of κ over resampled calls, widened by one disagreement        STATS §5

    `calls` has the call of each pair: pairs of a call are resampled together. None if there are
    fewer than two calls, or κ is undefined.
    """
    import numpy as np

    labels = sorted({label for pair in pairs for label in pair})
    cells = {(a, b): at for at, (a, b) in enumerate((a, b) for a in labels for b in labels)}
    weight = np.array([[distance(a, b) for b in labels] for a in labels])

    def kappas(sums: Floats) -> Floats:
        tables = sums.reshape(len(labels), len(labels), -1)
        first, second = tables.sum(axis=1), tables.sum(axis=0)
        observed = np.einsum("ab,abr->r", weight, tables)
        expected = np.einsum("ab,ar,br->r", weight, first, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - observed * tables.sum(axis=(0, 1)) / expected)

    sums = np.zeros((len(cells), len(dict.fromkeys(calls))))
    for pair, call in zip(pairs, _places(calls), strict=True):
        sums[cells[pair], call] += 1
    return _interval(sums, kappas, np.eye(len(cells)).T, seed)


def alpha_interval(
    units: Sequence[Sequence[str]], calls: Sequence[str], distance: Distance, seed: int
) -> Interval | None:
    """95 % percentiles of α over resampled calls, widened by one disagreement        STATS §5

    `calls` has the call of each unit. None if there are fewer than two calls, or α is undefined.
    """
    import numpy as np

    labels = sorted({label for unit in units for label in unit})
    weight = np.array([[distance(a, b) for b in labels] for a in labels])

    def line(unit: Sequence[str]) -> Floats:
        """What a unit adds: the distances of its pairs, and its labels."""
        counts = np.array([float(unit.count(label)) for label in labels])
        within = counts @ weight @ counts / (len(unit) - 1)
        return np.concatenate(([within], counts))

    def alphas(sums: Floats) -> Floats:
        expected = np.einsum("ab,ar,br->r", weight, sums[1:], sums[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - sums[0] * (sums[1:].sum(axis=0) - 1) / expected)

    sums = np.zeros((1 + len(labels), len(dict.fromkeys(calls))))
    for unit, call in zip(units, _places(calls), strict=True):
        if len(unit) > 1:
            sums[:, call] += line(unit)
    imagined = [line((a, b)) for a in labels for b in labels]
    return _interval(sums, alphas, np.array(imagined).T, seed)


def _places(calls: Sequence[str]) -> Iterable[int]:
    """The number of the call of each rating."""
    place = {call: at for at, call in enumerate(dict.fromkeys(calls))}
    return (place[call] for call in calls)


def _interval(
    sums: Floats, statistic: Callable[[Floats], Floats], imagined: Floats, seed: int
) -> Interval | None:
    """Percentiles over resampled calls; the lower limit as if one more rating were the worst

    `imagined` has a column per possible rating. Where nothing varies, the upper limit is the value
    with the best of them, so that no interval has zero width.
    """
    import numpy as np

    from callscore.stats.resampling import NORMAL, RESAMPLES, expanded_z, quantile, resample_weights

    calls = sums.shape[1]
    whole = sums.sum(axis=1, keepdims=True)
    if calls < 2 or not np.isfinite(statistic(whole)).all():
        return None
    plain, lowest = [], []
    for weights in resample_weights(calls, seed, RESAMPLES):
        resampled = sums @ weights
        plain.append(statistic(resampled))
        widened = [statistic(resampled + column[:, None]) for column in imagined.T]
        lowest.append(np.fmin.reduce(widened))
    tail = NORMAL.cdf(-expanded_z(calls))
    values, widened_values = (np.concatenate(part) for part in (plain, lowest))
    high = quantile(np.sort(values[np.isfinite(values)]), 1 - tail)
    low = quantile(np.sort(widened_values[np.isfinite(widened_values)]), tail)
    if high <= low:
        with_one_more = [statistic(whole + column[:, None])[0] for column in imagined.T]
        high = max(high, float(np.nanmax(with_one_more)))
    return Interval(max(RANGE[0], low), min(RANGE[1], max(low, high)))
