"""Floors: what a trivial answer would score, and which models are no better (C-135).

The usual mark of a question is that of the other calls, and gates remove no strategy, so that a
floor does not jump as calls are added.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.scorecard import FloorMargin, ModelScore, TaskScore
from callscore.core.spec import TOLERANCE, Spec
from callscore.core.task import Floor, FloorTally, Task
from callscore.metrics.rounding import half_up
from callscore.scorecard.formula import TaskFormula, formula_value, part_score, task_score
from callscore.scorecard.tally import TaskTally

WIDTH_95 = 1.96
"""Standard errors on either side of a 95 % interval."""


def with_floor(score: TaskScore, floor: Floor | None, formula: TaskFormula) -> TaskScore:
    """A task score with its floor; judged rows are the model's own, if it was judged       C-135"""
    if floor is None:
        return score
    own = {slug: value for slug in floor.judged if (value := score.metrics[slug].value) is not None}
    rows = {slug: None for slug in formula.weighted} | {**floor.rows, **own}
    is_known = not own and floor.score is not None
    found = floor.score if is_known else task_score(formula.score, rows)
    return msgspec.structs.replace(
        score,
        trivial_floor=found,
        trivial_strategy=floor.strategy,
        above_floor=_margins(score, rows, formula) if formula.score.above_floor else msgspec.UNSET,
    )


def _margins(
    score: TaskScore, floors: Mapping[str, float | None], formula: TaskFormula
) -> Mapping[str, FloorMargin]:
    """What must be better than a trivial answer, by itself: value, floor and best case    C-141"""
    at_best = values_at_best(score, formula)
    found = {}
    for name in formula.score.above_floor:
        part = formula.score.parts.get(name)
        if part is None:
            of = (score.metrics[name].value, floors.get(name), at_best[name])
        else:
            of = (
                score.subscores[name].score,
                part_score(part, {slug: floors.get(slug) for slug in part.weights}),
                part_score(part, at_best),
            )
        if of[0] is not None and of[1] is not None and of[2] is not None:
            found[name] = FloorMargin(of[0], of[1], of[2])
    return found


def values_at_best(score: TaskScore, formula: TaskFormula) -> Mapping[str, float | None]:
    """The rows as the formula uses them, as if everything undecided were right        C-141"""
    values: dict[str, float | None] = {}
    for slug, metric in score.metrics.items():
        best = score.metrics.get(formula.specs[slug].at_best)
        values[slug] = formula_value(formula.specs[slug], metric)
        if best is not None and best.value is not None:
            values[slug] = best.value
    return values


def with_range(score: TaskScore, formula: TaskFormula) -> TaskScore:
    """A task score with the range that its undecided values allow: [as if wrong, as if right]

    C-141
    """
    if score.score is None or not any(score.metrics[slug].approximate for slug in formula.scored):
        return score
    best = task_score(formula.score, values_at_best(score, formula))
    if best is None or best <= score.score:
        return score
    return msgspec.structs.replace(score, provisional_range=(score.score, best))


def compare_with_floor(
    score: float, floor: float, standard_error: float | None
) -> Literal["better", "worse", "not distinguishable"]:
    """|score − floor| > 1.96 × standard error; a single reply can only be worse        C-135"""
    above = score - floor
    if standard_error is None:
        return "worse" if above < -TOLERANCE else "not distinguishable"
    if abs(above) <= WIDTH_95 * standard_error + TOLERANCE:
        return "not distinguishable"
    return "better" if above > 0 else "worse"


def floor_notes(
    models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, TaskTally]], spec: Spec
) -> Iterator[str]:
    """Notes on models that are no better than a trivial answer, or not known to be    C-135"""
    for model in models:
        of_tasks = tallies.get(model.model, {})
        for task, found in model.tasks.items():
            score, floor = found.score, found.trivial_floor
            if score is None or floor is None or task not in of_tasks:
                continue
            compared = compare_with_floor(score, floor, of_tasks[task].standard_error)
            if compared == "better":
                continue
            relation = "worse than" if compared == "worse" else "not distinguishable from"
            yield (
                f"{model.model}, {spec.scores[task].label}: {half_up(score, 3)} is {relation} the"
                f" {half_up(floor, 3)} of an answer that reads nothing ({found.trivial_strategy})"
            )


