"""Callscore evaluates language models on contact-centre work.

    card = callscore.score("cases.jsonl", "outputs.jsonl", judge="offline")
    card = callscore.run("eval.yaml", budget_usd=5)
    comparison = callscore.compare("old.yaml", "new.yaml")

`score` scores stored outputs; `run` first calls the models of an eval file. Both return a
`Scorecard`: `card.to_dict()` is what `--json` writes, `card.to_rows()` makes a table, and a
notebook displays the card. `compare` says whether a second model is better than a first.
Every error that Callscore raises on purpose is a `CallscoreError`.

`callscore.extension` has the types for your own metrics, tasks, suites, providers, judges,
embedders and report formats. `docs/reference/api.md` says what is stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from callscore.core.version import __version__

if TYPE_CHECKING:
    from callscore.app import score
    from callscore.comparison.model_comparison import compare
    from callscore.core.case import Case, Reply
    from callscore.core.comparison import Comparison
    from callscore.core.errors import CallscoreError, ConfigError, DataError, UsageError
    from callscore.core.judging import Embedder, Judge
    from callscore.core.provider import Provider
    from callscore.core.run import Event
    from callscore.core.scorecard import ModelScore, Scorecard
    from callscore.core.suite import Metric, Suite
    from callscore.core.task import Task
    from callscore.runner.api import run

__all__ = [
    "CallscoreError",
    "Case",
    "Comparison",
    "ConfigError",
    "DataError",
    "Embedder",
    "Event",
    "Judge",
    "Metric",
    "ModelScore",
    "Provider",
    "Reply",
    "Scorecard",
    "Suite",
    "Task",
    "UsageError",
    "__version__",
    "compare",
    "run",
    "score",
]

_MODULES = {
    "app": ("score",),
    "comparison.model_comparison": ("compare",),
    "core.case": ("Case", "Reply"),
    "core.comparison": ("Comparison",),
    "core.errors": ("CallscoreError", "ConfigError", "DataError", "UsageError"),
    "core.judging": ("Embedder", "Judge"),
    "core.provider": ("Provider",),
    "core.run": ("Event",),
    "core.scorecard": ("ModelScore", "Scorecard"),
    "core.suite": ("Metric", "Suite"),
    "core.task": ("Task",),
    "runner.api": ("run",),
}


if not TYPE_CHECKING:  # a type checker would take every name for an existing one

    def __getattr__(name: str) -> object:
        from callscore.core.lazy import load_name

        return load_name(globals(), _MODULES, name)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]
