"""Tallies of the benchmark criteria of one task, and the consistency of runs (C-07, C-88, C-98)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import Measure, not_run, plain_share, ratio, undefined
from callscore.core.spec import Criterion

CONSISTENCY = "bench.consistency"
"""The criterion that compares the runs of a case; a single reply has no value."""
FEWEST_RUNS = 2
CriterionMeasures = Mapping[str, Measure]
"""The criteria of one reply, without consistency, which needs several."""


class CriterionTally(msgspec.Struct):
    """The sum of all cases so far for one criterion of one task."""

    total: float = 0.0
    n: int = 0
    passed: int = 0
    """Cases that pass on their own."""
    waiting: int = 0
    failed: int = 0
    approximate: int = 0
    why: str = ""
    """Why the first case without a value has none."""
    plain_total: float = 0.0
    """The sum of the plain values of the cases (C-136)."""
    left_out: float = 0.0

    def add(self, runs: Sequence[Measure], criterion: Criterion) -> float | None:
        """Add one case: the mean of its runs (C-07), unless one of them is still open."""
        waiting = [run for run in runs if run.absence in ("not_run", "failed")]
        for run in waiting:
            self.waiting += run.absence == "not_run"
            self.failed += run.absence == "failed"
            self.why = self.why or run.why
        values = [run.value for run in runs if run.value is not None]
        if waiting or not values:
            return None
        mean = math.fsum(values) / len(values)
        self.total += mean
        self.n += 1
        self.passed += criterion.passes(mean)
        self.approximate += any(run.approximate for run in runs)
        self._add_plain(runs, mean, criterion)
        return mean

    def _add_plain(self, runs: Sequence[Measure], mean: float, criterion: Criterion) -> None:
        """Add the mean of the runs without the limit on padding        C-136"""
        padded = [run for run in runs if run.value is not None and run.left_out]
        if not padded:
            self.plain_total += mean
            return
        counted = [run for run in runs if run.value is not None]
        self.left_out += math.fsum(run.left_out for run in padded) / len(counted)
        self.plain_total += math.fsum(_plain(run, criterion.unit) for run in counted) / len(counted)

    def __add__(self, other: CriterionTally) -> CriterionTally:
        """The sum of both tallies."""
        return CriterionTally(
            total=self.total + other.total,
            n=self.n + other.n,
            passed=self.passed + other.passed,
            waiting=self.waiting + other.waiting,
            failed=self.failed + other.failed,
            approximate=self.approximate + other.approximate,
            why=self.why or other.why,
            plain_total=self.plain_total + other.plain_total,
            left_out=self.left_out + other.left_out,
        )


def _plain(run: Measure, unit: str) -> float:
    if not run.left_out:
        return run.value or 0.0
    return plain_share(run.numerator, run.denominator, run.left_out, unit)


CriterionTallies = dict[str, CriterionTally]


def add_case(
    tallies: CriterionTallies,
    runs: Sequence[CriterionMeasures],
    steady: Measure,
    limits: Mapping[str, Criterion],
) -> Mapping[str, Measure]:
    """Add the runs of one case and their consistency; returns the contribution of the case."""
    found = {slug: [run[slug] for run in runs] for slug in runs[0]}
    if CONSISTENCY in limits:
        found[CONSISTENCY] = [steady]
    return {
        slug: Measure(tallies.setdefault(slug, CriterionTally()).add(measures, limits[slug]))
        for slug, measures in found.items()
    }


def consistency_of(scores: Sequence[Measure], ddof: int) -> Measure:
    """Consistency of the scored runs of one case; a case that always scores 0 counts 0    C-98"""
    for score in scores:
        if score.value is None:
            return score
    steady = consistency([score.value for score in scores if score.value is not None], ddof)
    if steady.absence == "undefined":
        steady = Measure(0.0, 0.0, 1.0)
    approximate = any(score.approximate for score in scores)
    return msgspec.structs.replace(steady, approximate=approximate)


def consistency(scores: Sequence[float], ddof: int) -> Measure:
    """1 − std_dev(scores across N runs) / mean(scores)        003 Consistency, C-98

    If every run scores 0 there is no value, which the mean over cases counts as 0.
    """
    if len(scores) < FEWEST_RUNS:
        return not_run(f"a case has {len(scores)} scored of the two runs that are needed")
    value = _steadiness(scores, ddof)
    return undefined("every run scores 0") if value is None else ratio(value, 1)


def _standard_deviation(values: Sequence[float], ddof: int) -> float:
    """√(Σ (x − mean)² / (n − ddof)); needs more than `ddof` values"""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - ddof))


def _steadiness(values: Sequence[float], ddof: int) -> float | None:
    """1 − standard deviation / mean, clamped to 0 … 1; None if the mean is 0"""
    mean = math.fsum(values) / len(values)
    if mean == 0:
        return None
    return min(1.0, max(0.0, 1 - _standard_deviation(values, ddof) / mean))


def add_tallies(
    one: Mapping[str, CriterionTally], other: Mapping[str, CriterionTally]
) -> CriterionTallies:
    """The sum of both sets of tallies."""
    nothing = CriterionTally()
    return {
        slug: one.get(slug, nothing) + other.get(slug, nothing)
        for slug in dict.fromkeys((*one, *other))
    }
