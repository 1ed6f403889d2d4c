"""How `simulated` degrades expected calls, graphs and steps of scenarios."""

from __future__ import annotations

from typing import Any

import msgspec

from callscore.core.case import ToolCall
from callscore.core.noise import FakeReply, JsonOutcome, Noise, objects_in, other_value

INVENTED_FACT = "A supervisor promised a credit of 750 by Friday"


def degrade_case(outcome: JsonOutcome, noise: Noise) -> None:
    """Degrade the calls, actions or graph of a case; the first accepted value is used."""
    if isinstance(outcome.get("calls"), list):
        made = [
            {
                "name": name,
                "arguments": {key: _first_accepted(value) for key, value in given.items()},
            }
            for call in objects_in(outcome["calls"])
            for name, given in call.items()
            if isinstance(given, dict)
        ]
        outcome["calls"] = [_degrade_call(call, noise) for call in noise.kept(made)]
    for key in ("actions", "nodes", "edges"):
        if isinstance(outcome.get(key), list):
            outcome[key] = noise.kept(outcome[key])


def _degrade_call(call: JsonOutcome, noise: Noise) -> JsonOutcome:
    arguments = {
        key: other_value(value) if noise.wrong() else value
        for key, value in call["arguments"].items()
        if value != "" and not noise.missing()
    }
    name = f"{call['name']}_now" if noise.fabricated() else call["name"]
    return {"name": name, "arguments": arguments}


def _first_accepted(accepted: Any) -> Any:
    """The first accepted value, inside objects too; an empty text if the argument is left out."""
    value = accepted[0] if isinstance(accepted, list) and accepted else accepted
    if isinstance(value, dict):
        return {key: _first_accepted(inner) for key, inner in value.items()}
    return value


def degrade_step(outcome: JsonOutcome, noise: Noise) -> FakeReply:
    """A degraded reply to a step: tool calls for `calls`, JSON for `plan`, else the `text`."""
    if "calls" in outcome:
        calls = noise.kept(objects_in(outcome["calls"]))
        if calls:
            return FakeReply("", tuple(_degrade_tool_call(call, noise) for call in calls))
        return FakeReply("<response><status>AWAITING_USER_INPUT</status></response>")
    plan = outcome.get("plan")
    if isinstance(plan, dict):
        for workflow in objects_in(list(plan.values())):
            workflow["steps"] = _degrade_plan_steps(objects_in(workflow.get("steps")), noise)
        return FakeReply(msgspec.json.encode(plan).decode())
    if noise.fabricated():
        return FakeReply("Done, I have taken care of it.")
    return FakeReply(str(outcome.get("text", "")))


def _degrade_plan_steps(steps: list[JsonOutcome], noise: Noise) -> list[JsonOutcome]:
    agents = [step.get("agent_id") for step in steps]
    kept = noise.kept(steps)
    for step in kept:
        if noise.wrong():
            step["agent_id"] = noise.chance.choice(agents) if len(set(agents)) > 1 else "helper"
    return [*kept, {**kept[-1]}] if kept and noise.fabricated() else kept


def _degrade_tool_call(call: JsonOutcome, noise: Noise) -> ToolCall:
    arguments = call.get("arguments")
    known = dict(arguments) if isinstance(arguments, dict) else {}
    for name in list(known):
        if noise.missing():
            del known[name]
        elif noise.wrong():
            known[name] = other_value(known[name])
    if noise.fabricated():
        known["note"] = INVENTED_FACT
    return ToolCall(str(call.get("name", "")), msgspec.json.encode(known).decode())
