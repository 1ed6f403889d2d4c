"""Differences of two models, row by row, on the calls that both answered: intervals, tests.

If people have labelled answers of both, the Final is compared as they would judge it (STATS §5).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from callscore.core.comparison import RowDifference
from callscore.evaluate.bands import add_people
from callscore.evaluate.corrections import ModelCorrection
from callscore.stats.claim_limits import ALPHA, ClaimInput, claim_scores, difference_limits
from callscore.stats.contributions import STRATUM, Contributions, ModelShape, TaskShape
from callscore.stats.differences import (
    EPSILON,
    MAX_EXACT,
    PairOfValues,
    ResampledDifference,
    ResampledModels,
    are_significant,
    difference_interval,
    discordant_calls,
    holm_adjust,
    mcnemar_p,
    resample_models,
    sign_flip_p,
    subtract,
)
from callscore.stats.intervals import Interval
from callscore.stats.label_corrections import LabelCorrection, label_matrix
from callscore.stats.matrix import (
    ALL_CALLS,
    CallLines,
    CallMatrix,
    ColumnKey,
    ResamplingUnits,
    SparseMatrix,
    group_calls,
    make_units,
    sparse_matrix,
)
from callscore.stats.power import calls_for_difference, detectable_difference, spread_of
from callscore.stats.resampling import ModelValues, Replicates
from callscore.stats.weighted_scores import ScoreKey, scores
from callscore.suites.registry import Catalog

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from callscore.stats.matrix import Floats


class LabelledPair(NamedTuple):
    """How the values of both models are corrected."""

    first: ModelCorrection
    second: ModelCorrection

    @property
    def matrices(self) -> Sequence[CallMatrix]:
        """What is resampled together with the calls of both."""
        return [group_calls(side.labels.matrix) for side in self]

    def corrected(self, sums: Sequence[Floats]) -> Sequence[ModelValues]:
        """All values of both models from their sums, then those of their labels."""
        return [
            side.corrected(own, of_labels)
            for side, own, of_labels in zip(self, sums[:2], sums[2:], strict=True)
        ]

    def concerns(self, key: ScoreKey) -> bool:
        """Whether a label changes a value: of a row, or of a score that a row counts in."""
        blocks = {block for side in self for block in side.labels.rows}
        if key[0] == "row":
            return any(slug == key[1] for _, slug in blocks)
        if key[0] in ("task", "part"):
            return any(task == key[1] for task, _ in blocks)
        return key[0] != "cost"

    def claim(self, judged: Interval | None, key: ScoreKey, alpha: float) -> Interval | None:
        """The limits of second − first, from those of the judge at α/2."""
        first, second = (side.difference(key, alpha / 4) for side in self)
        return add_people(judged, first, second)


def labelled_pair(
    contributions: Collection[Contributions],
    matrices: Sequence[SparseMatrix],
    shape: ModelShape,
) -> LabelledPair | None:
    """The labels of both models on the calls that they share; None if one has too few."""
    found = []
    for at, (of_model, matrix) in enumerate(zip(contributions, matrices, strict=True)):
        labels = label_matrix(of_model, shape, matrix.units, matrix)
        if labels is None:
            return None
        given = ClaimInput(shape, matrix.dense(), matrix.heaviest())
        correction = LabelCorrection(labels, matrix.place, shape)
        found.append(ModelCorrection(at, given, labels, correction))
    return LabelledPair(*found)


SEED = 16_068
FINAL: ScoreKey = ("zeroed",)
COST: ScoreKey = ("cost",)
COST_QUANTITIES = ("spend", "answers")
CALL = "call"
LOWER_IS_BETTER = ("percent", "count", "usd")


class PairedCalls(NamedTuple):
    """Two models on the same calls."""

    shape: ModelShape
    first: SparseMatrix
    second: SparseMatrix
    calls: int
    """Calls that both answered, in any task."""
    only_first: int
    only_second: int
    labels: LabelledPair | None = None
    """How labels of people correct both; None if one of them has too few."""


class PairedCounts(NamedTuple):
    """What remains of `PairedCalls` when the rows are computed, as their sums may be large."""

    shape: ModelShape
    calls: int
    only_first: int
    only_second: int


class RowLabel(NamedTuple):
    """The name, unit and weight of a row."""

    key: str
    kind: Literal["final", "task", "part", "metric", "cost"]
    label: str
    unit: str
    weight: float


def joint_shape(first: ModelShape, second: ModelShape, *, uncounted: Collection[str]) -> ModelShape:
    """The formula of the tasks that both models have, with weights that sum to 1.

    `uncounted` are tasks whose pooled rows have no counts.
    """
    tasks = {
        name: msgspec.structs.replace(shape, parts=_parts_of_either(shape, second.tasks[name]))
        for name, shape in first.tasks.items()
        if name in second.tasks
    }
    weights = {name: w for name, w in first.zeroed.items() if name in second.zeroed}
    whole = math.fsum(weights.values())
    criteria = {criterion.slug for criterion in second.criteria}
    return msgspec.structs.replace(
        first,
        tasks={
            name: _without_counts(shape) if name in uncounted else shape
            for name, shape in tasks.items()
        },
        final={},
        zeroed={name: weight / whole for name, weight in weights.items()} if whole else {},
        criteria=[criterion for criterion in first.criteria if criterion.slug in criteria],
        cost=None,
    )


def _parts_of_either(
    one: TaskShape, other: TaskShape
) -> list[tuple[str, float, Sequence[tuple[str, float]]]]:
    """The formula with every row that counts on one of the sides at least."""
    return [
        (name, weight, list(dict([*terms, *others]).items()))
        for (name, weight, terms), (_, _, others) in zip(one.parts, other.parts, strict=True)
    ]


def _without_counts(shape: TaskShape) -> TaskShape:
    """The formula with pooled rows replaced by means over calls, as their counts are unknown."""
    rows = [
        msgspec.structs.replace(row, kind="mean") if row.kind == "pooled" else row
        for row in shape.rows
    ]
    return msgspec.structs.replace(shape, rows=rows)


def shapes_by_unit(shape: ModelShape) -> list[ModelShape]:
    """The formula by what its tasks are taken from, that of the Final Score first.

    Calls and scenarios are never paired or drawn together: neither says anything about the other.
    """
    spec = Catalog().spec_with(shape.tasks)
    by_unit: dict[str, dict[str, TaskShape]] = {}
    for task, of_task in shape.tasks.items():
        unit = spec.scores[task].unit if task in spec.scores else CALL
        by_unit.setdefault(unit, {})[task] = of_task
    if len(by_unit) < 2:
        return [shape]
    groups = sorted(by_unit.values(), key=lambda tasks: not tasks.keys() & shape.zeroed.keys())
    return [
        msgspec.structs.replace(shape, tasks=groups[0]),
        *(
            msgspec.structs.replace(shape, tasks=tasks, final={}, zeroed={}, criteria=[])
            for tasks in groups[1:]
        ),
    ]


def pair_models(first: Contributions, second: Contributions, shape: ModelShape) -> PairedCalls:
    """The contributions of both models, limited to the calls that both answered in a task."""
    import numpy as np

    units = make_units([first, second], most=ALL_CALLS)
    one, other = (sparse_matrix(of_model, shape, units) for of_model in (first, second))
    places = [place for place in one.place if place in other.place]
    answered = [np.zeros(units.size, bool), np.zeros(units.size, bool)]
    both = np.zeros(units.size, bool)
    shared: dict[str, npt.NDArray[np.bool_]] = {}
    for task in shape.tasks:
        if (task, "", "cases") not in places:
            continue
        cases = [matrix.sums[matrix.place[task, "", "cases"]] for matrix in (one, other)]
        shared[task] = (cases[0] > 0) & (cases[0] == cases[1])
        for side in (0, 1):
            answered[side] |= cases[side] > 0
        both |= shared[task]
    first_matrix = _limit_to(one, places, shared, both)
    del one  # it may be large
    second_matrix = _limit_to(other, places, shared, both)
    del other
    return PairedCalls(
        shape,
        first_matrix,
        second_matrix,
        len(first_matrix.units.calls),
        int((answered[0] & ~both).sum()),
        int((answered[1] & ~both).sum()),
        labelled_pair((first, second), (first_matrix, second_matrix), shape),
    )


def _limit_to(
    matrix: SparseMatrix,
    places: Sequence[ColumnKey],
    shared: Mapping[str, npt.NDArray[np.bool_]],
    both: npt.NDArray[np.bool_],
) -> SparseMatrix:
    """These lines of a matrix, by call that both models answered; a task adds shared calls only."""
    import numpy as np

    calls = matrix.units.calls[both]
    sums = CallLines(len(calls))
    for name in places:
        line, of_task = matrix.sums[matrix.place[name]], shared.get(name[0].split(STRATUM)[0])
        sums.add((line if of_task is None else np.where(of_task, line, 0.0))[both])
    place = {name: at for at, name in enumerate(places)}
    return SparseMatrix(ResamplingUnits(calls, len(calls)), place, sums)


def row_differences(
    pairs: Sequence[PairedCalls], names: Mapping[ScoreKey, RowLabel], resamples: int
) -> list[RowDifference]:
    """The difference of every row with interval and p; Holm-corrected over all rows.

    Final Score and cost are those of the first pair.
    """
    rows: dict[ScoreKey, RowDifference] = {}
    for pair in pairs:
        open_names = {key: name for key, name in names.items() if key not in rows}
        rows |= _rows_of_pair(pair, open_names, resamples)
    found = [rows[key] for key in names if key in rows]
    corrected = holm_adjust([row.p for row in found])
    return [msgspec.structs.replace(row, p_holm=p) for row, p in zip(found, corrected, strict=True)]


def _rows_of_pair(
    pair: PairedCalls, names: Mapping[ScoreKey, RowLabel], resamples: int
) -> dict[ScoreKey, RowDifference]:
    found = _resample(pair, resamples)
    tested = {key: name for key, name in names.items() if key in found.models[0]}
    sum_indices = {key: _sum_indices(key, pair) for key in tested if key != COST}
    flip_p = _sign_flip_p(pair, sum_indices)
    rows = {
        key: _row_difference(
            pair, key, name, [of_model[key] for of_model in found.models], flip_p.get(key)
        )
        for key, name in tested.items()
    }
    if pair.labels is not None:
        rows = {key: _as_people_judge(row, pair.labels, key) for key, row in rows.items()}
    if FINAL in rows and found.differences:
        rows[FINAL] = _with_claim(rows[FINAL], pair, found.differences[0])
    return rows


def _resample(pair: PairedCalls, resamples: int) -> ResampledModels:
    """The replicates of both models by the same resamples, as a scorecard has them."""

    def statistic(sums: Sequence[Floats]) -> Sequence[ModelValues]:
        if pair.labels is not None:
            return pair.labels.corrected(sums)
        return [scores(pair.shape, pair.first.place, own) for own in sums]

    finals = [PairOfValues(FINAL, 0, 1)] if pair.shape.zeroed else []
    matrices = [group_calls(matrix) for matrix in (pair.first, pair.second)]
    matrices += [] if pair.labels is None else pair.labels.matrices
    return resample_models(matrices, statistic, finals, resamples)


def _with_claim(row: RowDifference, pair: PairedCalls, found: ResampledDifference) -> RowDifference:
    """The row of the Final Score: whether it is significant, and what may be claimed    STATS §2"""
    first, second = claim_scores(
        [
            ClaimInput(pair.shape, group_calls(matrix), matrix.heaviest())
            for matrix in (pair.first, pair.second)
        ]
    )
    finals = first.finals[FINAL], second.finals[FINAL]
    excludes = row.ci95 is not None and (row.ci95[0] > 0 or row.ci95[1] < 0)
    if pair.labels is None:
        claim = difference_limits(*finals)
    else:
        claim = pair.labels.claim(difference_limits(*finals, ALPHA / 2), FINAL, ALPHA)
    return msgspec.structs.replace(
        row, significant=excludes and are_significant([found], [finals])[0], claim=claim
    )


def _as_people_judge(row: RowDifference, labels: LabelledPair, key: ScoreKey) -> RowDifference:
    """The row without tests of the judged values, if labels correct it."""
    if not labels.concerns(key):
        return row
    return msgspec.structs.replace(row, p=None, test="", corrected=True)


def _sum_indices(key: ScoreKey, pair: PairedCalls) -> list[int]:
    """The indices of the sums that a score depends on."""
    slugs: set[str] | None = None
    tasks = set(pair.shape.tasks)
    if key[0] == "row":
        slugs = {key[1]}
    elif key[0] in ("task", "part"):
        tasks = {key[1]}
    return [
        at
        for (task, slug, quantity), at in pair.first.place.items()
        if task in tasks and quantity not in COST_QUANTITIES and (slugs is None or slug in slugs)
    ]


def _sign_flip_p(
    pair: PairedCalls, lines: Mapping[ScoreKey, Sequence[int]]
) -> Mapping[ScoreKey, float | None]:
    return sign_flip_p(
        pair.first.sums,
        pair.second.sums,
        lambda sums: scores(pair.shape, pair.first.place, sums),
        lines,
        SEED,
    )


def count_discordant(pair: PairedCalls, key: ScoreKey) -> int:
    """How many calls differ in what the score is computed from."""
    gaps = (pair.second.sums[at] - pair.first.sums[at] for at in _sum_indices(key, pair))
    return int(discordant_calls(gaps, pair.calls).sum())


def _row_difference(
    pair: PairedCalls,
    key: ScoreKey,
    name: RowLabel,
    models: Sequence[Replicates],
    flip_p: float | None,
) -> RowDifference:
    first, second = models
    gap, calls = subtract(first, second), _calls_behind(pair, key)
    bounds = difference_interval(gap, calls, name.unit)
    discordant = count_discordant(pair, key)
    spread = spread_of(gap.jackknife, calls)
    excludes = bounds is not None and (bounds.low > 0 or bounds.high < 0)
    sides = _discordant_counts(pair, key)
    p, test = flip_p, "exact sign flip" if discordant <= MAX_EXACT else "sign flip"
    if sides is not None and flip_p is not None:
        p, test = mcnemar_p(*sides), "mcnemar"
    difference = _finite(gap.estimate)
    return RowDifference(
        key=name.key,
        kind=name.kind,
        label=name.label,
        unit=name.unit,
        first=_finite(first.estimate),
        second=_finite(second.estimate),
        difference=difference,
        better=_is_better(difference, name.unit),
        weight=name.weight,
        ci95=None if bounds is None else (bounds.low, bounds.high),
        ci95_method="" if bounds is None else bounds.method,
        p=p,
        test=test if p is not None else "",  # type: ignore[arg-type]
        calls=calls,
        discordant=discordant,
        detectable=detectable_difference(spread.deviation, calls),
        calls_needed=calls_for_difference(difference or 0.0, spread) if excludes else None,
        deviation=spread.deviation,
    )


def _calls_behind(pair: PairedCalls, key: ScoreKey) -> int:
    """The calls behind a row; of the Final Score, those of the task that has fewest."""
    place, sums = pair.first.place, pair.first.sums
    if key[0] == "row":
        task = key[1].partition(".")[0]
        lines = [(task, key[1], "n")]
    elif key[0] in ("task", "part"):
        lines = [(key[1], "", "cases")]
    else:
        lines = [(task, "", "cases") for task in pair.shape.zeroed]
    counts = [int((sums[place[line]] > 0).sum()) for line in lines if line in place]
    return min(counts, default=pair.calls)


def _discordant_counts(pair: PairedCalls, key: ScoreKey) -> tuple[int, int] | None:
    """Calls that only the first, and only the second, got right; None if a row is not binary."""
    import numpy as np

    if key[0] != "row":
        return None
    slug = key[1]
    task = slug.partition(".")[0]
    row = next((row for row in pair.shape.tasks[task].rows if row.slug == slug), None)
    if row is None or row.kind != "mean":
        return None
    values = []
    for matrix in (pair.first, pair.second):
        total, n = (matrix.sums[matrix.place[task, slug, of]] for of in ("total", "n"))
        if not bool((np.isin(total, (0.0, 1.0)) & np.isin(n, (0.0, 1.0))).all()):
            return None
        values.append((total, n))
    (one, n_one), (other, n_other) = values
    if bool((n_one != n_other).any()):
        return None
    return int(((one > 0) & (other == 0)).sum()), int(((one == 0) & (other > 0)).sum())


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _is_better(difference: float | None, unit: str) -> bool | None:
    if difference is None or abs(difference) <= EPSILON:
        return None
    return (difference < 0) == (unit in LOWER_IS_BETTER)
