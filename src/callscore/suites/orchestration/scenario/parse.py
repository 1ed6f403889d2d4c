"""Parses scenarios, from YAML or from the label of a recorded run, with a data report (§1.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Malformed
from callscore.core.errors import DataError
from callscore.core.scenarios import DataFinding
from callscore.suites.orchestration.call.schema import SCHEMA_VIOLATION, schema_violations
from callscore.suites.orchestration.plan.model import dangling_dependencies
from callscore.suites.orchestration.plan.parse import read_plan
from callscore.suites.orchestration.scenario.annotation import PLAN_START, Note, read_annotation
from callscore.suites.orchestration.scenario.cards import Cards, unknown_tool
from callscore.suites.orchestration.scenario.end_state import Ending, read_ending
from callscore.suites.orchestration.scenario.file_steps import own_steps, read_steps
from callscore.suites.orchestration.scenario.model import (
    AgentStep,
    CallsDue,
    PlanStep,
    RawStep,
    Scenario,
    case_id,
)
from callscore.suites.orchestration.yaml_text import YamlFault, read_document


class ScenarioKey(NamedTuple):
    """The language and the id of a scenario."""

    lang: str
    scenario: str


def read_scenario(text: str, key: ScenarioKey, cards: Cards) -> Scenario:
    """Parse one scenario file; raises DataError if it is not a scenario."""
    try:
        value = read_document(text)
    except YamlFault as error:
        raise DataError(f"{error}; expected a scenario with steps, as YAML or JSON") from None
    found = interpret_steps(read_steps(value, cards), key, cards)
    own, ending = own_steps(value), read_ending(value)
    if cards.by_id:
        found = _check_own_calls(found, own, cards)
        _refuse_unknown_facts(ending, cards)
    return msgspec.structs.replace(found, ending=ending, twin=_twin(value.get("twin", "")))


def _twin(value: Any) -> str:
    """The twin of a scenario; names of files may be numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise DataError("expected the id of a scenario in another language", field="twin")
    return value


def _check_own_calls(scenario: Scenario, own: Mapping[int, str], cards: Cards) -> Scenario:
    """Refuse a tool without a card, and note calls that their own schema refuses.

    Only in steps of the short form, which people write for their own cards: the annotation of the
    public data breaks its schemas in one call of fourteen.
    """
    notes: list[DataFinding] = []
    for step in scenario.agent_steps:
        if step.step_id not in own or not isinstance(step.due, CallsDue):
            continue
        for call in step.due.calls:
            if call.name not in cards.tools:
                raise DataError(
                    f"step {step.step_id}: {unknown_tool(call.name, cards)}",
                    field=own[step.step_id],
                )
        where = case_id(scenario.lang, scenario.id, step.step_id)
        notes += [
            DataFinding(where, SCHEMA_VIOLATION, "noted", broken.detail)
            for broken in schema_violations(step.due.calls, (), cards.tools_of(step.agent))
        ]
    return msgspec.structs.replace(scenario, findings=(*scenario.findings, *notes))


def _refuse_unknown_facts(ending: Ending, cards: Cards) -> None:
    """Refuse an expected end that no model can reach, or that every model does."""
    for place, fact in enumerate(ending.facts):
        if fact.kind != "said" and fact.tool not in cards.tools:
            field = f"expect[{place}].{fact.kind}"
            raise DataError(unknown_tool(fact.tool, cards), field=field)


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
            Note("unknown_tool", "noted", unknown_tool(call.name, cards))
            for call in annotation.due.calls
            if cards.tools and call.name not in cards.tools
        ]
        notes += [
            Note("tool_of_another_agent", "noted", f"{call.name} belongs to {owner}")
            for call in annotation.due.calls
            if (owner := cards.other_owner(call.name, agent)) is not None
        ]
    has_card = not cards.by_id or step.agent in cards.by_id
    return [AgentStep(step.step_id, agent, annotation.due, has_card)], notes
