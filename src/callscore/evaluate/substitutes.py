"""What takes the place of a judging model, LaBSE or mUSE: decided by settings and data (C-125).

A metric is an estimate for every model of a card, or for none: also for a model whose replies need
no judge and no embedder. So it is decided case by case before any reply is looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from callscore.core.judging import Verdicts
from callscore.core.measure import Measure
from callscore.core.task import BenchmarkLayer
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.judging import JudgeRunner, author_name

NONE: frozenset[str] = frozenset()

NameOf = Callable[[str, str | None], str | None]
"""The substitute that compares a reference in a language; None if LaBSE or mUSE does."""


class Marks(NamedTuple):
    """The metrics of a case that are estimates, and those of them that have no rating either."""

    estimates: frozenset[str]
    unrated: frozenset[str]


NO_MARKS = Marks(NONE, NONE)
SubstituteCounts = tuple[Mapping[str, Counter[str]], Counter[str]]


class Substitutes:
    """The substitutes of one scoring pass, and how many cases each of them served."""

    def __init__(
        self,
        judge_runner: JudgeRunner | None,
        in_files: Mapping[str, str],
        *,
        whole: bool = False,
    ) -> None:
        """`in_files` has the author of approximate verdicts in files, by metric."""
        judge = judge_runner.judge if judge_runner is not None else None
        embedder: Any = judge_runner.embedder if judge_runner is not None else None
        self._judged: frozenset[str] = getattr(judge, "estimates", NONE) | frozenset(in_files)
        self._name_of: NameOf | None = getattr(embedder, "substitute", None)
        self._in_files = in_files
        self._whole = whole
        self._served: dict[str, Counter[str]] = {}
        self._cases: Counter[str] = Counter()

    @property
    def counts(self) -> SubstituteCounts:
        """By metric, the cases that each substitute served, and all cases."""
        return self._served, self._cases

    def join(self, counts: SubstituteCounts) -> None:
        """Add the counts of later cases."""
        for metric, served in counts[0].items():
            self._served.setdefault(metric, Counter()).update(served)
        self._cases.update(counts[1])

    def of_case(self, loaded: LoadedCase, layer: BenchmarkLayer | None, of_case: Verdicts) -> Marks:
        """The metrics of a case that a substitute serves, whatever the replies are        C-125"""
        needs = loaded.task.needs(loaded.reference, of_case)
        by_rule = NONE if self._whole else frozenset(needs.by_rule)
        if not self._judged and self._name_of is None:
            return Marks(by_rule, NONE) if by_rule else NO_MARKS
        judged = self._judged.intersection(needs.judged) if self._judged else NONE
        compared = needs.compared
        if layer is not None:
            compared = [*compared, *layer.compared(loaded.case)]
        unrated = {*judged, *self._compared_by(loaded, compared)}
        if self._judged:
            unrated |= self._dependent(loaded, layer, judged)
        return Marks(by_rule.union(unrated), frozenset(unrated))

    def _compared_by(
        self, loaded: LoadedCase, compared: Iterable[tuple[str, str]]
    ) -> Iterable[str]:
        """The metrics with a text that a substitute compares."""
        names: dict[str, str] = {}
        language = loaded.task.compared_language(loaded.case)
        for metric, reference in compared:
            if metric not in names and self._name_of is not None:
                name = self._name_of(reference, language)
                if name is not None:
                    names[metric] = name
            self._cases.setdefault(metric, 0)
        for metric in dict.fromkeys(metric for metric, _ in compared):
            if metric in self._in_files:
                names.setdefault(metric, author_name(self._in_files[metric]))
            self._cases[metric] += 1
            if metric in names:
                self._served.setdefault(metric, Counter())[names[metric]] += 1
        return names

    def _dependent(
        self, loaded: LoadedCase, layer: BenchmarkLayer | None, judged: Iterable[str]
    ) -> set[str]:
        """The measures that use verdicts on these metrics; of the benchmarks, on any metric."""
        rules, metrics = loaded.rules, loaded.suite.spec.slugs_of(loaded.task.name)
        found = {slug for slug in metrics if not rules.sources_of(slug).isdisjoint(judged)}
        if layer is not None:
            criteria = loaded.suite.spec.benchmarks.criteria
            found |= {slug for slug in criteria if rules.sources_of(slug) & self._judged}
        return found

    def names(self) -> Mapping[str, str]:
        """By metric that an embedder serves, what compared instead: `chrF in 5 of 13 calls`."""
        return {
            metric: ", ".join(
                name
                if number == self._cases[metric]
                else f"{name} in {number} of {self._cases[metric]} calls"
                for name, number in served.items()
            )
            for metric, served in self._served.items()
        }


def mark_measures(measures: Mapping[str, Measure], marks: Marks) -> Mapping[str, Measure]:
    """The measures of a reply, estimates where a substitute serves their metric        C-125"""
    changed = {
        slug: msgspec.structs.replace(measure, approximate=True, unrated=slug in marks.unrated)
        for slug in marks.estimates
        if (measure := measures.get(slug)) is not None and measure.value is not None
    }
    return {**measures, **changed} if changed else measures
