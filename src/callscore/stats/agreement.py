"""How far two or more raters agree beyond chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from callscore.stats.intervals import Interval, bootstrap

Pairs = Sequence[tuple[str, str]]
Distance = Callable[[str, str], float]
Rated = TypeVar("Rated")


def interval_over_calls(
    statistic: Callable[[Sequence[Rated]], float | None],
    rated: Sequence[Rated],
    calls: Sequence[str],
    seed: int,
) -> Interval | None:
    """Percentiles of an agreement over resampled calls, the items of a call together    STATS §5

    `calls` names the call of each item; None of fewer than two calls.
    """
    by_call: dict[str, list[Rated]] = {}
    for item, call in zip(rated, calls, strict=True):
        by_call.setdefault(call, []).append(item)

    def of_drawn(drawn: Sequence[Sequence[Rated]]) -> float | None:
        return statistic([item for items in drawn for item in items])

    return bootstrap(of_drawn, list(by_call.values()), seed)


def confusion(pairs: Pairs) -> Mapping[tuple[str, str], int]:
    """How often the first rater said one word and the second another, by (first, second)"""
    return dict(sorted(Counter(pairs).items()))


def observed_agreement(pairs: Pairs) -> float | None:
    """agreeing pairs / pairs; None if there is none"""
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def unlike(one: str, other: str) -> float:
    """1 for different words, 0 for the same"""
    return float(one != other)


def cohen_kappa(pairs: Pairs) -> float | None:
    """1 − Σ d·observed / Σ d·expected, d = 1 for different words        Cohen 1960

    None if chance alone explains everything: a single word, used by both throughout.
    """
    return _kappa(pairs, unlike)


def weighted_kappa(pairs: Pairs, scale: Sequence[str]) -> float | None:
    """1 − Σ d·observed / Σ d·expected, d = (i − j)² on the scale        Cohen 1968"""
    place = {word: at for at, word in enumerate(scale)}
    return _kappa(pairs, lambda a, b: float((place[a] - place[b]) ** 2))


def _kappa(pairs: Pairs, distance: Distance) -> float | None:
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = math.fsum(distance(a, b) * count for (a, b), count in Counter(pairs).items())
    expected = math.fsum(distance(a, b) * first[a] * second[b] for a in first for b in second)
    return 1 - observed * n / expected if expected else None


def krippendorff_alpha(units: Sequence[Sequence[str]], distance: Distance) -> float | None:
    """1 − D_observed / D_expected over all pairs within units        Krippendorff 2011

    A unit holds the words that its raters gave, however many; one with fewer than two says
    nothing about agreement. None if no two words differ.
    """
    shared = [unit for unit in units if len(unit) > 1]
    totals = Counter(word for unit in shared for word in unit)
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
