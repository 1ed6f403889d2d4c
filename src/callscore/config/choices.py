"""Values of `judge` and `embedder`: a name, or models in a YAML file or in a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callscore.core.errors import UsageError
from callscore.core.plugins import plugin_names

if TYPE_CHECKING:
    from callscore.config.judges import EmbedderChoice, JudgeChoice, ModelEntries

BUILT_IN_JUDGES = ("none", "offline")
YAML = (".yaml", ".yml")


def judge_choice(given: str | ModelEntries) -> JudgeChoice:
    """`none`, `offline`, the name of an installed judge, or models."""
    if given in BUILT_IN_JUDGES:
        return str(given)
    if isinstance(given, str) and _is_name(given) and given in known_judges():
        return given
    from callscore.config.judges import load_judge

    if not isinstance(given, str):
        return load_judge(given)
    return load_judge(_file("judge", given, ", ".join(known_judges())))


def known_judges() -> Sequence[str]:
    """The names of judges: the built-in ones, and those of installed packages."""
    return (*BUILT_IN_JUDGES, *plugin_names("callscore.judges"))


def check_judge_name(name: str) -> None:
    """Raise UsageError if no judge has this name."""
    if name not in BUILT_IN_JUDGES and name not in (known := known_judges()):
        raise UsageError(f"judge {name!r} is unknown; expected {', '.join(known)} or models")


def _is_name(given: str) -> bool:
    return Path(given).suffix not in YAML


def default_embedder(judge: object) -> str:
    """The default embedder: with a judge, sentences are compared too."""
    return "none" if judge == "none" else "auto"


def embedder_choice(given: str | Mapping[str, Any]) -> EmbedderChoice:
    """The name of an embedder, or a model."""
    if given == "none":
        return "none"
    from callscore.config.judges import load_embedder
    from callscore.embeddings.catalog import NAMES

    if not isinstance(given, str):
        return load_embedder(given)
    if given in NAMES:
        return given
    return load_embedder(_file("embedder", given, ", ".join(NAMES)))


def _file(option: str, given: str, words: str) -> Path:
    path = Path(given)
    if _is_name(given):
        raise UsageError(f"{option} {given!r}; expected {words}, or a YAML file")
    return path
