"""What each call contributes to a score: pseudo-values, which make the interval of a difference."""

from __future__ import annotations

from collections.abc import Mapping

from callscore.config.baseline import BlessedModel
from callscore.stats.contributions import Contributions, ModelShape
from callscore.stats.matrix import call_matrix, units_of
from callscore.stats.resampling import summable
from callscore.stats.weighted_scores import Key, scores

ALL_CALLS = 1 << 40


def per_call_values(contributions: Contributions, shape: ModelShape) -> BlessedModel:
    """n·θ − (n − 1)·θ without the call, for the Final Score and every task        Tukey 1958

    Their mean is the score, so far as it is linear in the calls, and their spread is its error.
    """
    import numpy as np

    units = units_of([contributions], most=ALL_CALLS)
    matrix = call_matrix(contributions, shape, units)
    sums = summable(matrix.sums)
    whole = sums.sum(axis=1, keepdims=True)
    score = scores(shape, matrix.place, whole)
    without = scores(shape, matrix.place, whole - sums)
    n = units.size
    keys: dict[str, Key] = {"final": ("final",), **{task: ("task", task) for task in shape.tasks}}
    found: dict[str, list[float]] = {}
    for of, key in keys.items():
        if key in score:
            values = n * score[key] - (n - 1) * without[key]
            if np.isfinite(values).all():
                found[of] = values.tolist()
    return BlessedModel({}, [f"{key:016x}" for key in units.calls.tolist()], found)


def per_call_of_models(
    contributions: Mapping[str, Contributions], shapes: Mapping[str, ModelShape]
) -> dict[str, BlessedModel]:
    """The same for every model that has both."""
    return {
        model: per_call_values(contributions[model], shape)
        for model, shape in shapes.items()
        if contributions.get(model)
    }
