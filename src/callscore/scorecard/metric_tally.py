"""The tally of one metric over cases, each with the mean of its runs (C-06, C-07)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.measure import UNDECIDED, Measure


class MetricTally(msgspec.Struct):
    """The sum of all cases so far for one metric; each case counts once, with all its runs."""

    total: float = 0.0
    n: int = 0
    """Cases with a value; `total` is the sum of their values."""
    numerator: float = 0
    denominator: float = 0
    """Integers if those of the cases are: they add faster and exactly."""
    vacuous: int = 0
    """Cases with nothing to count, which have a conventional value (C-13)."""
    approximate: int = 0
    estimated: int = 0
    unrated: int = 0
    waiting: int = 0
    """Cases that lack a verdict or a similarity."""
    failed: int = 0
    """Cases on which a judge or an embedder failed."""
    absent: int = 0
    awaiting: int = 0
    """Items that await a verdict."""
    open_numerator: float = 0
    open_denominator: float = 0
    """The counts of decided items in the cases that wait (C-75)."""
    left_out: float = 0
    """Items that are left out of both counts (C-136)."""
    lowest: float = float("inf")
    """Like `highest` and `positive`, only if the formula watches the metric."""
    highest: float = float("-inf")
    positive: int = 0
    """Cases with a value above 0, outside the first band of a count."""

    @property
    def undecided(self) -> int:
        """Cases in which an item that the metric needs is not decided        C-137"""
        return self.waiting + self.failed

    def add(self, measures: Sequence[Measure]) -> None:
        """Add the measures of some cases, one each.

        The sums are local variables until the end, as this runs for every reply.
        """
        total, numerator, denominator = self.total, self.numerator, self.denominator
        without_value = 0
        for measure in measures:
            value = measure.value
            if value is None or measure.vacuous or measure.approximate or measure.left_out:
                self._count_properties(measure)
                if value is None:
                    without_value += 1
                    continue
            total += value
            numerator += measure.numerator
            denominator += measure.denominator
        self.total, self.numerator, self.denominator = total, numerator, denominator
        self.n += len(measures) - without_value

    def watch(self, cases: Iterable[Measure]) -> None:
        """Add the range of the values of cases, and how many are above 0."""
        lowest, highest, positive = self.lowest, self.highest, self.positive
        for case in cases:
            value = case.value
            if value is None:
                continue
            if value < lowest:
                lowest = value
            if value > highest:
                highest = value
            if value > 0.0:
                positive += 1
        self.lowest, self.highest, self.positive = lowest, highest, positive

    def watch_runs(self, runs: Sequence[Measure], case: Measure) -> None:
        """Add the range of the runs of a case, and whether their mean is above 0."""
        positive = self.positive
        self.watch(runs)
        self.positive = positive + (case.value is not None and case.value > 0)

    def _count_properties(self, measure: Measure) -> None:
        """Count the properties of a measure besides its value."""
        if measure.value is not None:
            self.vacuous += measure.vacuous
            self.approximate += measure.approximate
            self.estimated += measure.estimated
            self.unrated += measure.unrated
            self.left_out += measure.left_out
            return
        absence = measure.absence
        if absence == "absent":
            self.absent += 1
        elif absence in UNDECIDED:
            self.waiting += absence == "not_run"
            self.failed += absence == "failed"
            self.awaiting += measure.awaiting
            self.open_numerator += measure.numerator
            self.open_denominator += measure.denominator

    def __add__(self, other: MetricTally) -> MetricTally:
        """The sum of both tallies."""
        joined = {
            name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__
        }
        joined["lowest"] = min(self.lowest, other.lowest)
        joined["highest"] = max(self.highest, other.highest)
        return MetricTally(**joined)


class Padding(NamedTuple):
    """The value of a rate over all claims, and how many the official value leaves out (C-136)."""

    plain: float
    left_out: float


def to_count(count: float) -> float:
    """A count as a whole number; the mean of several runs may not be one."""
    return int(count) if float(count).is_integer() else count


def mean_of_runs(runs: Sequence[Measure]) -> Measure:
    """mean(runs), each with weight 1 / N in the pooled counts, too        C-07

    Malformed runs are left out of the mean, as malformed calls are left out of a row; while one run
    is undecided, the case is undecided (C-137).
    """
    undecided = [run for run in runs if run.absence in UNDECIDED]
    if undecided:
        return min(undecided, key=lambda run: UNDECIDED.index(run.absence))
    values = [run for run in runs if run.value is not None]
    if not values:
        return runs[0]
    return Measure(
        math.fsum(run.value or 0.0 for run in values) / len(values),
        math.fsum(run.numerator for run in values) / len(values),
        math.fsum(run.denominator for run in values) / len(values),
        vacuous=all(run.vacuous for run in values),
        approximate=any(run.approximate for run in values),
        estimated=any(run.estimated for run in values),
        unrated=any(run.unrated for run in values),
        left_out=math.fsum(run.left_out for run in values) / len(values),
    )
