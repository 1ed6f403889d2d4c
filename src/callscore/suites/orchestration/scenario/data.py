"""Reads folders of scenarios and agent cards, and hashes them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Case, Prompt
from callscore.core.errors import DataError, UsageError
from callscore.core.languages import language_of
from callscore.core.run import Survey
from callscore.core.scenarios import (
    ScenarioCheck,
    ScenarioData,
    ScenarioFiles,
    ScenarioSettings,
)
from callscore.suites.orchestration.result_format import natural_sort_key
from callscore.suites.orchestration.scenario.cards import Card, Cards, index_cards, read_card
from callscore.suites.orchestration.scenario.cases import StepCase, step_case, step_cases
from callscore.suites.orchestration.scenario.end_state import NO_ENDING
from callscore.suites.orchestration.scenario.model import AgentStep, RawStep, Scenario
from callscore.suites.orchestration.scenario.output_file import read_recording
from callscore.suites.orchestration.scenario.parse import ScenarioKey, read_scenario
from callscore.suites.orchestration.scenario.protocol import (
    PLANNER,
    SUB_AGENT,
    PromptProtocol,
    bundled_protocol,
    with_own_prompts,
    with_public_prompts,
)
from callscore.suites.orchestration.twins import Outline, check_twins, outline_of
from callscore.suites.orchestration.yaml_text import line_of

SHOWN_DIGITS = 12


def shown_path(path: Path) -> str:
    """The path as in results: relative to the working directory        C-121"""
    if not path.is_absolute():
        return path.as_posix()
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # another drive
        return path.name


def sort_paths(paths: Iterable[Path]) -> list[Path]:
    """Sort paths, with numbers in names as numbers."""
    return sorted(paths, key=lambda path: natural_sort_key(path.as_posix()))


def read_cards(folder: Path, files: ScenarioFiles) -> tuple[Cards, str]:
    """The agent cards of a folder, and the hash of their content        C-132"""
    cards: dict[str, Card] = {}
    places: dict[str, Path] = {}
    for path in files.card_files(folder):
        try:
            card = read_card(files.read_whole(path))
            if (other := places.setdefault(card.agent_id, path)) != path:
                problem = f"a second card for the agent {card.agent_id!r}, next to {other.name}"
                raise DataError(f"{problem}; expected one", field="agent_card.agent_id")
        except DataError as error:
            raise error.with_place(str(path)) from None
        cards[card.agent_id] = card
    known = index_cards(cards.values())
    content = [msgspec.to_builtins(known.by_id[agent]) for agent in sorted(known.by_id)]
    return known, canonical_hash(content)


def select_protocol(settings: ScenarioSettings, files: ScenarioFiles) -> PromptProtocol:
    """The protocol of the settings; raises DataError if the user's prompts cannot be used."""
    protocol = _prompts_of(settings, files)
    return msgspec.structs.replace(protocol, asking_back=settings.asking_back)


def _prompts_of(settings: ScenarioSettings, files: ScenarioFiles) -> PromptProtocol:
    if settings.prompts is None:
        protocol = bundled_protocol(settings.protocol)
    else:
        try:
            protocol = with_public_prompts(files.read_text(settings.prompts))
        except DataError as error:
            raise error.with_place(str(settings.prompts)) from None
    if not settings.own_prompts:
        return protocol
    texts = {name: files.read_text(path).strip() for name, path in settings.own_prompts.items()}
    return with_own_prompts(protocol, texts)


def _check_own_prompts(protocol: PromptProtocol, cards: Cards) -> None:
    """Raise if a prompt is that of an agent without a card."""
    known = (PLANNER, SUB_AGENT, *cards.by_id)
    for name in protocol.own:
        if name not in known:
            raise DataError(f"expected one of {', '.join(known)}", field=f"prompts.{name}")


def _scenario_paths(folder: Path, files: ScenarioFiles) -> Sequence[Path]:
    """The scenario files of a folder; raises DataError if two have one name, which is their id."""
    seen: dict[str, Path] = {}
    for path in files.scenario_files(folder):
        if path.stem in seen:
            raise DataError(
                f"has the same name as {seen[path.stem]}; expected one file per scenario",
                place=str(path),
            )
        seen[path.stem] = path
    return list(seen.values())


def _read_file(path: Path, lang: str, cards: Cards, files: ScenarioFiles) -> Scenario:
    """The scenario of a file; raises DataError with the file, and the line of the field."""
    text = files.read_text(path)
    try:
        return read_scenario(text, ScenarioKey(lang, path.stem), cards)
    except DataError as error:
        line = line_of(text, error.field) if error.field else None
        raise error.with_place(f"{path}:{line}" if line else str(path)) from None


