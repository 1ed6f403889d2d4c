"""The floors of a data set: trivial strategies, the best of them, and notes on the data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.core.scorecard import ModelScore
from callscore.core.suite import Floor
from callscore.metrics.rounding import half_up
from callscore.scorecard.formula import TaskFormula, formula_for, task_score
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls.spec import Settings, load_spec


class Strategy(NamedTuple):
    """A way to answer every case without reading it, with the rows it would get."""

    name: str
    rows: Mapping[str, float | None]
    """Every weighted metric, judged ones at their most lenient; None if no case has it."""


class FloorTally(ABC):
    """Adds up the references of a task's cases."""

    judged: frozenset[str] = frozenset()
    """The rows that a judge or an embedder decides, for which a floor takes the model's own."""

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, and all; only QA has any."""
        return 0, 0

    @abstractmethod
    def add(self, reference: Any) -> None:
        """Count one case by the reference of its task."""

    @abstractmethod
    def strategies(self) -> Iterable[Strategy]:
        """The rows of every strategy, and of every mixture of strategies, over all cases so far."""


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


ENOUGH = 1_000
"""Cases of a task that are enough for a floor."""


class CallFloors:
    """The scores of trivial answers on the cases added so far        C-135

    In a large data set every k-th case of a task is counted, about `ENOUGH` in all, which is exact
    to about 0.01. The name of the strategy mentions it.
    """

    def __init__(self, settings: Settings, cases: int = 0) -> None:
        self._settings = settings
        self._step = max(1, cases // ENOUGH)
        self._seen: dict[str, int] = {}
        self._tallies: dict[str, FloorTally | None] = {}

    def add(self, task: str, reference: object) -> None:
        """Count a case by its reference; tasks of other suites have no floor."""
        seen = self._seen[task] = self._seen.get(task, 0) + 1
        if self._step > 1 and seen % self._step != 1:
            return
        if task not in self._tallies:
            self._tallies[task] = _tally_of(task, self._settings)
        tally = self._tallies[task]
        if tally is not None:
            tally.add(reference)

    def found(self) -> Mapping[str, Floor]:
        """The floor of every task that has a case."""
        return {
            task: self._note_sampling(
                best_floor(tally, formula_for(load_spec(), task, self._settings))
            )
            for task, tally in self._tallies.items()
            if tally is not None
        }

    def _note_sampling(self, floor: Floor) -> Floor:
        if self._step == 1 or floor.strategy is None:
            return floor
        return floor._replace(strategy=f"{floor.strategy} (1 of {self._step} cases counted)")

    def data_notes(self) -> Sequence[str]:
        """The floors, and whether a false pass could be seen in the data        C-135"""
        return list(data_notes(self.found(), *self.failures))

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, and all        C-135"""
        tally = self._tallies.get("qa")
        return tally.failures if tally is not None else (0, 0)


def _tally_of(task: str, settings: Settings) -> FloorTally | None:
    """The counter of a task's cases, imported on first use; None for tasks of other suites."""
    if task == "qa":
        from callscore.suites.calls.floors.qa import QAFloor

        return QAFloor()
    if task == "entity":
        from callscore.suites.calls.floors.entity import EntityFloor

        return EntityFloor()
    if task == "text":
        from callscore.suites.calls.floors.text import TextFloor

        return TextFloor(settings)
    if task == "translation":
        from callscore.suites.calls.floors.translation import TranslationFloor

        return TranslationFloor()
    return None


FALSE_PASS = "qa.false_pass_rate"
OF_FAILURES = "false_pass_rate_of_failures"
UNDEMONSTRATED = ": the false pass rate cannot be demonstrated with this data"


def undemonstrated_notes(
    models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, TaskTally]]
) -> Sequence[str]:
    """Notes if passing every question would block no model        C-135"""
    unseen = [_undemonstrated_note(model, tallies.get(model.model, {})) for model in models]
    return list(dict.fromkeys(note for note in unseen if note))


def data_notes(floors: Mapping[str, Floor], failed: int, asked: int) -> Iterator[str]:
    """The floors of a data set, and whether a false pass could be seen in it        C-135"""
    for task, floor in floors.items():
        if floor.score is not None:
            yield (
                f"an answer that reads nothing scores {task} {half_up(floor.score, 3)}:"
                f" {floor.strategy}"
            )
    if asked and not _shows_failures(failed, asked):
        yield f"QA: {_failures_text(failed, asked)}{UNDEMONSTRATED}"


def _undemonstrated_note(model: ModelScore, tallies: Mapping[str, TaskTally]) -> str | None:
    """A note if passing every question would block no model, as people failed too few    C-135"""
    qa, tally = model.tasks.get("qa"), tallies.get("qa")
    if qa is None or tally is None or qa.metrics[FALSE_PASS].value is None:
        return None
    asked = tally.metrics[FALSE_PASS].denominator
    of_failures = tally.metrics.get(f"{FALSE_PASS}/{OF_FAILURES}")
    failed = of_failures.denominator if of_failures is not None else 0
    if not asked or _shows_failures(failed, asked):
        return None
    if of_failures is None or not failed:
        return f"QA: {_failures_text(failed, asked)}{UNDEMONSTRATED}"
    passed = of_failures.numerator
    return (
        f"{model.model}, QA: {_failures_text(failed, asked)}, "
        f"the model passed {_passes_text(passed, failed)}"
        f" ({OF_FAILURES} {half_up(100 * passed / failed, 2)} %){UNDEMONSTRATED}"
    )


def _shows_failures(failed: float, asked: float) -> bool:
    """Whether a model that passes every question would breach the gate        C-35

    True as well if a single false pass would: with that few questions the resolution is shown next
    to the rate.
    """
    gate = load_spec().metrics[FALSE_PASS].gate
    return gate is not None and gate.is_breached(100 * max(failed, 1) / asked)


def _failures_text(failed: float, asked: float) -> str:
    return f"people failed {f'{failed:g}' if failed else 'none'} of {asked:g} questions"


def _passes_text(passed: float, failed: float) -> str:
    if not passed:
        return "none"
    if passed < failed:
        return f"{passed:g} of them"
    return {1: "it", 2: "both"}.get(round(failed), "all of them")
