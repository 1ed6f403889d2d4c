"""Which LLM to put on your calls, what it will cost, whether the answer can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callscore.core.version import __version__

if TYPE_CHECKING:
    from callscore.app import score
    from callscore.running.api import run

__all__ = ["__version__", "run", "score"]


def __getattr__(name: str) -> Any:
    # The API is imported when it is first used, so that `callscore --help` stays quick.
    if name == "score":
        from callscore.app import score

        return score
    if name == "run":
        from callscore.running.api import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