class ScenarioSet:
    """The scenarios of one language with their cards, read on demand."""

    def __init__(
        self,
        data: ScenarioData,
        files: ScenarioFiles,
        limit: int | None = None,
        protocol: PromptProtocol | None = None,
    ) -> None:
        self.protocol = protocol or bundled_protocol("callscore")
        self.folder = data.scenarios
        self.cards, self._cards_hash = read_cards(data.cards, files)
        self.lang = language_of(data.scenarios)
        _check_own_prompts(self.protocol, self.cards)
        self._files = files
        paths = _scenario_paths(data.scenarios, files)
        self._paths = paths[:limit]
        self.names = frozenset(path.stem for path in paths)
        """The ids of all scenarios of the folder, beyond `limit`, too."""
        self.outlines: dict[str, Outline] = {}
        """By scenario, what its twin in another language shares, set by `survey`."""
        self.calls: Mapping[str, str] = {}
        """By scenario, its call, if other languages may have twins; set after all surveys."""
        self.digest = ""
        """The hash of cards and scenarios, set by `survey`; equal for recorded outputs  C-134"""

    def scenarios(self) -> Iterator[Scenario]:
        """Every scenario; raises DataError with the file if one is invalid."""
        for path in self._paths:
            found = _read_file(path, self.lang, self.cards, self._files)
            yield msgspec.structs.replace(found, call=self.calls.get(found.id, ""))

    def requested_steps(self, scenario: Scenario) -> list[StepCase]:
        """The steps to request; an agent without a card has no tool to call and is left out."""
        return [
            case
            for case in step_cases(scenario, self.cards, self.protocol)
            if not isinstance(case.step, AgentStep) or case.step.has_card
        ]

    def survey(self) -> Survey:
        """The ids of all steps, and the hash of data and protocol, as replies depend on both."""
        ids: list[str] = []
        raw, endings = [], []
        for scenario in self.scenarios():
            raw.append((scenario.id, scenario.raw))
            self.outlines[scenario.id] = outline_of(scenario)
            endings.append((scenario.id, scenario.ending))
            ids += [step.id for step in self.requested_steps(scenario)]
        self.digest = scenarios_hash(self._cards_hash, raw)
        endings = [(name, ending) for name, ending in endings if ending != NO_ENDING]
        ended = canonical_hash(msgspec.to_builtins(sorted(endings)))[:8] if endings else ""
        named = "" if self.protocol.name == "callscore" else f":{self.protocol.signature}"
        return Survey(ids, self.digest + named + (f":{ended}" if ended else ""))

    def stream(self) -> Iterator[tuple[Case, Prompt]]:
        """Every step that is requested from a model."""
        for scenario in self.scenarios():
            for step in self.requested_steps(scenario):
                yield step_case(step), step.prompt

    def shown_path(self, scenario_id: str) -> str:
        """The file of the scenario as in results        C-121"""
        found = (path for path in self._paths if path.stem == scenario_id)
        return shown_path(next(found, self.folder))


def check_scenarios(
    folders: Sequence[Path], cards: Sequence[Path], files: ScenarioFiles
) -> ScenarioCheck:
    """Read every scenario like a run, without stopping at the first problem.

    `cards` has one folder for all, or one per folder of scenarios; by default they are inside it.
    """
    if len(cards) not in (0, 1, len(folders)):
        raise UsageError(
            f"{len(cards)} card folders for {len(folders)} scenario folders; "
            "expected one, or one for each"
        )
    scenarios: list[Scenario] = []
    problems: list[DataError] = []
    paths: dict[str, dict[str, Path]] = {}
    for index, folder in enumerate(folders):
        known = read_cards(cards[index % len(cards)] if cards else folder, files)[0]
        lang = language_of(folder)
        for path in sort_paths(_scenario_paths(folder, files)):
            paths.setdefault(lang, {})[path.stem] = path
            try:
                scenarios.append(_read_file(path, lang, known, files))
            except DataError as error:
                problems.append(error)
    for lang in paths:
        outlines = {each.id: outline_of(each) for each in scenarios if each.lang == lang}
        problems += [
            problem.with_place(str(paths[lang][name]))
            for name, problem in check_twins(lang, outlines, paths)
        ]
    return ScenarioCheck(
        len(scenarios),
        sum(len(scenario.plans) for scenario in scenarios),
        sum(len(scenario.agent_steps) for scenario in scenarios),
        tuple(finding for scenario in scenarios for finding in scenario.findings),
        tuple(problems),
    )


def canonical_hash(value: Any) -> str:
    """SHA-256 of the value as canonical JSON with sorted keys        C-132"""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def scenarios_hash(cards: str, scenarios: Iterable[tuple[str, Sequence[RawStep] | None]]) -> str:
    """The hash of the cards' hash and of every scenario's id and steps, in any order        C-134

    Ids of tool calls differ in every public run and are left out, like data that only a scenario
    file has. A scenario without readable steps counts by its id.
    """
    content = sorted(
        [name, [[step.step_id, step.agent, step.content] for step in steps or ()]]
        for name, steps in scenarios
    )
    return canonical_hash([cards, content])[:SHOWN_DIGITS]


def recorded_steps(data: Any, scenario_id: str) -> Sequence[RawStep] | None:
    """The steps of the first run in a decoded output file; None if it has none."""
    if not isinstance(data, Mapping):
        return None
    try:
        return next(iter(read_recording(data, scenario_id).raw_steps), None)
    except DataError:
        return None
