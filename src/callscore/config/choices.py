"""What `judge` and `embedder` may say: a word, or a YAML file that names models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from callscore.core.errors import UsageError

if TYPE_CHECKING:
    from callscore.config.judges import EmbedderChoice, JudgeChoice


def judge_choice(given: str) -> JudgeChoice:
    """`none`, `offline`, or the models in a file."""
    if given in ("none", "offline"):
        return given
    from callscore.config.judges import load_judge

    return load_judge(_file("judge", given, "none, offline"))


def default_embedder(judge: object) -> str:
    """Where somebody judges, sentences are compared, too."""
    return "none" if judge == "none" else "auto"


def embedder_choice(given: str) -> EmbedderChoice:
    """The name of an embedder, or the model in a file."""
    if given == "none":
        return given
    from callscore.config.judges import load_embedder
    from callscore.embeddings.catalog import NAMES

    if given in NAMES:
        return given
    return load_embedder(_file("embedder", given, ", ".join(NAMES)))


def _file(option: str, given: str, words: str) -> Path:
    path = Path(given)
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{option} {given!r}; expected {words}, or a YAML file")
    return path
