"""Differences of two models: intervals, tests paired by call, rank bands        STATS §2, §3

Scorecards and comparisons take every interval of a difference from here, so they agree on the same
data.

The tests: scores are functions of sums over calls. `first` and `second` have the contributions of
each call to these sums, one column per call. If the models are equal, exchanging them within a call
does not change the distribution of the difference.

Models that are not distinguishable share a rank band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from callscore.stats.claim_limits import FinalValues, difference_limits
from callscore.stats.intervals import LEVEL
from callscore.stats.matrix import CallLines, CallMatrix
from callscore.stats.rates import rule_of_three_interval
from callscore.stats.resampling import (
    RESAMPLES,
    SEED,
    IntervalEstimate,
    ModelValues,
    Replicates,
    Statistic,
    bca_interval,
    exact_lines,
    make_replicates,
    round_to_grid,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats
    from callscore.stats.weighted_scores import ScoreKey


RANGES = {"fraction": (-1.0, 1.0), "percent": (-100.0, 100.0)}
"""By unit, the smallest and the largest possible difference."""
EPSILON = 1e-12
"""Values that differ by less are equal up to rounding."""
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
    jackknife = exact_lines(matrices).leave_one_out(statistic)[1]
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


FLIPS = 10_000
"""Random sign flips of more discordant calls: the smallest p is 1 in 10,001."""
MAX_EXACT = 14
"""Up to this many discordant calls, all 2ⁿ sign flips are evaluated."""
BATCH_CELLS = 4_000_000
"""Signs in memory at a time."""
SINGLE_EPSILON = 1e-6
"""The same, relative, in single precision."""

Key = TypeVar("Key", bound=Hashable)
Score = Callable[["Floats"], Mapping[Key, "Floats"]]
"""Computes scores, NaN if undefined, from sums with one column per weighting of calls."""


def discordant_calls(gaps: Iterable[Floats], calls: int) -> npt.NDArray[np.bool_]:
    """Whether the two models differ, by call, from the lines of second − first"""
    import numpy as np

    found = np.zeros(calls, bool)
    for gap in gaps:  # a line at a time: all of them may be large
        found |= np.abs(gap) > EPSILON
    return found


def sign_flip_p(
    first: Sequence[Floats] | Floats,
    second: Sequence[Floats] | Floats,
    score: Score[Key],
    lines: Mapping[Key, Sequence[int]],
    seed: int,
) -> dict[Key, float | None]:
    """Share of sign flips with |difference| ≥ the observed one        STATS §3

    `lines` has the indices of the sums that a score depends on. All flips are evaluated if at most
    14 calls are discordant in these sums; otherwise p is (1 + hits) / (1 + flips) over 10,000
    random flips. None if the score is undefined.
    """
    import numpy as np

    total, gap = _add_and_subtract(first, second)
    gap_sums = np.array([line.sum() for line in gap])
    observed = {key: abs(float(d[0])) for key, d in _differences(score, total, gap_sums).items()}
    exact: dict[bytes, list[Key]] = {}
    sampled: list[Key] = []
    for key, indices in lines.items():
        is_discordant = discordant_calls((gap[at] for at in indices), gap.calls)
        if is_discordant.sum() <= MAX_EXACT:
            exact.setdefault(is_discordant.tobytes(), []).append(key)
        else:
            sampled.append(key)
    result: dict[Key, float | None] = {}
    for keys in exact.values():
        is_discordant = discordant_calls((gap[at] for at in lines[keys[0]]), gap.calls)
        flipped = np.array([line[is_discordant] for line in gap])
        fixed = gap_sums - flipped.sum(axis=1)
        differences = _differences(
            score, total, fixed[:, None] + flipped @ _all_signs(flipped.shape[1])
        )
        result |= {key: _p_value(differences[key], observed[key], EPSILON, 0) for key in keys}
    result |= _sampled_p(gap, total, score, {key: observed[key] for key in sampled}, seed)
    return {key: result[key] for key in lines}


def _add_and_subtract(
    first: Sequence[Floats] | Floats, second: Sequence[Floats] | Floats
) -> tuple[Floats, CallLines]:
    """Σ (first + second) by line, and second − first, on a grid where sums are exact"""
    import numpy as np

    total, gap = np.zeros(len(first)), CallLines(len(first[0]) if len(first) else 0)
    for at in range(len(first)):  # a line at a time: all of them may be large
        one, other = round_to_grid(first[at][None]), round_to_grid(second[at][None])
        total[at] = one.sum() + other.sum()
        gap.add(other[0] - one[0])
    return total, gap


def _differences(score: Score[Key], total: Floats, gap: Floats) -> dict[Key, Floats]:
    """score(second) − score(first), from the sum of both and their difference"""
    gap = gap.reshape(len(gap), -1)
    second, first = score((total[:, None] + gap) / 2), score((total[:, None] - gap) / 2)
    return {key: second[key] - first[key] for key in second}


def _p_value(differences: Floats, observed: float, margin: float, more: int) -> float | None:
    """(hits + more) / (defined + more)"""
    import numpy as np

    if np.isnan(observed):
        return None
    defined = np.abs(differences[~np.isnan(differences)])
    return float((np.count_nonzero(defined >= observed - margin) + more) / (len(defined) + more))


def _all_signs(calls: int) -> Floats:
    """All combinations of ±1: calls × 2^calls"""
    import numpy as np

    bits = (np.arange(2**calls) >> np.arange(calls)[:, None]) & 1
    return 1.0 - 2.0 * bits.astype(np.float64)


def _sampled_p(
    gap: CallLines, total: Floats, score: Score[Key], observed: Mapping[Key, float], seed: int
) -> dict[Key, float | None]:
    import numpy as np

    if not observed:
        return {}
    random = np.random.default_rng(seed)
    lines = np.flatnonzero([bool((np.abs(line) > EPSILON).any()) for line in gap])
    is_discordant = discordant_calls(gap, gap.calls)
    flipped = np.array([gap[int(at)][is_discordant] for at in lines], np.float32)
    differences: dict[Key, list[Floats]] = {key: [] for key in observed}
    step = max(1, BATCH_CELLS // flipped.shape[1])
    for begin in range(0, FLIPS, step):
        bits = _random_bits(random, flipped.shape[1], min(step, FLIPS - begin))
        sums = np.zeros((len(gap), bits.shape[1]))
        sums[lines] = 2.0 * (flipped @ bits) - flipped.sum(axis=1, dtype=np.float64)[:, None]
        result = _differences(score, total, sums)
        for key in observed:
            differences[key].append(result[key])
    return {
        key: _p_value(np.concatenate(differences[key]), difference, SINGLE_EPSILON * difference, 1)
        for key, difference in observed.items()
    }


def _random_bits(random: np.random.Generator, lines: int, columns: int) -> npt.NDArray[np.float32]:
    """Random zeros and ones; the sign is 2 · bit − 1"""
    import numpy as np

    width = -(-columns // 8)
    raw = np.frombuffer(random.bytes(lines * width), np.uint8).reshape(lines, width)
    return np.unpackbits(raw, axis=1, count=columns).astype(np.float32)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """min(1, 2 · P(X ≤ min(b, c))), X ~ Binomial(b + c, 1/2)        McNemar 1947, exact; STATS §3

    b: calls that only the first model got right; c: only the second.
    """
    n = only_first + only_second
    if not n:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**n))


def holm_adjust(values: Sequence[float | None]) -> list[float | None]:
    """max over i ≤ j of min(1, (m − i + 1) · p₍ᵢ₎)        Holm 1979; STATS §3

    Missing p values are not counted and stay None.
    """
    defined = sorted((p, at) for at, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for place, (p, at) in enumerate(defined):
        highest = max(highest, min(1.0, (len(defined) - place) * p))
        adjusted[at] = highest
    return adjusted


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
) -> list[bool]:
    """|difference| > q · se, q the quantile of max |t*| over all pairs: studentised max-t  STATS §3

    t* = (difference* − difference) / se*, with the standard error of the same resample: few or
    skewed calls do not seem more certain than they are. If almost all calls differ alike there is
    no spread to measure by: a tie, unless the claim limits of the two `finals` exclude 0.
    """
    import numpy as np

    alpha = (1 - LEVEL) / max(1, len(differences))
    has_spread = [_has_spread(pair, alpha) for pair in differences]
    spread = [pair for pair, has in zip(differences, has_spread, strict=True) if has]
    largest = np.max([_studentised(pair) for pair in spread], axis=0) if spread else np.zeros(0)
    quantile = _upper_quantile(largest[~np.isnan(largest)], LEVEL)
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
