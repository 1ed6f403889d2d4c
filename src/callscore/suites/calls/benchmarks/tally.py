"""What the cases of one task contribute to the criteria; tallies add (C-06, C-07, C-88)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.measure import Measure
from callscore.suites.calls.benchmarks import measures as formulas
from callscore.suites.calls.benchmarks.words import CONSISTENCY, Benchmarked
from callscore.suites.calls.spec import Criterion, load


class CriterionTally(msgspec.Struct):
    """What all cases so far contribute to one criterion of one task."""

    total: float = 0.0
    n: int = 0
    passed: int = 0
    """Cases that pass by themselves."""
    waiting: int = 0
    failed: int = 0
    approximate: int = 0
    why: str = ""
    """Why the first case that has no value has none."""

    def add(self, runs: Sequence[Measure], criterion: Criterion) -> float | None:
        """Take in one case: the mean of its runs (C-07), unless one of them is still open."""
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
        return mean

    def __add__(self, other: CriterionTally) -> CriterionTally:
        """Both tallies together."""
        return CriterionTally(
            total=self.total + other.total,
            n=self.n + other.n,
            passed=self.passed + other.passed,
            waiting=self.waiting + other.waiting,
            failed=self.failed + other.failed,
            approximate=self.approximate + other.approximate,
            why=self.why or other.why,
        )


Criteria = dict[str, CriterionTally]


def add_case(
    tallies: Criteria, runs: Sequence[Benchmarked], scores: Sequence[Measure], ddof: int
) -> Mapping[str, Measure]:
    """Take in the runs of one case, with the task score of each; says what the case adds."""
    criteria, found = (
        load().benchmarks.criteria,
        {slug: [run[slug] for run in runs] for slug in runs[0]},
    )
    found[CONSISTENCY] = [consistency_of(scores, ddof)]
    return {
        slug: Measure(tallies.setdefault(slug, CriterionTally()).add(measures, criteria[slug]))
        for slug, measures in found.items()
    }


def consistency_of(scores: Sequence[Measure], ddof: int) -> Measure:
    """Consistency of the scored runs of one case; a case that always scores 0 counts 0    C-98"""
    for score in scores:
        if score.value is None:
            return score
    steady = formulas.consistency(
        [score.value for score in scores if score.value is not None], ddof
    )
    if steady.absence == "undefined":
        steady = Measure(0.0, 0.0, 1.0)
    approximate = any(score.approximate for score in scores)
    return msgspec.structs.replace(steady, approximate=approximate)


def joined(one: Mapping[str, CriterionTally], other: Mapping[str, CriterionTally]) -> Criteria:
    """Both sets of tallies together."""
    nothing = CriterionTally()
    return {
        slug: one.get(slug, nothing) + other.get(slug, nothing)
        for slug in dict.fromkeys((*one, *other))
    }
