"""The floors of a data set: each reference is added once, independent of the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.suite import Floor
from callscore.scorecard.formula import formula_for
from callscore.suites.calls.floors.strategy import FloorTally, best
from callscore.suites.calls.spec import Settings, load

ENOUGH = 1_000


class CallFloors:
    """The scores of trivial answers on the cases added so far        C-135

    In a large data set every k-th case of a task is counted, about `ENOUGH` in all, which gives
    floors to a hundredth in little time. The strategy mentions it.
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
            task: self._labelled(best(tally.strategies(formula), formula))
            for task, tally in self._tallies.items()
            if tally is not None
            for formula in (formula_for(load(), task, self._settings),)
        }

    def _labelled(self, floor: Floor) -> Floor:
        if self._step == 1 or floor.strategy is None:
            return floor
        return floor._replace(strategy=f"{floor.strategy} (1 of {self._step} cases counted)")

    def data_notes(self) -> Sequence[str]:
        """The floors, and whether a false pass could be seen in the data        C-135"""
        from callscore.suites.calls.floors.card import data_notes

        return list(data_notes(self.found(), *self.failures))

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, of all        C-135"""
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
