"""Prediction-powered inference: the human mean, estimated from few labels and many verdicts.

PPI++, Angelopoulos et al. 2023: λ·mean(judge, N) + mean(human − λ·judge, n), with n labelled items
and N others. It is unbiased whatever the errors of the judge; λ minimises its variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.contributions import call_key
from callscore.stats.intervals import Interval
from callscore.stats.matrix import MAX_UNITS, CallMatrix, ResamplingUnits
from callscore.stats.resampling import RESAMPLES, Replicates, make_replicates

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

MIN_LABELS = 2
"""One label has no variance."""
SHARE = (0.0, 1.0)


class CorrectedMean(NamedTuple):
    """An estimate of the human mean, its interval, and the weight of the judge (λ)."""

    value: float
    interval: Interval
    trust: float
    correlation: float | None
    """Between people and judge on the labelled items; None if one of them does not vary."""
    labels: int

    @property
    def helps(self) -> bool:
        """Whether the verdicts of the judge make the estimate more certain than labels alone."""
        return judge_helps(self.correlation, self.labels)


class LabelSums(NamedTuple):
    """What labelled items and others add up to, for many weightings of calls at once."""

    labels: Floats
    human: Floats
    judge: Floats
    products: Floats
    """Σ human × judge over the labelled items."""
    squares: Floats
    """Σ judge² over the labelled items."""
    others: Floats
    judge_alone: Floats


def judge_helps(correlation: float | None, labels: int) -> bool:
    """correlation > 1 / √(n − 2)        arXiv 2505.20178"""
    return correlation is not None and labels > 2 and correlation > 1 / math.sqrt(labels - 2)


def judge_weights(sums: LabelSums) -> Floats:
    """λ = cov(human, judge) / ((1 + n/N)·var(judge)), within 0 and 1; 0 without other items

    Both are those of the labelled items: a judge that agrees with every label is then trusted
    completely, and the estimate is its own mean. So is one that says the same about all of them.
    """
    import numpy as np

    n, alone = sums.labels, sums.others
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = sums.products - sums.human * sums.judge / n
        spread = sums.squares - sums.judge * sums.judge / n
        slope = np.where(spread > 1e-9, shared / spread, 1.0)
        weights = slope / (1 + n / alone)
    usable = np.isfinite(weights) & (alone > 0)
    return np.where(usable, np.clip(weights, 0.0, 1.0), 0.0)


def corrected_means(sums: LabelSums, weights: Floats) -> Floats:
    """λ·mean(judge, N) + mean(human − λ·judge, n); NaN without labels"""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(sums.others > 0, sums.judge_alone / sums.others, 0.0)
        return np.asarray(weights * alone + (sums.human - weights * sums.judge) / sums.labels)


def prediction_powered_mean(
    human: Sequence[float],
    judge: Sequence[float],
    judge_alone: Sequence[float],
    calls: tuple[Sequence[str], Sequence[str]] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> CorrectedMean | None:
    """The corrected mean with its 95 % interval over calls, within 0 and 1        STATS §5

    `human` and `judge` have the n labelled items, `judge_alone` the N others; `calls` has
    the call of each labelled item and of each other one, by default one of its own. Calls are
    resampled with all their items, and λ is estimated again in each resample.
    """
    n = len(human)
    if n != len(judge):
        raise ValueError(f"{n} human labels for {len(judge)} verdicts of the judge")
    if n < MIN_LABELS:
        return None
    labelled_calls, other_calls = calls or (
        [f"labelled {at}" for at in range(n)],
        [f"other {at}" for at in range(len(judge_alone))],
    )
    sums = _sums_by_call(human, judge, judge_alone, labelled_calls, other_calls)
    (found,) = make_replicates([sums], _statistic, seed, resamples)
    distinct = len(dict.fromkeys(labelled_calls))
    agrees = all(y == f for y, f in zip(human, judge, strict=True))
    value = found["mean",].estimate
    return CorrectedMean(
        _clip(value),
        Interval(*map(_clip, _limits(found["mean",], distinct, agrees=agrees))),
        found["trust",].estimate,
        correlation(human, judge),
        n,
    )


def _limits(replicates: Replicates, calls: int, *, agrees: bool) -> Interval:
    """BCa over calls; the rule of three if nothing varies, or if no label differs"""
    from callscore.stats.rates import rule_of_three_interval
    from callscore.stats.resampling import bca_interval

    value = replicates.estimate
    limits = bca_interval(replicates, calls)
    if limits is None or limits.method == "all_equal":
        limits = rule_of_three_interval(value, calls, SHARE)
    interval = Interval(limits.low, limits.high)
    return widen_for_agreement(value, interval, calls) if agrees else interval


def _clip(value: float) -> float:
    return min(SHARE[1], max(SHARE[0], value))


def _statistic(found: Sequence[Floats]) -> Sequence[dict[tuple[str, ...], Floats]]:
    sums = LabelSums(*found[0])
    weights = judge_weights(sums)
    return [{("mean",): corrected_means(sums, weights), ("trust",): weights}]


def _sums_by_call(
    human: Sequence[float],
    judge: Sequence[float],
    judge_alone: Sequence[float],
    labelled_calls: Sequence[str],
    other_calls: Sequence[str],
) -> CallMatrix:
    """The sums of every call, in the order of `LabelSums`."""
    import numpy as np

    place = _units_of([*labelled_calls, *other_calls])
    size = max(place.values()) + 1
    lines = np.zeros((len(LabelSums._fields), size))
    for y, f, call in zip(human, judge, labelled_calls, strict=True):
        lines[:5, place[call]] += (1, y, f, y * f, f * f)
    for f, call in zip(judge_alone, other_calls, strict=True):
        lines[5:, place[call]] += (1, f)
    return CallMatrix(ResamplingUnits(np.arange(size, dtype=np.uint64), size), {}, lines)


def _units_of(calls: Sequence[str]) -> dict[str, int]:
    """The resampled unit of each call: itself, or a random group if there are very many."""
    distinct = dict.fromkeys(calls)
    if len(distinct) > MAX_UNITS:
        return {call: call_key(call, call) % MAX_UNITS for call in distinct}
    return {call: at for at, call in enumerate(distinct)}


def widen_for_agreement(
    value: float, interval: Interval, calls: int, width: float = 1.0
) -> Interval:
    """√(distance² + r²) on each side, r = width × Clopper–Pearson(0, n)        STATS §2

    People and judge agree on all n labelled calls: a share of r may still differ unseen, by at most
    the width of the range.
    """
    from callscore.stats.intervals import binomial_interval

    unseen = width * binomial_interval(0, calls)[1]
    return Interval(
        value - math.hypot(value - interval.low, unseen),
        value + math.hypot(interval.high - value, unseen),
    )


def correlation(human: Sequence[float], judge: Sequence[float]) -> float | None:
    """Σ (y − ȳ)(f − f̄) / √(Σ (y − ȳ)² · Σ (f − f̄)²)        Pearson; None if one is constant"""
    middle, of_judge = (math.fsum(values) / len(values) for values in (human, judge))
    shared = math.fsum((y - middle) * (f - of_judge) for y, f in zip(human, judge, strict=True))
    spread = math.fsum((y - middle) ** 2 for y in human)
    spread_of_judge = math.fsum((f - of_judge) ** 2 for f in judge)
    if spread <= 0 or spread_of_judge <= 0:
        return None
    return shared / math.sqrt(spread * spread_of_judge)


def rogan_gladen(positive_share: float, sensitivity: float, specificity: float) -> float | None:
    """(p + specificity − 1) / (sensitivity + specificity − 1), within 0 and 1

    Rogan & Gladen 1978. None if the judge is not better than chance.
    """
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return None
    return min(1.0, max(0.0, (positive_share + specificity - 1) / gain))
