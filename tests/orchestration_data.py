"""Public fixtures in a folder next to the repository; without them, tests are skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from callscore.suites.orchestration.scenario.cards import Cards, index_cards, read_card
from callscore.suites.orchestration.scenario.model import Scenario
from callscore.suites.orchestration.scenario.parse import ScenarioKey, read_scenario

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PARITY = SHARED / "parity"
SCENARIOS = SHARED / "orchestrationbench"

needs_fixtures = pytest.mark.skipif(
    not PARITY.is_dir(), reason="the parity fixtures (../shared/data/parity) are not here"
)
needs_cases = pytest.mark.skipif(
    not (SHARED / "cases").is_dir(), reason="the shared cases (../shared/data/cases) are not here"
)


@cache
def cards_of(lang: str) -> Cards:
    files = sorted((SCENARIOS / lang / "multiagent_cards").glob("*.json"))
    return index_cards(read_card(path.read_bytes()) for path in files)


@cache
def scenarios_of(lang: str) -> Sequence[Scenario]:
    """The public scenarios of a language, in order; cached, because reading them is slow."""
    folder = SCENARIOS / lang / "scenario_data"
    paths = sorted(folder.glob("*.yaml"), key=lambda path: int(path.stem))
    return [
        read_scenario(
            path.read_text(encoding="utf-8"), ScenarioKey(lang, path.stem), cards_of(lang)
        )
        for path in paths
    ]


def tool_schemas(lang: str) -> Mapping[str, Mapping[str, Any]]:
    return {name: tool.parameters for name, tool in cards_of(lang).tools.items()}


def output_files(model: str, lang: str) -> list[Path]:
    folder = PARITY / model / "outputs" / lang
    files = sorted(folder.glob("*_out.json"), key=lambda path: int(path.name.split("_")[0]))
    assert files, f"{model} has no recorded outputs in {lang} to test with"
    return files


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())
