"""Claim limits: one-sided limits that reckon with rare failures that no call has shown    STATS §2

Everything that is called sure, demonstrated or not worse rests on them. The calls get random
weights, independent Exponential(1) draws, together with one imaginary call at the worst possible
value; a limit is a quantile of the value under 10,000 such weightings (Gaffke 2005). For calls that
are right or wrong it is the one-sided limit of Clopper and Pearson, up to the draws.

The draws of a call depend on the seed and the key of the call only: one more call changes no draw
of the others, and all models have the same draws. They are computed by integer arithmetic, as
integers, so limits are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from callscore.stats.intervals import LEVEL, Interval
from callscore.stats.matrix import MAX_UNITS, ResamplingUnits
from callscore.stats.resampling import BATCH_CELLS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats, Keys

SEED = 2_005
DRAWS = 10_000
MAX_BATCH = 1_500
"""Weightings in memory at a time; more at a time cost less per weighting, and memory."""
UNIT = 4_096
"""A weight of 1 as an integer."""
WEIGHT_BITS, VALUE_BITS = 16, 25
"""A sum of 2,000 products of a weight and a value on its grid fits the 53 bits of a double."""
STEP = 0x9E3779B97F4A7C15
IMAGINARY_KEY = 0x1A61_1A61_1A61_1A61


def unseen_share(calls: int, level: float = LEVEL) -> float:
    """1 − 0.05^(1/n): the share of calls that may fail although none of n did        STATS §2"""
    return -math.expm1(math.log(1 - level) / calls) if calls > 0 else 1.0


def claim_weights(keys: Keys, seed: int = SEED, draws: int = DRAWS) -> Iterator[Floats]:
    """The Exponential(1) weights of calls in multiples of 1/4096: calls × weightings, in batches"""
    size = max(4, min(MAX_BATCH, BATCH_CELLS // max(1, len(keys))) // 4 * 4)
    for start in range(0, draws, size):
        yield _call_weights(keys, seed, start, min(draws, start + size))


def _call_weights(keys: Keys, seed: int, start: int, stop: int) -> Floats:
    import numpy as np

    streams = _mix(np.asarray(keys, np.uint64) ^ _mix(np.array([seed], np.uint64)))
    steps = np.arange(start // 4 + 1, -(-stop // 4) + 1, dtype=np.uint64) * np.uint64(STEP)
    bits = _mix(streams[:, None] + steps).astype("<u8", copy=False).view("<u2")
    # as `table[bits]`, in half the time: no number of 16 bits is outside the table
    weights: Floats = _quantiles(1 << WEIGHT_BITS).take(bits[:, : stop - start], mode="clip")
    return weights


@cache
def imaginary_weights(seed: int = SEED, draws: int = DRAWS) -> Floats:
    """The weights of the imaginary call: all quantiles of the distribution, in a random order

    Without a failure, the limit then hardly depends on chance.
    """
    import numpy as np

    order = _mix(
        np.uint64(IMAGINARY_KEY)
        + _mix(np.array([seed], np.uint64))
        + np.arange(1, draws + 1, dtype=np.uint64) * np.uint64(STEP)
    )
    weights: Floats = _quantiles(draws)[np.argsort(order, kind="stable")]
    return weights


@cache
def _quantiles(size: int) -> Floats:
    """−log((i + ½) / size) in units of 1/4096, rounded, at least one unit"""
    import numpy as np

    places = (np.arange(size, dtype=np.float64) + 0.5) / size
    return np.maximum(np.round(-np.log(places) * UNIT), 1.0)


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64: every bit of the result depends on every bit of the number    Steele 2014"""
    import numpy as np

    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: npt.NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found


def draw_keys(units: ResamplingUnits) -> Keys:
    """What the draws depend on: the keys of calls, or the numbers of groups of calls

    A group is weighted as a whole and keeps the spread of its calls; the imaginary call stays one
    call.
    """
    import numpy as np

    return np.arange(units.size, dtype=np.uint64) if units.are_groups else units.calls


def round_for_claims(sums: Floats) -> Floats:
    """The sums rounded to a grid on which products with weights add without rounding

    The grid has 2²⁵ steps up to 1, or up to the next power of two above the largest sum of a line:
    for shares it is the same whatever the calls are, so a better call never counts less.
    """
    import numpy as np

    if not sums.size:
        return sums
    largest = np.abs(sums).max(axis=1, keepdims=True)
    mantissa, exponent = np.frexp(np.maximum(largest, 1.0))
    grid = np.ldexp(1.0, exponent - (mantissa == 0.5) - VALUE_BITS)
    rounded: Floats = np.round(sums / grid) * grid
    return rounded


def lower_limit(values: Floats, alpha: float) -> float | None:
    """The ⌊α·draws⌋-th smallest value; None if the value is undefined under a weighting"""
    import numpy as np

    if not len(values) or not np.isfinite(values).all():
        return None
    place = _place(alpha, len(values))
    return float(np.partition(values, place)[place])


def _place(alpha: float, draws: int) -> int:
    return max(0, math.floor(alpha * draws + 1e-9) - 1)


class LowestValues:
    """The values that `lower_limit` needs, kept while those of all weightings are computed.

    The others are not stored: a card has some 80 limits per model, each of 10,000 values.
    """

    def __init__(self, alpha: float, draws: int = DRAWS) -> None:
        import numpy as np

        self._place = _place(alpha, draws)
        self._kept = np.empty(0)
        self._is_defined = True

    def add(self, values: Floats) -> None:
        """Take the values of some weightings."""
        import numpy as np

        self._is_defined = self._is_defined and bool(np.isfinite(values).all())
        found = np.concatenate((self._kept, values))
        if len(found) > self._place + 1:
            found = np.partition(found, self._place)[: self._place + 1]
        self._kept = found

    @property
    def limit(self) -> float | None:
        """`lower_limit` of all values"""
        return float(self._kept.max()) if self._is_defined and len(self._kept) else None


def upper_limit(values: Floats, alpha: float) -> float | None:
    """The ⌊α·draws⌋-th largest value; None if the value is undefined under a weighting"""
    found = lower_limit(-values, alpha)
    return None if found is None else -found


def mean_limits(
    values: Floats,
    keys: Keys,
    value_range: tuple[float, float] = (0.0, 1.0),
    alpha: float = 1 - LEVEL,
) -> Interval | None:
    """Gaffke's limits of a mean over calls, each one-sided at 1 − α        STATS §2

    (Σ W·x + W₀·x₀) / (Σ W + W₀), x₀ the lowest value of the range for the lower limit and the
    highest for the upper one. For the mean difference of two models the range is −1 to 1.
    """
    import numpy as np

    if not len(values):
        return None
    units = ResamplingUnits(np.sort(np.asarray(keys, np.uint64)), min(len(keys), MAX_UNITS))
    unit = units.unit_numbers(keys)
    sums = np.array([np.bincount(unit, of, units.size) for of in (values, np.ones(len(values)))])
    exact = round_for_claims(sums)
    batches = claim_weights(draw_keys(units))
    total, weight = np.concatenate([exact @ batch for batch in batches], axis=1)
    extra = imaginary_weights()
    low, high = ((total + extra * end) / (weight + extra) for end in value_range)
    least, most = lower_limit(low, alpha), upper_limit(high, alpha)
    return None if least is None or most is None else Interval(least, most)
