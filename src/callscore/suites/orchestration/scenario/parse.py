"""Parses scenarios, from YAML or from the label of a recorded run, with a data report (§1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from callscore.core.case import Malformed
from callscore.core.errors import DataError
from callscore.core.scenarios import DataFinding
from callscore.suites.orchestration.plan.graphs import dangling_dependencies
from callscore.suites.orchestration.plan.parse import read_plan
from callscore.suites.orchestration.scenario.annotation import PLAN_START, Note, read_annotation
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.end_state import NO_ENDING, read_ending
from callscore.suites.orchestration.scenario.file_steps import read_steps
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    RawStep,
    Scenario,
    case_id,
)
from callscore.suites.orchestration.yaml_text import YamlFault, read_strict


class ScenarioKey(NamedTuple):
    """The language and the id of a scenario."""

    lang: str
    scenario: str


def read_scenario(text: str, key: ScenarioKey, cards: Cards) -> Scenario:
    """Parse one scenario file; raises DataError if it is not a scenario."""
    try:
        value = read_strict(text)
    except YamlFault as error:
        raise DataError(f"{error}; expected a scenario with steps, as YAML or JSON") from None
    found = interpret_steps(read_steps(value, cards), key, cards)
    ending = read_ending(value)
    return found if ending == NO_ENDING else msgspec.structs.replace(found, ending=ending)


def interpret_steps(steps: Sequence[RawStep], key: ScenarioKey, cards: Cards) -> Scenario:
    """The scenario: what is due at every step, and the data report."""
    plans: list[PlanStep] = []
    agent_steps: list[AgentStep] = []
    findings: list[DataFinding] = []
    for step in steps:
        if step.by_sub_agent:
            found, notes = _agent_step(step, cards)
            agent_steps += found
        elif step.agent == "main" and PLAN_START.match(step.content):
            gold, notes = _plan_step(step)
            plans += gold
        else:
            continue
        where = case_id(key.lang, key.scenario, step.step_id)
        findings += [DataFinding(where, note.kind, note.action, note.detail) for note in notes]
    return Scenario(
        key.scenario, key.lang, tuple(steps), tuple(plans), tuple(agent_steps), tuple(findings)
    )


def _plan_step(step: RawStep) -> tuple[list[PlanStep], list[Note]]:
    plan = read_plan(step.content)
    if isinstance(plan, Malformed):
        return [], [Note("unreadable_plan", "set_aside", plan.detail)]
    notes = [Note(repair, "repaired") for repair in plan.repairs]
    notes += [Note("dangling_dependency", "noted", name) for name in dangling_dependencies(plan)]
    return [PlanStep(step.step_id, plan)], notes


def _agent_step(step: RawStep, cards: Cards) -> tuple[list[AgentStep], list[Note]]:
    annotation = read_annotation(step.content)
    notes = list(annotation.notes)
    agent = step.agent
    if cards.by_id and agent not in cards.by_id:
        agent = cards.nearest(agent) or agent
        detail = f"{step.agent} has no card" + (f", read as {agent}" if agent != step.agent else "")
        notes.append(Note("unknown_agent", "noted" if agent == step.agent else "repaired", detail))
    if annotation.due is None:
        return [], notes
    if isinstance(annotation.due, CallsDue):
        notes += [
            Note(
                "tool_of_another_agent",
                "noted",
                f"{call.name} belongs to {cards.owners[call.name]}",
            )
            for call in annotation.due.calls
            if cards.owners.get(call.name, agent) != agent
        ]
    has_card = not cards.by_id or step.agent in cards.by_id
    return [AgentStep(step.step_id, agent, annotation.due, has_card)], notes
