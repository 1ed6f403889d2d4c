"""Rank bands: models that are not distinguishable share a band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.claims import FinalValues, difference_limits
from callscore.stats.differences import EPSILON, ResampledDifference
from callscore.stats.intervals import LEVEL

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats


class RankRange(NamedTuple):
    """The best and the worst rank of a model that the data allow."""

    best: int
    worst: int


class Contrast(NamedTuple):
    """Two models, given by their positions, and what separates them."""

    first: int
    second: int
    difference: float
    """Second minus first."""
    significant: bool
    """With the others of a card: at the level, none of all pairs is separated wrongly."""


def are_significant(
    differences: Sequence[ResampledDifference],
    finals: Sequence[tuple[FinalValues, FinalValues] | None],
    level: float = LEVEL,
) -> list[bool]:
    """|difference| > q · se, q the quantile of max |t*| over all pairs: studentised max-t  STATS §3

    t* = (difference* − difference) / se*, with the standard error of the same resample: few or
    skewed calls do not seem more certain than they are. If almost all calls differ alike there is
    no spread to measure by: a tie, unless the claim limits of the two `finals` exclude 0.
    """
    import numpy as np

    alpha = (1 - level) / max(1, len(differences))
    has_spread = [_has_spread(pair, alpha) for pair in differences]
    spread = [pair for pair, has in zip(differences, has_spread, strict=True) if has]
    largest = np.max([_studentised(pair) for pair in spread], axis=0) if spread else np.zeros(0)
    quantile = _upper_quantile(largest[~np.isnan(largest)], level)
    return [
        abs(pair.replicates.estimate) > quantile * pair.error
        if has
        else both is not None and _is_claimed(*both, alpha)
        for pair, has, both in zip(differences, has_spread, finals, strict=True)
    ]


def _has_spread(pair: ResampledDifference, alpha: float) -> bool:
    """Whether hardly any resample leaves out all calls that differ by another amount"""
    return pair.error > EPSILON and math.exp(-pair.exceptions) < alpha / 10


def _is_claimed(first: FinalValues, second: FinalValues, alpha: float) -> bool:
    """Whether the claim limits of a difference, two-sided at 1 − α, exclude 0"""
    limits = difference_limits(first, second, alpha / 2)
    return limits is not None and (limits.low > 0 or limits.high < 0)


def _studentised(pair: ResampledDifference) -> Floats:
    """|difference* − difference| / se*; infinite if the calls of a resample differ alike"""
    import numpy as np

    distance = np.abs(pair.replicates.resampled - pair.replicates.estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = distance / np.where(pair.errors > EPSILON, pair.errors, 0.0)
    found: Floats = np.where(distance <= EPSILON, 0.0, ratio)
    return found


def _upper_quantile(values: Floats, level: float) -> float:
    """The ⌈level · (n + 1)⌉-th smallest value; infinite if there are too few"""
    import numpy as np

    place = math.ceil(level * (len(values) + 1)) - 1
    return float(np.partition(values, place)[place]) if place < len(values) else math.inf


def rank_bands(models: int, pairs: Sequence[Contrast]) -> list[RankRange]:
    """1 + models significantly better … k − models significantly worse        STATS §3"""
    better, worse = [0] * models, [0] * models
    for pair in pairs:
        if pair.significant:
            upper, lower = (
                (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
            )
            better[lower] += 1
            worse[upper] += 1
    return [RankRange(1 + better[at], models - worse[at]) for at in range(models)]
