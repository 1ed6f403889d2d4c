"""A scenario in the form of the public runner: its label, and the history from it (§2, §3).

The mistakes of the public runner are included (Q19, Q46): a call written as a list or as broken
YAML becomes plain text and its result is in no history; a call with `name:` is named `tool_name`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from callscore.core.case import Message
from callscore.suites.orchestration.scenario.model import RawStep
from callscore.suites.orchestration.yaml_text import PUBLIC_ERRORS, read_public

NAMELESS = "tool_name"
PLAN_START = "workflow_"

Label = dict[str, Any]


def is_plan(step: RawStep) -> bool:
    """Whether the public runner takes the step for a plan, by its first letters."""
    return step.agent != "system" and step.content.startswith(PLAN_START)


def label_of(steps: Sequence[RawStep]) -> Label:
    """The public label: every step, and the calls parsed from the steps of sub-agents.

    The public runner gives calls random ids; here they are the same in every export (C-134).
    """
    return dict(_label(tuple(steps)))


@lru_cache(maxsize=4)
def _label(steps: tuple[RawStep, ...]) -> Label:
    """Cached: the runs of a scenario share one label, and parsing YAML takes most of the time."""
    label: Label = {}
    for step in steps:
        label |= _entries(step)
    return label


def _entries(step: RawStep) -> Label:
    key = str(step.step_id)
    if not step.by_sub_agent or is_plan(step):
        role = step.agent if step.agent in ("system", "user") and not is_plan(step) else "assistant"
        return {key: {"role": role, "content": step.content}}
    entries = {key: {"role": "assistant", "content": step.content, "agent_id": step.agent}}
    if "tool" in step.content:
        entries |= _call_entries(step)
    return entries


def _call_entries(step: RawStep) -> Label:
    asked, answered = f"{step.step_id}-1", f"{step.step_id}-2"
    said = {"role": "assistant", "agent_id": step.agent}
    try:
        value = read_public(step.content.strip())
        result = value.get("tool_call_result", "")
        functions = _functions(value)
        name = functions[0]["name"]
    except PUBLIC_ERRORS:
        return {asked: said | {"content": step.content}}
    call_id = f"call_{step.step_id}"
    calls = [{"type": "function", "id": call_id, "function": function} for function in functions]
    return {
        asked: said | {"content": "", "tool_calls": calls},
        answered: {
            "role": "tool",
            "agent_id": step.agent,
            "tool_call_id": call_id,
            "content": result,
            "name": name,
        },
    }


def _functions(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a step; without `tool_call`, arguments may be named `parameters`."""
    several = value.get("tool_call", [])
    if several:
        first = several[0].get("tool", NAMELESS)
        return [
            {"name": call.get("tool", first), "arguments": _json(call.get("arguments", {}))}
            for call in several
        ]
    arguments = value.get("arguments") if "arguments" in value else value.get("parameters", {})
    name = value.get("tool", NAMELESS)
    return [{"name": name, "arguments": _json(arguments) if arguments else "{}"}]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def history_before(label: Mapping[str, Any], step_id: int) -> Iterator[Message]:
    """The history: messages of user and planner, plans included; of sub-agents the tool results."""
    for key, entry in label.items():
        if int(key.split("-")[0]) >= step_id:
            continue
        if "agent_id" not in entry:
            if entry["role"] != "system":
                yield Message(entry["role"], entry["content"])
        elif entry["role"] == "tool":
            # A date parsed by YAML is not JSON: the public runner fails there, a text does not.
            text = json.dumps(entry["content"], ensure_ascii=False, default=str)
            yield Message("assistant", text)
