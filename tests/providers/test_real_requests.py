"""Requests of real scenarios and calls: roles as every protocol wants them, schemas closed."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from callscore.core.case import Prompt
from callscore.core.scenarios import ScenarioData, ScenarioSettings
from callscore.providers.anthropic import Messages
from callscore.providers.bedrock import Converse
from callscore.providers.gemini import GenerateContent
from callscore.providers.wire_format import WireFormat
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.registry import scenario_suite
from orchestration_data import SCENARIOS

needs_scenarios = pytest.mark.skipif(
    not SCENARIOS.is_dir(), reason="the scenarios (../shared/data) are not here"
)
DIALECTS: dict[str, tuple[WireFormat, str]] = {
    "anthropic": (Messages("m", {}), "messages"),
    "bedrock": (Converse({}), "messages"),
    "gemini": (GenerateContent({}), "contents"),
}


@cache
def scenario_prompts() -> list[Prompt]:
    data = [
        ScenarioData(SCENARIOS / lang / "scenario_data", SCENARIOS / lang / "multiagent_cards")
        for lang in ("EN", "KO")
    ]
    cases = scenario_suite().open_cases(data, ScenarioSettings(), None, SCENARIO_FILES)
    return [prompt for _, prompt in cases.stream()]


def _role(turn: Any) -> str:
    role: str = turn["role"] if isinstance(turn, dict) else turn.role
    return role


@needs_scenarios
@pytest.mark.parametrize("provider", DIALECTS)
def test_the_roles_of_every_real_request_alternate(provider: str) -> None:
    wire_format, name = DIALECTS[provider]
    wrong: Counter[str] = Counter()
    for prompt in scenario_prompts():
        roles = [_role(turn) for turn in wire_format.body(prompt)[name]]
        wrong["alternate"] += any(a == b for a, b in zip(roles, roles[1:], strict=False))
        wrong["first"] += roles[0] != "user"
        wrong["last"] += roles[-1] != "user"
    assert (wrong.total(), len(scenario_prompts())) == (0, 2_502)
