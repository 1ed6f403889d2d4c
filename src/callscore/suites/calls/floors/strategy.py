"""A trivial answer by its rows, and the best of several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from callscore.core.suite import Floor
from callscore.scorecard.formula import TaskFormula, task_score


class Strategy(NamedTuple):
    """A way to answer every case without reading it, with the rows it would get."""

    name: str
    rows: Mapping[str, float | None]
    """Every weighted metric; None if no case has it."""
    gated: Mapping[str, float | None] = {}
    """The values that gates test; None if there is nothing to count."""


class FloorTally(ABC):
    """Adds up the references of a task's cases."""

    @property
    def failures(self) -> tuple[int, int]:
        """PASS_FAIL questions that people failed, of all; only QA has any."""
        return 0, 0

    @abstractmethod
    def add(self, reference: Any) -> None:
        """Count one case by the reference of its task."""

    @abstractmethod
    def strategies(self, formula: TaskFormula) -> Iterable[Strategy]:
        """The rows of every strategy over all cases so far."""


def best(strategies: Iterable[Strategy], formula: TaskFormula) -> Floor:
    """max over unblocked strategies of the task's formula        C-135"""
    found = Floor(None, None)
    for strategy in strategies:
        score = task_score(formula.score, strategy.rows)
        if score is None or _is_blocked(strategy, formula):
            continue
        if found.score is None or score > found.score:
            found = Floor(score, strategy.name)
    return found


def _is_blocked(strategy: Strategy, formula: TaskFormula) -> bool:
    values = ((gate, strategy.gated.get(gate.slug)) for gate in formula.gates)
    return any(value is not None and gate.rule.breached(value) for gate, value in values)


def share(part: float, whole: float) -> float | None:
    """part / whole; None if the whole is 0"""
    return part / whole if whole else None
