"""Every step as a case: the pure prompt that a run only has to send (§2, teacher-forced)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Case, Message, Prompt, Turn
from callscore.suites.orchestration.scenario.cards import Card, Cards
from callscore.suites.orchestration.scenario.queries import Binding, bound_queries
from callscore.suites.orchestration.scenario.values import (
    AgentStep,
    CallsDue,
    PlanStep,
    RawStep,
    Scenario,
    case_id,
)
from callscore.suites.orchestration.yaml_text import YamlFault, read_strict

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_RESULT = re.compile(r"^tool_call_result:", re.MULTILINE)


class StepCase(msgspec.Struct, frozen=True):
    """One step of one scenario, ready to be asked."""

    id: str
    step: PlanStep | AgentStep
    prompt: Prompt


def step_cases(scenario: Scenario, cards: Cards, binding: Binding = "progress") -> list[StepCase]:
    """Every step that a model is asked, with the gold history before it."""
    queries = bound_queries(scenario, binding)
    steps: list[PlanStep | AgentStep] = [*scenario.plans, *scenario.agent_steps]
    return [
        StepCase(
            case_id(scenario.lang, scenario.id, step.step_id),
            step,
            _planner_prompt(scenario, step, cards)
            if isinstance(step, PlanStep)
            else _agent_prompt(scenario, step, cards, queries.get(step.step_id, "")),
        )
        for step in sorted(steps, key=lambda step: step.step_id)
    ]


def judged_case(scenario: Scenario, step: AgentStep) -> Case:
    """What a judge of one step sees: what was said before it, and the calls that were due."""
    said = [
        Turn(raw.content, speaker=raw.agent)
        for raw in scenario.raw
        if raw.step_id < step.step_id
        and raw.agent in ("user", "main")
        and not raw.content.startswith("workflow_")
    ]
    due = step.due.calls if isinstance(step.due, CallsDue) else ()
    expected = {"calls": [{"name": call.name, "arguments": call.arguments} for call in due]}
    where = case_id(scenario.lang, scenario.id, step.step_id)
    return Case(where, "orchestration", said, {}, expected, lang=scenario.lang.lower())


@cache
def _template(name: str) -> str:
    file = Path(__file__).parent / "prompts" / f"{name}.md"
    return file.read_text(encoding="utf-8").strip()


def _filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its places filled in one pass: a value cannot open a new place."""
    return _PLACE.sub(lambda place: values[place.group(1)], template)


def _planner_prompt(scenario: Scenario, step: PlanStep, cards: Cards) -> Prompt:
    described = "\n\n".join(_described(card) for card in cards.by_id.values())
    known = _system_info(scenario.raw) or "Nothing."
    system = _filled(_template("planner"), {"system_info": known, "agent_cards": described})
    return Prompt((Message("system", system), *_history(scenario.raw, step.step_id)))


def _described(card: Card) -> str:
    skills = [f"  - {skill.id}: {skill.description}" for skill in card.skills]
    return "\n".join([f"**{card.name} ({card.agent_id})**", f"- {card.description}", *skills])


def _agent_prompt(scenario: Scenario, step: AgentStep, cards: Cards, query: str) -> Prompt:
    known = _system_info(scenario.raw)
    intro = f"What is known:\n{known}\n\n" if known else ""
    card = cards.by_id.get(step.agent)
    task = (Message("user", query),) if query else ()
    return Prompt(
        (
            Message("system", intro + _template("sub_agent")),
            *_history(scenario.raw, step.step_id),
            *task,
        ),
        tools=card.tools if card is not None else (),
    )


def _system_info(steps: Sequence[RawStep]) -> str:
    return "\n".join(step.content for step in steps if step.agent == "system")


def _history(steps: Sequence[RawStep], before: int) -> Iterator[Message]:
    """Users, the planner and its plans as said; of sub-agents only what their tools returned."""
    for step in steps:
        if step.step_id >= before:
            return
        if step.agent == "user":
            yield Message("user", step.content)
        elif step.agent == "main":
            yield Message("assistant", step.content)
        elif step.by_sub_agent:
            result = tool_result(step.content)
            if result is not None:
                yield Message("assistant", json.dumps(result, ensure_ascii=False))


def tool_result(content: str) -> Any:
    """What the tool returned; its raw text where that is no YAML; None where there was no call."""
    try:
        value = read_strict(content)
    except YamlFault:
        found = _RESULT.search(content)
        return content[found.end() :].strip() if found is not None else None
    calls = value if isinstance(value, list) else [value]
    results = [
        call["tool_call_result"]
        for call in calls
        if isinstance(call, Mapping) and "tool_call_result" in call
    ]
    return results[0] if len(results) == 1 else results or None
