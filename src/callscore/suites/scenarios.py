"""The suite with scenarios, imported where scenarios are used."""

from __future__ import annotations

from functools import cache

from callscore.core.scenarios import ScenarioSuite


@cache
def scenario_suite() -> ScenarioSuite:
    """The suite that scores scenarios."""
    from callscore.suites.orchestration.scenario_suite import OrchestrationScenarios

    return OrchestrationScenarios()
