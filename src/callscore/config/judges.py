"""Judges and embedders, in an eval file or in a separate file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.config.file import OFFLINE, ModelEntry
from callscore.config.models import checked_model
from callscore.config.parse import converted
from callscore.config.score import BUILT_IN_JUDGES, default_embedder, known_judges
from callscore.core.run import ModelSpec
from callscore.store.strict_yaml import Document, in_memory, read_yaml

JudgeChoice = str | tuple[ModelSpec, ...]
"""`none`, `offline`, or the judging models, in the order of requests."""
EmbedderChoice = str | ModelSpec
"""The name of an embedder, or a model behind `/embeddings`."""

MOST_JUDGES = 3
STYLES = ("items", "document")


def judge_of(document: Document, part: str, value: Any) -> JudgeChoice:
    """The judges under a key: a name, one model, or up to three."""
    if value is None or value in BUILT_IN_JUDGES:
        return value or "none"
    if isinstance(value, str) and value in known_judges():
        return value
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in entries):
        raise document.error(
            part,
            f"{value!r}; expected {', '.join(known_judges())}, a model or a list of models",
        )
    if not 1 <= len(entries) <= MOST_JUDGES:
        raise document.error(part, f"{len(entries)} judges; expected one to {MOST_JUDGES}")
    places = [f"{part}[{i}]" if part else f"[{i}]" for i in range(len(entries))]
    judges = tuple(
        _judge(document, place if isinstance(value, list) else part, entry)
        for place, entry in zip(places, entries, strict=True)
    )
    if len({judge.style for judge in judges}) > 1:
        raise document.error(part, "judges of two styles; expected one style for all of them")
    return judges


def _judge(document: Document, part: str, entry: dict[str, Any]) -> ModelSpec:
    """A judging model, and the style of its requests."""
    model = {key: value for key, value in entry.items() if key != "style"}
    style = entry.get("style", STYLES[0])
    if style not in STYLES:
        place = f"{part}.style" if part else "style"
        raise document.error(place, f"{style!r}; expected one of {', '.join(STYLES)}")
    return msgspec.structs.replace(_model(document, part, model), style=style)


def embedder_of(document: Document, part: str, value: Any, judge: JudgeChoice) -> EmbedderChoice:
    """The embedder under a key: a name, or a model behind `/embeddings`."""
    if value is None:
        return default_embedder(judge)
    if not isinstance(value, str):
        return _model(document, part, value)
    if value == "none":
        return value
    from callscore.embeddings.catalog import NAMES  # imported only with an embedder

    if value not in NAMES:
        raise document.error(part, f"{value!r}; expected a model, or one of {', '.join(NAMES)}")
    return value


ModelEntries = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""One model or several, with the keys of an entry of `models`."""


def load_judge(source: Path | ModelEntries) -> JudgeChoice:
    """The judges in a file or a mapping: under its key `judge`, or the models themselves."""
    document = read_yaml(source) if isinstance(source, Path) else in_memory(source, "judge")
    value = document.value
    if isinstance(value, dict) and "judge" in value:
        return judge_of(document, "judge", value["judge"])
    return judge_of(document, "", value)


def load_embedder(source: Path | Mapping[str, Any]) -> EmbedderChoice:
    """The embedder in a file or a mapping: under its key `embedder`, or the model itself."""
    document = read_yaml(source) if isinstance(source, Path) else in_memory(source, "embedder")
    value = document.value
    if isinstance(value, dict) and "embedder" in value:
        return embedder_of(document, "embedder", value["embedder"], "none")
    return embedder_of(document, "", value, "none")


def _model(document: Document, part: str, entry: Any) -> ModelSpec:
    if not isinstance(entry, dict):
        raise document.error(part, f"{entry!r}; expected a model: name, provider, model")
    found: ModelEntry = converted(document, ModelEntry, part, entry)
    if found.provider in OFFLINE:
        raise document.error(
            f"{part}.provider" if part else "provider",
            f"{found.provider} replies from cases and cannot judge; expected an API",
        )
    return checked_model(document, part, found)
