"""Claim limits: one-sided limits that reckon with rare failures that no call has shown    STATS §2

Everything that is called sure, demonstrated or not worse rests on them. The calls get random
weights, independent Exponential(1) draws, together with one imaginary call at the worst possible
value; a limit is a quantile of the value under 10,000 such weightings (Gaffke 2005). For calls that
are right or wrong it is the one-sided limit of Clopper and Pearson, up to the draws.

The draws of a call depend on the seed and the key of the call only: one more call changes no draw
of the others, and all models have the same draws. They are computed by integer arithmetic, as
integers, so limits are the same on every machine.

A score is recomputed as a whole under every weighting. The imaginary call has the item count of
the heaviest call of each row. Towards a lower limit of a task score or of the Final Score it is
unreadable in every task and all wrong in pooled rates; of a row or a part it has the lowest value
of each row. Towards an upper limit it is perfect. In a difference it is unreadable for one model
and worth 1 for the other: D = −1 or +1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from callscore.stats.contributions import STRATUM, ModelShape
from callscore.stats.intervals import LEVEL, Interval
from callscore.stats.matrix import MAX_UNITS, CallMatrix, ColumnKey, ResamplingUnits
from callscore.stats.resampling import (
    BATCH_CELLS,
    distinct_lines,
    join_batches,
    multiply_exactly,
)
from callscore.stats.weighted_scores import ScoreKey, Scores, final_score, scores

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats, Keys

SEED = 2_005
DRAWS = 10_000
"""Weightings of a limit (STATS §2); their chance moves it by up to 3 % (`stats.power.NOISE`)."""
MAX_BATCH = 1_500
"""Weightings in memory at a time; more at a time cost less per weighting, and memory."""
UNIT = 4_096
"""A weight of 1 as an integer."""
WEIGHT_BITS, VALUE_BITS = 16, 25
"""A sum of 2,000 products of a weight and a value on its grid fits the 53 bits of a double."""
STEP = 0x9E3779B97F4A7C15
"""2⁶⁴ / golden ratio, the step of SplitMix64 (Steele, Lea and Flood 2014)."""
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
def imaginary_weights() -> Floats:
    """The weights of the imaginary call: all quantiles of the distribution, in a random order

    Without a failure, the limit then hardly depends on chance.
    """
    import numpy as np

    order = _mix(
        np.uint64(IMAGINARY_KEY)
        + _mix(np.array([SEED], np.uint64))
        + np.arange(1, DRAWS + 1, dtype=np.uint64) * np.uint64(STEP)
    )
    weights: Floats = _quantiles(DRAWS)[np.argsort(order, kind="stable")]
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

    def __init__(self, alpha: float) -> None:
        import numpy as np

        self._place = _place(alpha, DRAWS)
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


ALPHA = 1 - LEVEL
MODELS_AT_A_TIME = 4
"""Their values under some weightings are in memory together: about 3 MB per model."""
OF_ROWS = ("row", "part", "ungated")
OF_SCORES = ("task", "final", "zeroed")
FAILURES = ("blocked", "breached")
"""Cases that a gate blocks; an unreadable one is among them."""
FINALS: tuple[ScoreKey, ...] = (("final",), ("zeroed",))


class ClaimInput(NamedTuple):
    """The calls of one model, or those that it shares with another."""

    shape: ModelShape
    matrix: CallMatrix
    heaviest: Floats
    """By line of the matrix, the largest sum of a call."""


class FinalValues(NamedTuple):
    """A final score under every weighting, as a difference needs it."""

    worst: Floats
    """With the imaginary call unreadable."""
    gain: Floats
    """What it adds if it is worth 1."""


class ClaimedScores(NamedTuple):
    """The claim limits of one model, and its final scores under every weighting."""

    limits: Mapping[ScoreKey, Interval]
    finals: Mapping[ScoreKey, FinalValues]


def claim_scores(models: Sequence[ClaimInput], alpha: float = ALPHA) -> list[ClaimedScores]:
    """The claim limits of every model, each one-sided at 1 − α; all have the same weightings."""
    found: list[ClaimedScores] = []
    for start in range(0, len(models), MODELS_AT_A_TIME):
        found += _claim_some(models[start : start + MODELS_AT_A_TIME], alpha)
    return found


def difference_limits(
    first: FinalValues, second: FinalValues, alpha: float = ALPHA
) -> Interval | None:
    """The limits of second − first, each one-sided at 1 − α, with D = −1 and D = +1    STATS §2"""
    low = lower_limit(second.worst - first.worst - first.gain, alpha)
    high = upper_limit(second.worst + second.gain - first.worst, alpha)
    return None if low is None or high is None else Interval(low, high)


def _claim_some(models: Sequence[ClaimInput], alpha: float) -> list[ClaimedScores]:
    lines, columns = distinct_lines([round_for_claims(model.matrix.sums) for model in models])
    calls = [_ImaginaryCall(model) for model in models]
    gathered = [_Gathered(_counts(model.shape), alpha) for model in models]
    filled = 0
    weights = claim_weights(draw_keys(models[0].matrix.units))
    for products in join_batches(multiply_exactly(lines, batch) for batch in weights):
        of_batch = imaginary_weights()[filled : filled + products.shape[1]]
        for call, own, values in zip(calls, columns, gathered, strict=True):
            values.add(call, products[own], of_batch, filled)
        filled += products.shape[1]
    return [values.summary() for values in gathered]


def _counts(shape: ModelShape) -> set[ScoreKey]:
    """Rows that are totals, which no weighting of calls leaves comparable."""
    rows = (row for task in shape.tasks.values() for row in task.rows)
    return {("row", row.slug) for row in rows if row.kind == "count"}


class _ImaginaryCall:
    """The imaginary call of one model: what it adds to each line, at a weight of 1."""

    def __init__(self, model: ClaimInput) -> None:
        import numpy as np

        self.shape, self.place = model.shape, model.matrix.place
        self.unreadable, self.lowest, self.highest = (np.zeros(len(self.place)) for _ in range(3))
        self.perfect = np.array([self.place[_perfect(key)] for key in self.place], np.intp)
        """The line that each line would be equal to if every call were perfect."""
        self.is_blocked = np.array([key[2] in FAILURES for key in self.place], bool)
        scales = {
            row.slug: (row.kind, 100.0 if row.percent else 1.0)
            for task in self.shape.tasks.values()
            for row in task.rows
        }
        above = {c.slug: c.comparison == ">=" for c in self.shape.criteria}
        for (task, slug, quantity), at in self.place.items():
            items = model.heaviest[self.place[task, slug, _count_of(quantity)]]
            if not slug:
                self._add_task(at, quantity, items)
            elif slug in above:
                self._add_criterion(at, quantity, items, above[slug])
            else:
                is_structure = slug == f"{task.partition(STRATUM)[0]}.structure"
                self._add_row(at, quantity, items, *scales[slug], is_structure=is_structure)

    def _add_task(self, at: int, quantity: str, cases: float) -> None:
        if quantity in ("cases", *FAILURES):
            self.unreadable[at] = cases
        if quantity == "cases":
            self.highest[at] = cases

    def _add_criterion(self, at: int, quantity: str, items: float, above: bool) -> None:
        """A criterion is a mean of shares, or of percentages if less is better."""
        if quantity == "n":
            self.unreadable[at] = self.lowest[at] = self.highest[at] = items
        elif above:
            self.highest[at] = items
        else:
            self.unreadable[at] = self.lowest[at] = 100.0 * items

    def _add_row(  # noqa: PLR0913  the line, and what the row is
        self, at: int, quantity: str, items: float, kind: str, scale: float, *, is_structure: bool
    ) -> None:
        if kind == "count":
            return
        if quantity in ("n", "denominator"):
            self.lowest[at] = self.highest[at] = items
            if quantity == "denominator" or is_structure:
                self.unreadable[at] = items
        elif (quantity == "numerator") == (kind == "pooled"):
            self.highest[at] = items if kind == "pooled" else scale * items
            if scale != 1.0:  # an error rate: all wrong is its highest value
                self.unreadable[at] = items


def _count_of(quantity: str) -> str:
    """The quantity that says how many cases or items a call has in a line."""
    counts = {"total": "n", "numerator": "denominator"} | dict.fromkeys(FAILURES, "cases")
    return counts.get(quantity, quantity)


def _perfect(key: ColumnKey) -> ColumnKey:
    """The count that a sum of values or a numerator is equal to if all are right."""
    task, slug, quantity = key
    return (task, slug, _count_of(quantity)) if slug else key


class _Gathered:
    """What the limits of one model need of its values under all weightings."""

    def __init__(self, without: Collection[ScoreKey], alpha: float) -> None:
        self._without, self._alpha = without, alpha
        self.low: dict[ScoreKey, LowestValues] = {}
        self.high: dict[ScoreKey, LowestValues] = {}
        """Of the negated values."""
        self.worst: dict[ScoreKey, Floats] = {}
        self.gain: dict[ScoreKey, Floats] = {}

    def add(self, call: _ImaginaryCall, sums: Floats, weights: Floats, filled: int) -> None:
        """Compute the values of a batch of weightings."""
        import numpy as np

        def scored(sums: Floats, imaginary: Floats) -> Scores:
            with_it = np.multiply.outer(imaginary, weights)
            with_it += sums
            return scores(call.shape, call.place, with_it)

        self._add_lowest(self.low, scored(sums, call.lowest), OF_ROWS, 1)
        high = scored(sums, call.highest)
        self._add_lowest(self.high, high, OF_ROWS + OF_SCORES, -1)
        unreadable = scored(sums, call.unreadable)
        self._add_lowest(self.low, unreadable, OF_SCORES, 1)
        all_right = sums[call.perfect]
        all_right[call.is_blocked] = 0.0
        gain = _gain(call.shape, scored(all_right, call.unreadable), unreadable, high)
        for key, weighing in zip(FINALS, (call.shape.final, call.shape.zeroed), strict=True):
            if key in unreadable:
                of_final = final_score(weighing, gain, len(weights), frozenset())
                _fill(self.worst, {key: unreadable[key]}, filled)
                _fill(self.gain, {key: of_final}, filled)

    def _add_lowest(
        self, own: dict[ScoreKey, LowestValues], values: Scores, kinds: Sequence[str], sign: int
    ) -> None:
        for key, numbers in values.items():
            if key[0] in kinds and key not in self._without:
                if key not in own:
                    own[key] = LowestValues(self._alpha)
                own[key].add(sign * numbers)

    def summary(self) -> ClaimedScores:
        """The limits of every value, and the final scores themselves."""
        limits = {}
        for key, values in self.low.items():
            low, high = values.limit, self.high[key].limit
            if low is not None and high is not None:
                limits[key] = Interval(low, -high)
        finals = {key: FinalValues(self.worst[key], self.gain[key]) for key in self.worst}
        return ClaimedScores(limits, finals)


def _gain(shape: ModelShape, perfect: Scores, unreadable: Scores, high: Scores) -> Scores:
    """By task, what the imaginary call takes from calls that are all perfect: its share

    The benchmark score only counts criteria, so there it is best − worst.
    """
    gain: Scores = {}
    for task, formula in shape.tasks.items():
        whole = math.fsum(w * inside for _, w, terms in formula.parts for _, inside in terms)
        if ("task", task) in perfect:
            gain["task", task] = whole - perfect["task", task]
    if ("benchmarks",) in high:
        gain["benchmarks",] = high["benchmarks",] - unreadable["benchmarks",]
    return gain


def _fill(own: dict[ScoreKey, Floats], values: Scores, filled: int) -> None:
    import numpy as np

    for key, numbers in values.items():
        if key not in own:
            own[key] = np.empty(DRAWS)
        own[key][filled : filled + len(numbers)] = numbers
