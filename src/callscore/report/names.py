"""Names of models in sentences: short, safe, and marked if no model was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from callscore.core.scorecard import ModelScore
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

NAMES_SHOWN = 3
MAX_NAME_LENGTH = 40
MARKS: Mapping[str, str] = {
    "simulated": " (simulated)",
    "baseline": " (rules only)",
    "replay": " (recorded)",
}
"""The mark of a model by its provider (C-138)."""

Origins = Mapping[str, str]
"""The provider of every model that was not asked, by its name."""


def origins_of(models: Iterable[ModelScore]) -> Origins:
    """Return the providers of the models that were not asked."""
    return {model.model: model.origin for model in models if model.origin}


def simulated_share(models: Sequence[ModelScore]) -> str:
    """Return how many models are simulated, for a heading; empty if none is."""
    simulated = sum(model.origin == "simulated" for model in models)
    if not simulated:
        return ""
    everyone = simulated == len(models)
    return MARKS["simulated"] if everyone else f" ({simulated} of {len(models)} models simulated)"


def marked_name(name: str, origins: Origins) -> str:
    """Return the name of a model, marked if its answers are simulated, by rules or recorded."""
    return plain(name, MAX_NAME_LENGTH) + MARKS.get(origins.get(name, ""), "")


def marked_names(names: Sequence[str], origins: Origins) -> str:
    """Return several names, the last ones as a number."""
    shown = [marked_name(name, origins) for name in names[:NAMES_SHOWN]]
    more = len(names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more > 0 else join_words(shown)


def join_words(words: Iterable[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def count_undecided_gates(model: ModelScore) -> int:
    """Return how many gates of a model are not decided, over all tasks."""
    return sum(len(task.undecided_gates) for task in model.tasks.values())


def show_blocked_calls(model: ModelScore) -> str:
    """Return how many telephone calls breach a gate on their own        C-87"""
    verb = (
        "breaches a limit on its own" if model.blocked_calls == 1 else "breach a limit on their own"
    )
    return f"{model.blocked_calls} of {show_count(model.calls, 'call')} {verb}"
