"""All tasks that a case file may name, with their formulas, written out by hand.

Whoever scores calls alone does not wait for the orchestration suite to be imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from callscore.core.scorecard import TemplateRow
from callscore.core.task import Task
from callscore.suites.calls import catalog as calls
from callscore.suites.calls import formula as calls_formula
from callscore.suites.calls.answer_spec import EmotionsOfData, no_data_set
from callscore.suites.calls.formula import TaskFormula
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.template import template as calls_template

OTHER_ORIGIN = "orchestration"
"""The task of orchestration cases that are not scenarios: calls, actions, graphs."""


class _Tasks(Mapping[str, Task[Any, Any]]):
    """The tasks by name; the other suite is imported when a case first names it."""

    def __init__(self, settings: Settings, emotions: EmotionsOfData) -> None:
        self._tasks: dict[str, Task[Any, Any] | None] = {
            **calls.tasks(settings, emotions),
            OTHER_ORIGIN: None,
        }

    def __getitem__(self, name: str) -> Task[Any, Any]:
        task = self._tasks[name]
        if task is None:
            from callscore.suites.orchestration.single_turn.task import OrchestrationTask

            task = self._tasks[name] = OrchestrationTask()
        return task

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


def tasks(
    settings: Settings, emotions: EmotionsOfData = no_data_set
) -> Mapping[str, Task[Any, Any]]:
    """The four tasks of document 003, and orchestration cases of other origin.

    `emotions` are those that any reference of the data set names (C-130).
    """
    return _Tasks(settings, emotions)


def formula_for(task: str, settings: Settings) -> TaskFormula:
    """How the measures of a task become its score."""
    if task == OTHER_ORIGIN:
        from callscore.suites.orchestration.single_turn.scoring import formula

        return formula()
    return calls_formula.formula_for(task, settings)


def checked_verdict(metric: str, word: str | None, value: float | None) -> str:
    """The slug of the metric; raises DataError where metric, word or value is not offered."""
    if metric.startswith(f"{OTHER_ORIGIN}."):
        from callscore.suites.orchestration.single_turn.task import VERDICT_WORDS

        if metric in VERDICT_WORDS:
            calls.check_word(metric, VERDICT_WORDS[metric], word)
            return metric
    return calls.checked_verdict(metric, word, value)


@cache
def template(*, other_origin: bool = True) -> Sequence[TemplateRow]:
    """The framework's template, with the rows of orchestration cases behind the four tasks.

    They are imported only where such cases were scored: nobody else sees the rows.
    """
    if not other_origin:
        return calls_template()
    from callscore.suites.orchestration.single_turn import scoring as orchestration

    rows = list(calls_template())
    place = next(i for i, row in enumerate(rows) if row.key == "benchmarks")
    return (*rows[:place], *orchestration.template(), *rows[place:])
