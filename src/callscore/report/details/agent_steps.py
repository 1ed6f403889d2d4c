"""Scenarios step by step: which steps a model got right, and where it first diverged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

StepState = Literal["right", "diverged", "malformed", "error", "not_run"]
RIGHT = 1.0 - 1e-9


class ScenarioStep(NamedTuple):
    """A step of a scenario: its place in the run, and its number in the scenario."""

    place: int
    case_id: str
    number: int


class ScenarioLine(NamedTuple):
    """A scenario, and the state of every step by model."""

    name: str
    steps: list[ScenarioStep]
    states: dict[str, list[StepState]]

    def first_divergence(self, model: str) -> int | None:
        """The place in `steps` of the first step that is not right; None if all are."""
        states = self.states.get(model, [])
        return next((at for at, state in enumerate(states) if state != "right"), None)


def split_step(case_id: str) -> tuple[str, int]:
    """The scenario of a step and its number: `en/travel#3` is (`en/travel`, 3)."""
    name, mark, number = case_id.rpartition("#")
    return (name, int(number)) if mark and number.isdecimal() else (case_id, 1)


def step_state(status: str, score: float | None) -> StepState:
    """The state of a step from the status and the score of its answer."""
    if status == "error" or status == "not_run":
        return "error" if status == "error" else "not_run"
    if score is not None and score >= RIGHT:
        return "right"
    return "malformed" if status == "invalid" and score is None else "diverged"


def group_steps(
    rows: Iterable[tuple[int, str, Sequence[tuple[str, str, float | None]]]],
) -> list[ScenarioLine]:
    """Scenarios from rows of steps: place, case id, and model, status and score per model."""
    found: dict[str, ScenarioLine] = {}
    for place, case_id, cells in rows:
        name, number = split_step(case_id)
        line = found.setdefault(name, ScenarioLine(name, [], {}))
        at = len(line.steps)
        line.steps.append(ScenarioStep(place, case_id, number))
        for model, status, score in cells:
            states = line.states.setdefault(model, [])
            states += ["not_run"] * (at - len(states))
            states.append(step_state(status, score))
    return list(found.values())
