"""A run as a baseline: its values, and call by call what makes the interval of a difference."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.comparison.per_call import per_call_of_models
from callscore.comparison.sides import Loaded, shapes_of
from callscore.config.baseline import Baseline, baseline_of
from callscore.core.errors import UsageError


def bless(loaded: Loaded, models: Sequence[str] = ()) -> Baseline:
    """The baseline of a run, of all its models or of those named."""
    names = [model.model for model in loaded.card.models]
    if unknown := [name for name in models if name not in names]:
        raise UsageError(
            f"{loaded.label}: has no model {unknown[0]!r}; expected one of {', '.join(names)}"
        )
    shapes = shapes_of(loaded.card, loaded.catalog) if loaded.has_counts else {}
    per_call = per_call_of_models(loaded.contributions, shapes)
    return baseline_of(loaded.card, models or names, per_call)
