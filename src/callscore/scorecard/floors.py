"""The floor of a model: what a trivial answer would score, and who is no better (C-135)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from callscore.core.scorecard import ModelScore, TaskScore
from callscore.core.spec import TOLERANCE, Spec
from callscore.core.suite import Floor
from callscore.metrics.rounding import half_up
from callscore.scorecard.formula import TaskFormula, task_score
from callscore.scorecard.tally import TaskTally

WIDTH_95 = 1.96


def with_floor(score: TaskScore, floor: Floor | None, formula: TaskFormula) -> TaskScore:
    """A task score with its floor; judged rows are the model's own, if it was judged       C-135"""
    if floor is None:
        return score
    own = {slug: value for slug in floor.judged if (value := score.metrics[slug].value) is not None}
    found = task_score(formula.score, {**floor.rows, **own}) if own else floor.score
    return msgspec.structs.replace(score, trivial_floor=found, trivial_strategy=floor.strategy)


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
) -> Sequence[str]:
    """Notes on models that are no better than a trivial answer, or not known to be    C-135"""
    return [
        note for model in models for note in _floor_notes(model, tallies.get(model.model, {}), spec)
    ]


def _floor_notes(model: ModelScore, tallies: Mapping[str, TaskTally], spec: Spec) -> Iterator[str]:
    for task, found in model.tasks.items():
        score, floor = found.score, found.trivial_floor
        if score is None or floor is None or task not in tallies:
            continue
        compared = compare_with_floor(score, floor, tallies[task].standard_error)
        if compared == "better":
            continue
        relation = "worse than" if compared == "worse" else "not distinguishable from"
        yield (
            f"{model.model}, {spec.scores[task].label}: {half_up(score, 3)} is {relation} the"
            f" {half_up(floor, 3)} of an answer that reads nothing ({found.trivial_strategy})"
        )
