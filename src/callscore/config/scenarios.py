"""The scenarios of an eval file: `data.orchestration` with its protocol (C-133), and the folders
of other suites, whose files become cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import msgspec

from callscore.config.file import (
    OFFLINE,
    SCENARIOS,
    ModelEntry,
    ScenarioEntry,
    StopEntry,
    ToolEntry,
    convert_entry,
)
from callscore.config.models import read_model
from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.plugins import PluginError
from callscore.core.run import ModelSpec
from callscore.core.scenarios import (
    USER,
    History,
    LiveTool,
    Mode,
    ProtocolName,
    ScenarioData,
    ScenarioSettings,
    StopRules,
)
from callscore.store.scenario_files import find_files, read_text
from callscore.store.strict_yaml import Document
from callscore.suites.registry import scenario_readers, scenario_suite

PART = f"data.{SCENARIOS}"
ASKING_BACK = ("text", "status")
MOST_TIMEOUT_S = 600.0
_WITHOUT_TEMPERATURE = "gpt-5"
"""Models of this name take no temperature; the public runner sets the reasoning effort instead."""


class Scenarios(NamedTuple):
    """The scenarios of an eval file, how they are asked and scored, and what the run takes from
    their protocol.
    """

    data: Sequence[ScenarioData] = ()
    settings: ScenarioSettings = ScenarioSettings()
    repeats: int | None = None
    """Repeats of the protocol; None if it has no rule."""
    verdict_metrics: Collection[str] = ()
    """The metrics of verdicts on steps."""


def read_scenarios(
    document: Document, entry: ScenarioEntry, tasks: Collection[str], cases: Sequence[Path]
) -> Scenarios:
    """The scenarios, if the tasks of the file select them; `cases` are the calls in it."""
    suite = scenario_suite()
    metrics = (suite.verdict_metric,)
    if tasks and SCENARIOS not in tasks:
        return Scenarios(verdict_metrics=metrics)
    settings = scenario_settings(document, entry, cases)
    repeats = suite.public_protocol.repeats if settings.is_public else None
    return Scenarios(scenario_data(document, entry), settings, repeats, metrics)


def scenario_cases(suite: str, folder: Path) -> dict[Path, bytes]:
    """By file of a folder, the steps of its scenario as lines of a case file.

    Raises UsageError and DataError.
    """
    reader = scenario_readers()[suite]
    pattern, found = reader.scenario_files, {}
    for path in find_files(folder, [pattern], (), f"scenarios ({pattern})"):
        name = path.relative_to(folder).with_suffix("").as_posix()
        try:
            steps = reader.read_scenario(name, read_text(path))
        except DataError as error:
            raise error.with_place(str(path)) from None
        except PluginError as error:
            raise PluginError(f"{path}: {error}") from error
        found[path] = b"".join(msgspec.json.encode(step) + b"\n" for step in steps)
    return found


def with_scenario_cases(config: ScoreConfig) -> ScoreConfig:
    """The config with the files of every `SUITE:FOLDER` among its case files."""
    lines: dict[Path, bytes] = {}
    cases: list[Path] = []
    for path in config.cases:
        suite, colon, folder = str(path).partition(":")
        if path.exists() or not colon or suite not in scenario_readers():
            cases.append(path)
        else:
            found = scenario_cases(suite, Path(folder))
            cases += found
            lines |= found
    return msgspec.structs.replace(config, cases=cases, case_lines=lines)


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
    for key, given in (("tools", entry.tools), ("user", entry.user)):
        if given and entry.history != "own":
            raise document.error(f"{PART}.{key}", "expected it with history: own only")
    if isinstance(entry.prompts, str) and entry.protocol != "public":
        raise document.error(
            f"{PART}.prompts",
            "a config file of the public runner needs `protocol: public`; expected own prompts "
            "by name: planner, sub_agent, or the id of an agent",
        )
    if entry.asking_back not in (None, *ASKING_BACK):
        words = " or ".join(ASKING_BACK)
        raise document.error(f"{PART}.asking_back", f"{entry.asking_back!r}; expected {words}")
    if entry.asking_back == "text" and (entry.protocol == "public" or entry.mode == "compat"):
        raise document.error(
            f"{PART}.asking_back", "the public protocol and compat know the status only"
        )
    has_own = isinstance(entry.prompts, dict) and entry.protocol != "public"
    by_default = "text" if has_own and entry.mode == "standard" else "status"
    return ScenarioSettings(
        cast("ProtocolName", entry.protocol),
        cast("Mode", entry.mode),
        cast("History", entry.history),
        *_prompt_paths(document, entry.prompts),
        {name: _live_tool(document, name, tool) for name, tool in entry.tools.items()},
        None if entry.user is None else _user(document, entry.user),
        _stop_rules(document, entry.stop),
        (entry.asking_back or by_default) == "text",
    )


def _live_tool(document: Document, name: str, entry: ToolEntry) -> LiveTool:
    part = f"{PART}.tools.{name}"
    if bool(entry.python) == bool(entry.mcp):
        raise document.error(part, "expected python: FILE.py:function, or mcp: [command, …]")
    place, _, function = entry.python.rpartition(":")
    if entry.python and not (place and function):
        raise document.error(f"{part}.python", f"{entry.python!r}; expected FILE.py:function")
    if place.endswith(".py") and not (document.path.parent / place).is_file():
        raise document.error(f"{part}.python", f"{document.path.parent / place}: no such file")
    if not 0 < entry.timeout_s <= MOST_TIMEOUT_S:
        raise document.error(
            f"{part}.timeout_s", f"{entry.timeout_s:g}; expected at most {MOST_TIMEOUT_S:g} seconds"
        )
    return LiveTool(entry.python, entry.mcp, entry.timeout_s, entry.recorded, entry.env)


def _user(document: Document, entry: Mapping[str, Any]) -> ModelSpec:
    """The model that plays the user; its name is always the same."""
    part = f"{PART}.user"
    model: ModelEntry = convert_entry(document, ModelEntry, part, {"name": USER, **entry})
    if model.provider in ("replay", "baseline"):
        raise document.error(f"{part}.provider", f"{model.provider} cannot play a user")
    return msgspec.structs.replace(read_model(document, part, model), name=USER)


def _stop_rules(document: Document, entry: StopEntry) -> StopRules:
    rules = msgspec.convert(msgspec.to_builtins(entry), StopRules)
    for key, least in (("steps", 1), ("user_turns", 1), ("repeats", 2), ("bytes", 1_000)):
        if getattr(rules, key) < least:
            found = getattr(rules, key)
            raise document.error(f"{PART}.stop.{key}", f"{found}; expected at least {least}")
    return rules


def _prompt_paths(
    document: Document, prompts: str | Mapping[str, str] | None
) -> tuple[Path | None, Mapping[str, Path]]:
    """The config file of the public runner, and the files of own prompts."""
    folder, part = document.path.parent, f"{PART}.prompts"
    named = prompts if isinstance(prompts, Mapping) else {}
    own = {name: folder / file for name, file in named.items()}
    config = folder / prompts if isinstance(prompts, str) else None
    for where, path in ((part, config), *((f"{part}.{name}", path) for name, path in own.items())):
        if path is not None and not path.is_file():
            raise document.error(where, f"{path}: no such file")
    return config, own


def with_protocol_settings(model: ModelSpec) -> ModelSpec:
    """The model with the public runner's temperature, unless the file gives one        Q48"""
    if model.provider in OFFLINE:
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
