"""Task scores compared with the score of a trivial answer (C-135)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from callscore.core.rating import TOLERANCE
from callscore.core.scorecard import ModelScore, TaskScore
from callscore.core.spec import Spec
from callscore.core.suite import Floor
from callscore.metrics.rounding import half_up
from callscore.scorecard.tally import TaskTally

WIDTH_95 = 1.96


def with_floor(score: TaskScore, floor: Floor | None) -> TaskScore:
    """A task score with its floor        C-135"""
    if floor is None:
        return score
    return msgspec.structs.replace(
        score, trivial_floor=floor.score, trivial_strategy=floor.strategy
    )


def is_distinguishable(score: float, floor: float, standard_error: float | None) -> bool:
    """score − floor > 1.96 × standard error; unknown for a single reply        C-135"""
    return standard_error is not None and score - floor > WIDTH_95 * standard_error + TOLERANCE


def no_better_notes(
    models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, TaskTally]], spec: Spec
) -> Sequence[str]:
    """Notes on models that are no better than a trivial answer, or not known to be    C-135"""
    return [
        note for model in models for note in _no_better(model, tallies.get(model.model, {}), spec)
    ]


def _no_better(model: ModelScore, tallies: Mapping[str, TaskTally], spec: Spec) -> Iterator[str]:
    for task, found in model.tasks.items():
        score, floor = found.score, found.trivial_floor
        if score is None or floor is None or task not in tallies:
            continue
        if is_distinguishable(score, floor, tallies[task].standard_error):
            continue
        yield (
            f"{model.model}, {spec.scores[task].label}: {half_up(score, 3)} is not"
            f" distinguishable from the {half_up(floor, 3)} of an answer that reads nothing"
            f" ({found.trivial_strategy})"
        )
