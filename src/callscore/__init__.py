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
    from callscore.core.case import Case, Failed, Malformed, Message, Prompt, Reply, Turn
    from callscore.core.errors import CallscoreError, ConfigError, DataError, UsageError
    from callscore.core.judging import JudgeRequest, JudgeResult, Question, Similarity, Verdict
    from callscore.core.measure import Measure
    from callscore.core.ports import Embedder, Judge
    from callscore.core.provider import AttemptFailed, Provider, ProviderRequest, ProviderResponse
    from callscore.core.run import ModelSpec
    from callscore.core.scorecard import Scorecard
    from callscore.core.task import Measured, Task
    from callscore.runner.api import run

__all__ = [
    "AttemptFailed",
    "CallscoreError",
    "Case",
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
    "ModelSpec",
    "Prompt",
    "Provider",
    "ProviderRequest",
    "ProviderResponse",
    "Question",
    "Reply",
    "Scorecard",
    "Similarity",
    "Task",
    "Turn",
    "UsageError",
    "Verdict",
    "__version__",
    "run",
    "score",
]

_MODULES = {
    "app": ("score",),
    "core.case": ("Case", "Failed", "Malformed", "Message", "Prompt", "Reply", "Turn"),
    "core.errors": ("CallscoreError", "ConfigError", "DataError", "UsageError"),
    "core.judging": ("JudgeRequest", "JudgeResult", "Question", "Similarity", "Verdict"),
    "core.measure": ("Measure",),
    "core.ports": ("Embedder", "Judge"),
    "core.provider": ("AttemptFailed", "Provider", "ProviderRequest", "ProviderResponse"),
    "core.run": ("ModelSpec",),
    "core.scorecard": ("Scorecard",),
    "core.task": ("Measured", "Task"),
    "runner.api": ("run",),
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
