"""Validates `data.orchestration`: the folders, the protocol and the scoring (C-133)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import msgspec

from callscore.config.file import OFFLINE, SCENARIOS, ScenarioEntry
from callscore.core.run import ModelSpec
from callscore.core.scenarios import History, Mode, ProtocolName, ScenarioData, ScenarioSettings
from callscore.store.strict_yaml import Document
from callscore.suites.registry import scenario_suite

PART = f"data.{SCENARIOS}"
_WITHOUT_TEMPERATURE = "gpt-5"
"""Models of this name take no temperature; the public runner sets the reasoning effort instead."""


def scenario_data(document: Document, entry: ScenarioEntry) -> tuple[ScenarioData, ...]:
    """The folders of every language."""
    folder = document.path.parent
    scenarios = [folder / name for name in _listed(entry.scenarios)]
    cards = [folder / name for name in _listed(entry.cards)]
    for path in (*scenarios, *cards):
        if not path.is_dir():
            raise document.error(PART, f"{path}: no such folder")
    if len(cards) == 1:
        cards = cards * len(scenarios)
    if not scenarios or len(cards) != len(scenarios):
        raise document.error(PART, "expected one folder of cards, or one for each of the scenarios")
    return tuple(ScenarioData(*pair) for pair in zip(scenarios, cards, strict=True))


def _listed(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def scenario_settings(
    document: Document, entry: ScenarioEntry, cases: Sequence[Path] = ()
) -> ScenarioSettings:
    """The settings, each one of the known words; `cases` are the calls in the same file."""
    for key, value, known in (
        ("protocol", entry.protocol, get_args(ProtocolName)),
        ("mode", entry.mode, get_args(Mode)),
        ("history", entry.history, get_args(History)),
    ):
        if value not in known:
            raise document.error(f"{PART}.{key}", f"{value!r}; expected {' or '.join(known)}")
    if entry.protocol == "public" and cases:
        raise document.error(
            f"{PART}.protocol",
            "the temperature and the repeats of the public protocol apply to the whole file; "
            "expected only scenarios, and the calls in a separate eval file",
        )
    if entry.protocol == "public" and entry.history == "own":
        raise document.error(
            f"{PART}.history", "the public runner has gold history only; expected gold"
        )
    prompts = document.path.parent / entry.prompts if entry.prompts is not None else None
    if prompts is not None and entry.protocol != "public":
        raise document.error(f"{PART}.prompts", "only `protocol: public` has its own prompts")
    if prompts is not None and not prompts.is_file():
        raise document.error(f"{PART}.prompts", f"{entry.prompts!r}: no such file")
    return ScenarioSettings(
        cast("ProtocolName", entry.protocol),
        cast("Mode", entry.mode),
        cast("History", entry.history),
        prompts,
    )


def with_protocol_settings(model: ModelSpec, settings: ScenarioSettings) -> ModelSpec:
    """The model with the public runner's temperature, unless the file gives one        Q48"""
    if not settings.is_public or model.provider in OFFLINE:
        return model
    stated: dict[str, Any]
    if _WITHOUT_TEMPERATURE in model.model:
        stated = {"reasoning_effort": "medium"} if model.provider == "openai" else {}
    else:
        stated = {"temperature": scenario_suite().public_protocol.temperature}
    return msgspec.structs.replace(model, params={**stated, **model.params})


class Departure(NamedTuple):
    """One difference of a run from the public protocol."""

    what: str
    model: str | None = None
    """The model; None for all."""

    def __str__(self) -> str:
        return self.what if self.model is None else f"{self.model}: {self.what}"


def departures(
    repeats: int, models: Sequence[ModelSpec], settings: ScenarioSettings
) -> list[Departure]:
    """Differences of the file from the protocol."""
    if not settings.is_public:
        return []
    public, found = scenario_suite().public_protocol, []
    if repeats != public.repeats:
        what = f"repeats: {repeats}, where the public protocol has {public.repeats}"
        found.append(Departure(what))
    for model in models:
        temperature = model.params.get("temperature", public.temperature)
        if model.provider not in OFFLINE and temperature != public.temperature:
            what = f"temperature {temperature}, where the public protocol has {public.temperature}"
            found.append(Departure(what, model.name))
    return found
