"""Gates in words: undecided ones, and calls in breach (C-87)."""

from __future__ import annotations

from callscore.core.scorecard import ModelScore
from callscore.report.numbers import show_count


def count_undecided_gates(model: ModelScore) -> int:
    """Return how many gates of a model are not decided, over all tasks."""
    return sum(len(task.undecided_gates) for task in model.tasks.values())


def show_blocked_calls(model: ModelScore) -> str:
    """Return how many telephone calls breach a gate on their own        C-87"""
    verb = (
        "breaches a limit on its own" if model.blocked_calls == 1 else "breach a limit on their own"
    )
    return f"{model.blocked_calls} of {show_count(model.calls, 'call')} {verb}"
