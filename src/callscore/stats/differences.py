"""Differences of two models: how they vary over resamples, and their intervals        STATS §2, §3

Scorecards and comparisons take every interval of a difference from here, so they agree on the same
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.bca import IntervalEstimate, bca_interval
from callscore.stats.matrix import CallMatrix
from callscore.stats.rates import rule_of_three_interval
from callscore.stats.resampling import (
    RESAMPLES,
    SEED,
    ModelValues,
    Replicates,
    Statistic,
    leave_one_out,
    make_replicates,
)

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats
    from callscore.stats.weighted_scores import ScoreKey

RANGES = {"fraction": (-1.0, 1.0), "percent": (-100.0, 100.0)}
"""By unit, the smallest and the largest possible difference."""
EPSILON = 1e-12
DIGITS = 10
"""Differences that agree in this many digits are the same."""


class PairOfValues(NamedTuple):
    """One value of two models, given by their positions."""

    key: ScoreKey
    first: int
    second: int


class ResampledDifference(NamedTuple):
    """Second minus first: its replicates, and its standard error in every resample."""

    replicates: Replicates
    errors: Floats
    error: float
    """The standard error, by the jackknife."""
    exceptions: int
    """Calls, or groups of calls, that differ by another amount than most do."""


class ResampledModels(NamedTuple):
    """The values of all models, and the differences of some pairs, by the same resamples."""

    models: Sequence[Mapping[ScoreKey, Replicates]]
    differences: Sequence[ResampledDifference]


def resample_models(
    matrices: Sequence[CallMatrix],
    statistic: Statistic,
    pairs: Sequence[PairOfValues],
    resamples: int = RESAMPLES,
) -> ResampledModels:
    """Resample all models, and the standard error of the difference of each pair        STATS §3

    The error in a resample is that of the influences of its calls: (units − 1) · (θ − θ without).
    """
    import numpy as np

    if not pairs:
        return ResampledModels(make_replicates(matrices, statistic, SEED, resamples), [])
    jackknife = leave_one_out(matrices, statistic)[1]
    influences = np.array([_influences(jackknife, pair) for pair in pairs])
    spread = CallMatrix(matrices[0].units, {}, np.concatenate([influences, influences**2]))

    def with_errors(sums: Sequence[Floats]) -> Sequence[ModelValues]:
        means = sums[-1] / spread.sums.shape[1]
        first, second = means[: len(pairs)], means[len(pairs) :]
        errors = np.sqrt(np.maximum(0.0, second - first**2) / max(1, spread.sums.shape[1] - 1))
        return [*statistic(sums[:-1]), {(str(at),): of_pair for at, of_pair in enumerate(errors)}]

    *models, errors = make_replicates([*matrices, spread], with_errors, SEED, resamples)
    differences = []
    for at, (pair, line) in enumerate(zip(pairs, influences, strict=True)):
        found = subtract(models[pair.first][pair.key], models[pair.second][pair.key])
        error = errors[str(at),]
        alike = np.unique(np.round(line, DIGITS), return_counts=True)[1].max()
        exceptions = len(line) - int(alike)
        differences.append(ResampledDifference(found, error.resampled, error.estimate, exceptions))
    return ResampledModels(models, differences)


def _influences(jackknife: Sequence[ModelValues], pair: PairOfValues) -> Floats:
    """(units − 1) · (mean − θ without the unit), 0 if a value is undefined"""
    import numpy as np

    without = jackknife[pair.second][pair.key] - jackknife[pair.first][pair.key]
    if not np.isfinite(without).all():
        return np.zeros_like(without)
    influences = (len(without) - 1) * (without.mean() - without)
    return np.where(np.abs(influences) > EPSILON, influences, 0.0)


def subtract(first: Replicates, second: Replicates) -> Replicates:
    """The replicates of second − first"""
    return Replicates(
        second.estimate - first.estimate,
        second.resampled - first.resampled,
        second.jackknife - first.jackknife,
    )


def difference_interval(
    difference: Replicates, calls: int, unit: str = "fraction"
) -> IntervalEstimate | None:
    """BCa over calls, widened for few; if all calls differ alike, the rule of three    STATS §2"""
    bounds = bca_interval(difference, calls) if calls > 1 else None
    if bounds is None or bounds.method != "all_equal":
        return bounds
    value_range = RANGES.get(unit)
    return None if value_range is None else rule_of_three_interval(bounds.low, calls, value_range)
