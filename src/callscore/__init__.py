"""Callscore evaluates language models on contact-centre work.

    card = callscore.score("cases.jsonl", "outputs.jsonl", judge="offline")
    card = callscore.run("eval.yaml", budget_usd=5)

`score` measures stored outputs; `run` calls the models of an eval file first. Both return a
`Scorecard`: `card.to_dict()` is what `--json` writes, `card.to_rows()` makes a table, and a
notebook displays the card. Every error that Callscore raises on purpose is a `CallscoreError`.

The other names are for extensions: what a `Task`, a `Provider`, a `Judge` or an `Embedder` takes
and returns. `docs/reference/api.md` lists them and says what is stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from callscore.core.version import __version__

if TYPE_CHECKING:
    from callscore.app import score
    from callscore.comparison.compare import compare
    from callscore.core.case import Case, Failed, Malformed, Message, Prompt, Reply, Turn
    from callscore.core.comparison import Comparison
    from callscore.core.errors import CallscoreError, ConfigError, DataError, UsageError
    from callscore.core.judging import JudgeRequest, JudgeResult, Question, Similarity, Verdict
    from callscore.core.measure import Measure
    from callscore.core.noise import Noise
    from callscore.core.ports import Embedder, Judge
    from callscore.core.provider import AttemptFailed, Provider, ProviderRequest, ProviderResponse
    from callscore.core.run import ModelSpec
    from callscore.core.scorecard import Scorecard
    from callscore.core.spec import Band, MetricSpec, Rating
    from callscore.core.strict_json import read_object
    from callscore.core.suite import Metric, StandaloneTask, Suite
    from callscore.core.task import Measured, Task
    from callscore.runner.api import run
    from callscore.scorecard.suite import SpecSuite

__all__ = [
    "AttemptFailed",
    "Band",
    "CallscoreError",
    "Case",
    "Comparison",
    "ConfigError",
    "DataError",
    "Embedder",
    "Failed",
    "Judge",
    "JudgeRequest",
    "JudgeResult",
    "Malformed",
    "Measure",
    "Measured",
    "Message",
    "Metric",
    "MetricSpec",
    "ModelSpec",
    "Noise",
    "Prompt",
    "Provider",
    "ProviderRequest",
    "ProviderResponse",
    "Question",
    "Rating",
    "Reply",
    "Scorecard",
    "Similarity",
    "SpecSuite",
    "StandaloneTask",
    "Suite",
    "Task",
    "Turn",
    "UsageError",
    "Verdict",
    "__version__",
    "compare",
    "read_object",
    "run",
    "score",
]

_MODULES = {
    "app": ("score",),
    "comparison.compare": ("compare",),
    "core.case": ("Case", "Failed", "Malformed", "Message", "Prompt", "Reply", "Turn"),
    "core.comparison": ("Comparison",),
    "core.errors": ("CallscoreError", "ConfigError", "DataError", "UsageError"),
    "core.judging": ("JudgeRequest", "JudgeResult", "Question", "Similarity", "Verdict"),
    "core.measure": ("Measure",),
    "core.noise": ("Noise",),
    "core.ports": ("Embedder", "Judge"),
    "core.provider": ("AttemptFailed", "Provider", "ProviderRequest", "ProviderResponse"),
    "core.spec": ("Band", "MetricSpec", "Rating"),
    "core.strict_json": ("read_object",),
    "core.run": ("ModelSpec",),
    "core.scorecard": ("Scorecard",),
    "core.suite": ("Metric", "StandaloneTask", "Suite"),
    "core.task": ("Measured", "Task"),
    "runner.api": ("run",),
    "scorecard.suite": ("SpecSuite",),
}


if not TYPE_CHECKING:  # a type checker would take every name for an existing one

    def __getattr__(name: str) -> object:
        # Imported on first use, so that `import callscore` and `callscore --help` stay fast.
        for module, names in _MODULES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]
