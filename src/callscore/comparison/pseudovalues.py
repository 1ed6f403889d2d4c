"""Jackknife pseudovalues of scores, one per call, and baselines made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.comparison.inputs import ComparisonInput, shapes_by_model
from callscore.comparison.row_differences import shapes_by_unit
from callscore.config.baseline import Baseline, BaselineModel, baseline_of
from callscore.core.errors import UsageError
from callscore.core.task import SCENARIO
from callscore.stats.contributions import Contributions, ModelShape
from callscore.stats.matrix import ALL_CALLS, call_matrix, make_units
from callscore.stats.resampling import round_to_grid
from callscore.stats.weighted_scores import ScoreKey, scores
from callscore.suites import registry


def pseudovalues(contributions: Contributions, shape: ModelShape) -> BaselineModel:
    """n·θ − (n − 1)·θ without the call, for the Final Score and every task        Tukey 1958

    For a score that is linear in the calls, their mean is the score; the interval of a difference
    follows from their spread. Calls have no value for scores of scenarios, and vice versa.
    """
    calls: list[str] = []
    by_name: dict[str, list[float | None]] = {}
    for part in shapes_by_unit(shape):
        of_part = {task: columns for task, columns in contributions.items() if task in part.tasks}
        keys, values = _pseudovalues_of_unit(of_part, part)
        for name in {**by_name, **values}:
            before: list[float | None] = by_name.get(name, [None] * len(calls))
            by_name[name] = [*before, *values.get(name, [None] * len(keys))]
        calls += keys
    return BaselineModel({}, calls, by_name)


def _pseudovalues_of_unit(
    contributions: Contributions, shape: ModelShape
) -> tuple[list[str], dict[str, list[float]]]:
    """The keys of calls (or scenarios), and the pseudovalues of each score."""
    import numpy as np

    if not contributions:
        return [], {}
    units = make_units([contributions], most=ALL_CALLS)
    matrix = call_matrix(contributions, shape, units)
    sums = round_to_grid(matrix.sums)
    total = sums.sum(axis=1, keepdims=True)
    whole = scores(shape, matrix.place, total)
    without = scores(shape, matrix.place, total - sums)
    n = units.size
    by_name: dict[str, list[float]] = {}
    for name, key in _score_keys(shape).items():
        if key in whole:
            values = n * whole[key] - (n - 1) * without[key]
            if np.isfinite(values).all():
                by_name[name] = values.tolist()
    return [f"{key:016x}" for key in units.calls.tolist()], by_name


def _score_keys(shape: ModelShape) -> dict[str, ScoreKey]:
    """The scores of a baseline: by name, the key in `scores`."""
    keys: dict[str, ScoreKey] = {
        "final": ("final",),
        **{task: ("task", task) for task in shape.tasks},
    }
    if SCENARIO in shape.tasks:  # gates may be about parts of its score
        addresses = registry.scenario_suite().headlines.values()
        keys |= {name: ("part", *name.split("/")) for name in addresses if "/" in name}
    return keys


def pseudovalues_by_model(
    contributions: Mapping[str, Contributions], shapes: Mapping[str, ModelShape]
) -> dict[str, BaselineModel]:
    """The pseudovalues of every model with contributions and a formula."""
    return {
        model: pseudovalues(contributions[model], shape)
        for model, shape in shapes.items()
        if contributions.get(model)
    }


def make_baseline(source: ComparisonInput, models: Sequence[str] = ()) -> Baseline:
    """The baseline of a run, of all its models or of those named; raises UsageError."""
    names = [model.model for model in source.card.models]
    if unknown := [name for name in models if name not in names]:
        raise UsageError(
            f"{source.label}: has no model {unknown[0]!r}; expected one of {', '.join(names)}"
        )
    shapes = {} if source.uncounted else shapes_by_model(source.card, source.catalog)
    per_call = pseudovalues_by_model(source.contributions, shapes)
    return baseline_of(source.card, models or names, per_call)
