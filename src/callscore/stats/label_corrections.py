"""Scores corrected by labels of people, for many weightings of calls at once        STATS §5

Each row is a ratio of sums over calls (C-06). The sums over the calls that a judge decided are
replaced by their prediction-powered estimates, and the formulas of the scorecard are computed from
these: rows, task scores and the Final Score are corrected in the same way, and λ is estimated again
in each weighting.

A call whose items are labelled in part counts with the labelled share w of its items; its
difference D between people and judge is that of the labelled items. In a random sample of items,
Σ w is in proportion to the calls and Σ D to their whole difference, so Σ D / Σ w estimates the mean
difference of a call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callscore.core.measure import Measure
from callscore.stats.claim_limits import mean_limits
from callscore.stats.contributions import (
    BLOCKED_SHARE,
    Contributions,
    Labelled,
    MetricShape,
    ModelShape,
    TaskContributions,
    stratum_key,
)
from callscore.stats.intervals import Interval
from callscore.stats.matrix import CallMatrix, ColumnKey, ResamplingUnits, SparseMatrix
from callscore.stats.prediction_powered import (
    LabelSums,
    corrected_means,
    correlation,
    judge_weights,
)

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats

LEAST_CALLS = 10
"""Labelled calls that a correction needs."""
_MOMENTS = ("calls", "labelled", "sum", "of_labelled", "labelled_squares", "products",
            "differences")  # fmt: skip
_PARTS = ("all", "labelled", "difference")
Block = tuple[str, str]
"""A task and a row, or `BLOCKED_SHARE`."""


class RowLabels(NamedTuple):
    """The labels behind the correction of one row."""

    items: int
    calls: int
    correlation: float | None
    """Between people and judge on the labelled calls; None if one of them does not vary."""
    differ: bool
    """Whether people and judge differ on a labelled call."""
    differences: Sequence[tuple[int, float]]
    """Per labelled call: its key, and people − judge, whose mean is that of all calls; a share."""
    reach: float
    """The largest difference that one call can have."""


def difference_limits(row: RowLabels, alpha: float) -> Interval | None:
    """Gaffke's limits of the mean difference between people and judge        STATS §5

    Each is one-sided at 1 − α: one more call might differ by as much as a call can.
    """
    import numpy as np

    keys, values = zip(*row.differences, strict=True)
    return mean_limits(np.array(values), np.array(keys, np.uint64), (-row.reach, row.reach), alpha)


class LabelMatrix(NamedTuple):
    """What the judged calls of one model add up to, by call; and the rows that have labels."""

    matrix: CallMatrix
    rows: Mapping[Block, RowLabels]
    columns: Mapping[Block, Sequence[str]]
    """By row, the tasks of its columns: the task itself, or its strata that were judged."""


def label_matrix(
    contributions: Contributions,
    shape: ModelShape,
    units: ResamplingUnits,
    within: CallMatrix | SparseMatrix | None = None,
) -> LabelMatrix | None:
    """The sums of the judged calls of one model; None if no row has enough labels.

    With `within`, only calls that this matrix has cases of.
    """
    import numpy as np

    places: list[ColumnKey] = []
    lines: list[Floats] = []
    rows: dict[Block, RowLabels] = {}
    columns: dict[Block, Sequence[str]] = {}
    for task, of_task in shape.tasks.items():
        whole = contributions.get(task)
        if whole is None:
            continue
        kinds = {row.slug: row for row in of_task.rows}
        kinds[BLOCKED_SHARE] = MetricShape(BLOCKED_SHARE, "mean")
        calls = None if within is None else _calls_with_cases(within, task)
        parts = {stratum_key(task, name): part for name, part in whole.strata.items()}
        for slug in (slug for slug in whole.labels if slug in kinds):
            judged = {
                name: found
                for name, part in (parts or {task: whole}).items()
                if (found := _judged_cases(kinds[slug], part, slug, calls)).cases
            }
            if not judged or any(found.labelled < LEAST_CALLS for found in judged.values()):
                continue
            for name, found in judged.items():
                unit = units.unit_numbers(found.keys)
                for quantity, values in found.lines():
                    places.append((name, slug, quantity))
                    line = np.bincount(unit, values, units.size)
                    lines.append(line.astype(np.float64, copy=False))
            summaries = [found.summary() for found in judged.values()]
            rows[task, slug] = mean_of_labels(summaries, len(parts) or 1)
            columns[task, slug] = list(judged)
    if not rows:
        return None
    place = {key: at for at, key in enumerate(places)}
    return LabelMatrix(CallMatrix(units, place, np.array(lines)), rows, columns)


def _judged_cases(
    row: MetricShape, kept: TaskContributions, slug: str, calls: Collection[int] | None
) -> _Cases:
    """The cases of a row that a judge decided; only those of some calls, if these are given."""
    found = [
        (kept.keys[place], case)
        for place, case in kept.labels.get(slug, {}).items()
        if calls is None or kept.keys[place] in calls
    ]
    return _Cases(row, [key for key, _ in found], [case for _, case in found])


def mean_of_labels(strata: Sequence[RowLabels], number: int) -> RowLabels:
    """The labels of a row that is the mean of `number` strata, of which `strata` were judged

    d′ = d × calls / (number × calls of its stratum), so that the mean of all d′ is the mean of the
    strata.
    """
    if number == 1:
        return strata[0]
    calls = sum(row.calls for row in strata)
    weights = [calls / (number * row.calls) for row in strata]
    correlations = [row.correlation for row in strata if row.correlation is not None]
    return RowLabels(
        sum(row.items for row in strata),
        calls,
        min(correlations) if len(correlations) == len(strata) else None,
        any(row.differ for row in strata),
        [
            (key, weight * difference)
            for weight, row in zip(weights, strata, strict=True)
            for key, difference in row.differences
        ],
        max(weight * row.reach for weight, row in zip(weights, strata, strict=True)),
    )


def _calls_with_cases(matrix: CallMatrix | SparseMatrix, task: str) -> Collection[int]:
    """The keys of the calls that a matrix has cases of; its units are single calls."""
    at = matrix.place.get((task, "", "cases"))
    if at is None:
        return ()
    return {int(key) for key in matrix.units.calls[matrix.sums[at] > 0]}


class _Cases:
    """The judged cases of one row as arrays."""

    def __init__(self, row: MetricShape, keys: Sequence[int], cases: Sequence[Labelled]) -> None:
        import numpy as np

        self.row = row
        self.keys = keys
        self.cases = cases
        self.labelled = sum(case.labelled > 0 for case in cases)
        self.weight = np.array([case.weight for case in cases])
        self.judged, self.difference = {}, {}
        for name in quantities_of(row):
            judged = np.array([_quantity(case.judged, name) for case in cases])
            people = np.array([_quantity(case.people, name) for case in cases])
            self.judged[name] = judged
            self.difference[name] = np.where(self.weight > 0, people - judged, 0.0)

    def _residuals(self) -> tuple[Floats, Floats]:
        """What a case adds to the row beyond its mean, by the judge; and people − judge."""
        if self.row.kind != "pooled":
            return self.judged["total"], self.difference["total"]
        items = self.judged["denominator"].sum()
        share = self.judged["numerator"].sum() / items if items else 0.0
        return (
            self.judged["numerator"] - share * self.judged["denominator"],
            self.difference["numerator"] - share * self.difference["denominator"],
        )

    def lines(self) -> Sequence[tuple[str, Floats]]:
        """The quantities that are summed over calls."""
        import numpy as np

        weight, (judged, difference) = self.weight, self._residuals()
        moments = (
            np.ones_like(weight),
            weight,
            judged,
            weight * judged,
            weight * judged**2,
            judged * difference,
            difference,
        )
        found = list(zip(_MOMENTS, moments, strict=True))
        for name, values in self.judged.items():
            parts = (values, weight * values, self.difference[name])
            found += [(f"{name}.{part}", of) for part, of in zip(_PARTS, parts, strict=True)]
        return found

    def summary(self) -> RowLabels:
        """The labels, and how they relate to the judge."""
        import numpy as np

        judged, difference = self._residuals()
        known = self.weight > 0
        people = judged[known] + difference[known] / self.weight[known]
        mean_weight = float(self.weight[known].mean())
        scale = self._scale() * mean_weight
        return RowLabels(
            sum(case.labelled for case in self.cases),
            int(known.sum()),
            correlation(list(people), list(judged[known])),
            bool((np.abs(difference[known]) > 1e-12).any()),
            [
                (key, float(value) / scale)
                for key, value, is_labelled in zip(self.keys, difference, known, strict=True)
                if is_labelled
            ],
            self._heaviest() * float(self.weight[known].max()) / mean_weight,
        )

    def _heaviest(self) -> float:
        """How much more than a mean call one call can count."""
        if self.row.kind != "pooled":
            return 1.0
        items = self.judged["denominator"]
        return float(items.max() / max(items.mean(), 1e-12))

    def _scale(self) -> float:
        """The size that a difference is compared with: the range, or the mean items of a call."""
        if self.row.kind == "pooled":
            return max(float(self.judged["denominator"].mean()), 1e-12)
        return 100.0 if self.row.percent else 1.0


def quantities_of(row: MetricShape) -> Sequence[str]:
    """The sums that a row is computed from."""
    if row.slug == BLOCKED_SHARE:
        return ("total",)
    return ("total", "n", "numerator", "denominator") if row.kind == "pooled" else ("total", "n")


def _quantity(measure: Measure, name: str) -> float:
    if measure.value is None:
        return 0.0
    if name == "n":
        return 1.0
    return float(measure.value if name == "total" else getattr(measure, name))


class LabelCorrection:
    """Replaces the sums of judged rows by their prediction-powered estimates."""

    def __init__(
        self, labels: LabelMatrix, place: Mapping[ColumnKey, int], shape: ModelShape
    ) -> None:
        self._place, self._labels = place, labels
        self._rows = {row.slug: row for task in shape.tasks.values() for row in task.rows}

    def correct(self, sums: Floats, label_sums: Floats) -> tuple[Floats, Mapping[Block, Floats]]:
        """The corrected sums of a model, and the weight of its judge (λ) by row."""
        found, weights = sums.copy(), {}
        for (task, slug), columns in self._labels.columns.items():
            row = self._rows.get(slug, MetricShape(BLOCKED_SHARE, "mean"))
            trusts = []
            for column in columns:
                lines = _BlockSums(self._labels.matrix.place, label_sums, (column, slug))
                trusts.append(judge_weights(lines.moments()))
                for name in quantities_of(row):
                    key = (column, "", "blocked") if slug == BLOCKED_SHARE else (column, slug, name)
                    if key in self._place:
                        at = self._place[key]
                        judged, estimate = lines.estimate(name, trusts[-1])
                        found[at] = found[at] - judged + estimate
                self._clip(found, column, row)
            weights[task, slug] = sum(trusts[1:], trusts[0]) / len(trusts)
        return found, weights

    def _clip(self, sums: Floats, task: str, row: MetricShape) -> None:
        """Keep a row in its range: an estimate of a share may be below 0 or above 1."""
        import numpy as np

        def at(slug: str, name: str) -> int | None:
            return self._place.get((task, slug, name))

        pairs = [(at(row.slug, "total"), at(row.slug, "n"), 100.0 if row.percent else 1.0)]
        if row.kind == "pooled":
            pairs = [(at(row.slug, "numerator"), at(row.slug, "denominator"), 1.0)]
        if row.slug == BLOCKED_SHARE:
            pairs = [(at("", "blocked"), at("", "cases"), 1.0)]
        for above, below, most in pairs:
            if above is not None and below is not None and row.kind != "count":
                sums[above] = np.clip(sums[above], 0.0, most * np.maximum(sums[below], 0.0))


class _BlockSums:
    """The sums of one row."""

    def __init__(self, place: Mapping[ColumnKey, int], sums: Floats, block: Block) -> None:
        self._place, self._sums, self._block = place, sums, block

    def _get(self, name: str) -> Floats:
        line: Floats = self._sums[self._place[(*self._block, name)]]
        return line

    def moments(self) -> LabelSums:
        """The sums that λ is estimated from."""
        calls, labelled, total, judged, squares, products, differences = map(self._get, _MOMENTS)
        return LabelSums(
            labels=labelled,
            human=judged + differences,
            judge=judged,
            products=squares + products,
            squares=squares,
            others=calls - labelled,
            judge_alone=total - judged,
        )

    def estimate(self, name: str, trust: Floats) -> tuple[Floats, Floats]:
        """The sum of the judge over all judged calls, and its estimate by people."""
        import numpy as np

        whole, judged, difference = (self._get(f"{name}.{part}") for part in _PARTS)
        calls, labelled = self._get("calls"), self._get("labelled")
        none = np.zeros_like(calls)
        sums = LabelSums(
            labels=labelled,
            human=judged + difference,
            judge=judged,
            products=none,
            squares=none,
            others=calls - labelled,
            judge_alone=whole - judged,
        )
        return whole, calls * corrected_means(sums, trust)
