"""The floors of a data set: each reference is added once, whatever models answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from callscore.suites.calls.floors.entity import EntityFloor
from callscore.suites.calls.floors.qa import QAFloor
from callscore.suites.calls.floors.strategy import Floor, FloorTally, best
from callscore.suites.calls.floors.text import TextFloor
from callscore.suites.calls.floors.translation import TranslationFloor
from callscore.suites.calls.formula import formula_for
from callscore.suites.calls.spec import Settings

ENOUGH = 2_000


class Floors:
    """What trivial answers would score on the cases added so far        C-135

    Of a large data set every k-th case of a task is counted, some `ENOUGH` in all: floors are
    known to a hundredth then, and cost no time.
    """

    def __init__(self, settings: Settings, cases: int = 0) -> None:
        self._settings = settings
        self._step = max(1, cases // ENOUGH)
        self._seen: dict[str, int] = {}
        self._tallies: dict[str, FloorTally] = {}
        self._makers: Mapping[str, Callable[[], Any]] = {
            "qa": QAFloor,
            "entity": EntityFloor,
            "text": lambda: TextFloor(settings),
            "translation": TranslationFloor,
        }

    def add(self, task: str, reference: object) -> None:
        """Count a case by its reference; tasks of other suites have no floor."""
        seen = self._seen[task] = self._seen.get(task, 0) + 1
        if self._step > 1 and seen % self._step != 1:
            return
        tally = self._tallies.get(task)
        if tally is None:
            if task not in self._makers:
                return
            tally = self._tallies[task] = self._makers[task]()
        tally.add(reference)

    def found(self) -> Mapping[str, Floor]:
        """The floor of every task that has a case."""
        return {
            task: best(tally.strategies(formula), formula)
            for task, tally in self._tallies.items()
            for formula in (formula_for(task, self._settings),)
        }

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, of all        C-135"""
        tally = self._tallies.get("qa")
        return tally.failures if isinstance(tally, QAFloor) else (0, 0)
