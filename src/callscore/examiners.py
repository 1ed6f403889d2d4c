"""Who judges and who compares, made from what a config says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from callscore.config import ScoreConfig
from callscore.core.errors import UsageError
from callscore.core.ports import Embedder, Judge
from callscore.examining import Examiner


@contextmanager
def opened_examiner(config: ScoreConfig) -> Iterator[Examiner | None]:
    """The examiner of a config; None where code and files are all that is asked for."""
    judge, embedder = _judge(config), _embedder(config)
    yield Examiner(judge, embedder) if judge is not None or embedder is not None else None


def _judge(config: ScoreConfig) -> Judge | None:
    if config.judge == "none":
        return None
    if isinstance(config.judge, (str, tuple)):
        raise UsageError(f"judge {config.judge!r} is not available")
    return config.judge


def _embedder(config: ScoreConfig) -> Embedder | None:
    if config.embedder == "none":
        return None
    if isinstance(config.embedder, str):
        raise UsageError(f"embedder {config.embedder!r} is not available")
    return config.embedder
