"""Which LLM to put on your calls, what it will cost, whether the answer can be trusted.

    card = callscore.score("cases.jsonl", "outputs.jsonl", judge="offline")
    card = callscore.run("eval.yaml", budget_usd=5)

`score` measures stored answers, `run` asks the models of an eval file first. Both return a
`Scorecard`: `card.to_dict()` is what `--json` writes, `card.to_rows()` makes a table, and a
notebook shows the card by itself. Whatever can go wrong is a `CallscoreError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callscore.core.version import __version__

if TYPE_CHECKING:
    from callscore.app import score
    from callscore.core.errors import CallscoreError, ConfigError, DataError, UsageError
    from callscore.core.scorecard import Scorecard
    from callscore.runner.api import run

__all__ = [
    "CallscoreError",
    "ConfigError",
    "DataError",
    "Scorecard",
    "UsageError",
    "__version__",
    "run",
    "score",
]

_HOMES = {
    "score": "callscore.app",
    "run": "callscore.runner.api",
    "Scorecard": "callscore.core.scorecard",
}


def __getattr__(name: str) -> Any:
    # The API is imported when it is first used, so that `callscore --help` stays quick.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "callscore.core.errors")), name)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]