def best_floor(tally: FloorTally, formula: TaskFormula) -> Floor:
    """max over strategies and their mixtures of the task's formula        C-135

    Gates do not matter: a strategy that they block on one more call would make the floor jump.
    """
    found = Floor(None, None)
    for strategy in tally.strategies():
        score = task_score(formula.score, strategy.rows)
        if score is not None and (found.score is None or score > found.score):
            found = Floor(score, strategy.name, strategy.rows, tally.judged)
    return found


def name_mixture(kinds: Sequence[str], ways: Sequence[str]) -> str:
    """The name of a strategy that answers each kind in its own way."""
    if len(set(ways)) == 1:
        return ways[0]
    return "; ".join(f"{kind}: {way}" for kind, way in zip(kinds, ways, strict=True))


def share(part: float, whole: float) -> float | None:
    """part / whole; None if the whole is 0"""
    return part / whole if whole else None


def mean_share(counts: Counter[tuple[int, int]]) -> float | None:
    """The mean of part / whole over calls that are counted by (part, whole); None without calls"""
    values = (count * part / whole for (part, whole), count in counts.items())
    return share(math.fsum(values), counts.total())


NOTHING_SEEN: Mapping[str, int] = {}
ENOUGH = 1_000
"""Cases of a task that are enough for a floor."""


class DataFloors:
    """The scores of trivial answers on the cases added so far        C-135

    In a large data set every k-th case of a task is counted, about `ENOUGH` in all, which is exact
    to about 0.01. The name of the strategy mentions it.
    """

    def __init__(
        self,
        formula_of: Callable[[str], TaskFormula],
        cases: int = 0,
        seen: Mapping[str, int] = NOTHING_SEEN,
    ) -> None:
        """`cases` is their number, if it is known; `seen` has the cases before them, by task."""
        self._formula_of = formula_of
        self._step = max(1, cases // ENOUGH)
        self._seen = dict(seen)
        self.tallies: dict[str, FloorTally | None] = {}
        """By task; None for a task without floors."""

    def add(self, task: Task[Any, Any], reference: object) -> None:
        """Count a case by its reference, if it is the k-th."""
        if self.is_due(task.name):
            self.count(task, reference)

    def is_due(self, task: str) -> bool:
        """Whether the next case of a task is counted."""
        seen = self._seen[task] = self._seen.get(task, 0) + 1
        return self._step == 1 or seen % self._step == 1

    def count(self, task: Task[Any, Any], reference: object) -> None:
        """Count a case that is due."""
        name = task.name
        if name not in self.tallies:
            self.tallies[name] = task.floor()
        tally = self.tallies[name]
        if tally is not None:
            tally.add(reference)

    def join(self, later: Mapping[str, FloorTally | None]) -> None:
        """Add the tallies of later cases, which must not be used afterwards."""
        for task, tally in later.items():
            own = self.tallies.get(task)
            if own is None or tally is None:
                self.tallies[task] = tally
            else:
                own += tally

    def found(self) -> Mapping[str, Floor]:
        """The floor of every task that has one."""
        found: dict[str, Floor] = {}
        for task, tally in self.tallies.items():
            if tally is not None:
                floor = found[task] = best_floor(tally, self._formula_of(task))
                if self._step > 1 and floor.strategy is not None:
                    sampled = f"{floor.strategy} (1 of {self._step} cases counted)"
                    found[task] = floor._replace(strategy=sampled)
        return found

    def data_notes(self) -> list[str]:
        """The floors, and what the data cannot show."""
        floors = [
            f"an answer that reads nothing scores {task} {half_up(floor.score, 3)}:"
            f" {floor.strategy}"
            for task, floor in self.found().items()
            if floor.score is not None
        ]
        counted = [tally for tally in self.tallies.values() if tally is not None]
        return [*floors, *(note for tally in counted for note in tally.notes())]
