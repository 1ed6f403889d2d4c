"""The steps of a scenario file: the public form, the short form, and content as text or values.

Public form   {"step_id", "agent", "agent_type"?, "workflow_id"?, "data": {"content"}}
Short form    {"agent", "content", "step_id"?, "workflow"?}, or one key: {"user": content}

Content that is not text becomes the text that the public form has: every step has one text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.core.case import Malformed
from callscore.core.errors import DataError
from callscore.suites.orchestration.plan.parse import plan_of, read_plan
from callscore.suites.orchestration.scenario.annotation import PLAN_START, read_annotation
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.model import (
    AWAITING,
    GENERAL,
    VIOLATION,
    CallsDue,
    RawStep,
    RejectionDue,
)
from callscore.suites.orchestration.yaml_text import YamlFault, read_strict

ASSISTANT, USER, SYSTEM = "main", "user", "system"
REJECTIONS = (AWAITING, VIOLATION, GENERAL)
_FILE_KEYS = frozenset({"$schema", "metadata", "steps", "twin", "user", "expect"})
_SHORT_KEYS = frozenset({"step_id", "agent", "content", "workflow"})
_CALL_KEYS = frozenset({"tool", "arguments", "tool_call_result"})
_CALLS_KEYS = frozenset({"tool_call", "tool_call_result"})
_REJECTION_KEYS = frozenset({"status", "message", "required_info", "violation"})
_WORKFLOW = re.compile(r"(?<![\w-])workflow_[\w-]++[\"']?\s*+:\s*+\{")
_CONTENT = (
    "expected text, a call {tool, arguments, tool_call_result}, a list of calls, "
    "{tool_call: […], tool_call_result}, or a rejection {status, message}"
)


class _FileStep(NamedTuple):
    """A step as written, before its content is interpreted."""

    step_id: int
    agent: str
    content: Any
    workflow: str
    where: str


def read_steps(value: Any, cards: Cards) -> list[RawStep]:
    """The steps of a decoded scenario file; raises DataError with the step and the field."""
    _refuse_unconfirmed(value)
    steps = value.get("steps") if isinstance(value, Mapping) else None
    if not isinstance(steps, list):
        raise DataError("expected a scenario with a list of steps", field="steps")
    found = [_step(entry, number, cards) for number, entry in enumerate(steps, 1)]
    _refuse_repeated_ids(found)
    return [RawStep(step.step_id, step.agent, _text(step, cards), step.workflow) for step in found]


def own_steps(value: Mapping[str, Any]) -> dict[int, str]:
    """By number, the fields of the steps of the short form, in a file that `read_steps` took.

    Raises DataError if the file has keys that no scenario has.
    """
    _refuse_unknown(value, _FILE_KEYS, "")
    return {
        entry.get("step_id", number): f"steps[{number - 1}].content"
        for number, entry in enumerate(value["steps"], 1)
        if "data" not in entry
    }


def _refuse_unconfirmed(value: Any) -> None:
    """Refuse a scenario whose expected steps are only what an agent once did."""
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if isinstance(metadata, Mapping) and metadata.get("confirmed") is False:
        raise DataError(
            "is not confirmed; expected a person to check the expected steps and to set it to true",
            field="metadata.confirmed",
        )


def _refuse_repeated_ids(steps: Sequence[_FileStep]) -> None:
    seen: dict[int, str] = {}
    for step in steps:
        if step.step_id in seen:
            raise DataError(
                f"the step {step.step_id} is also {seen[step.step_id]}; expected every number once",
                field=f"{step.where}.step_id",
            )
        seen[step.step_id] = step.where


def _step(entry: Any, number: int, cards: Cards) -> _FileStep:
    where = f"steps[{number - 1}]"
    if not isinstance(entry, Mapping):
        raise DataError("expected an object with agent and content", field=where)
    if "data" in entry:
        return _public_step(entry, where)
    if len(entry) == 1 and not entry.keys() & _SHORT_KEYS:
        ((agent, content),) = entry.items()
        return _named_step(number, agent, content, "", where, cards)
    if len(entry) > 1 and "agent" not in entry:
        named = ", ".join(map(repr, entry))
        raise DataError(
            f"has the keys {named}; expected one agent with its content, so that every agent "
            "begins a step of its own, or agent and content",
            field=where,
        )
    _refuse_unknown(entry, _SHORT_KEYS, where)
    step_id = _integer(entry.get("step_id", number), f"{where}.step_id")
    if "content" not in entry:
        raise DataError("missing; expected the content of the step", field=f"{where}.content")
    workflow = entry.get("workflow", "")
    if not isinstance(workflow, str):
        raise DataError("expected the name of a workflow", field=f"{where}.workflow")
    return _named_step(step_id, entry.get("agent"), entry["content"], workflow, where, cards)


def _public_step(entry: Mapping[str, Any], where: str) -> _FileStep:
    """A step of the public form; keys that it does not have are ignored."""
    data, agent = entry["data"], entry.get("agent")
    if not isinstance(data, Mapping) or "content" not in data:
        raise DataError("expected an object with content", field=f"{where}.data")
    if not isinstance(agent, str):
        raise DataError("expected the name of an agent", field=f"{where}.agent")
    workflow, kind = entry.get("workflow_id"), entry.get("agent_type")
    for key, given in (("workflow_id", workflow), ("agent_type", kind)):
        if given is not None and not isinstance(given, str):
            raise DataError("expected a text", field=f"{where}.{key}")
    if workflow == SYSTEM:
        agent = SYSTEM
    elif kind in (ASSISTANT, USER):
        agent = kind
    step_id = _integer(entry.get("step_id"), f"{where}.step_id")
    return _FileStep(step_id, agent, data["content"], workflow or "", f"{where}.data")


def _named_step(
    step_id: int, agent: Any, content: Any, workflow: str, where: str, cards: Cards
) -> _FileStep:
    """A step of the short form, whose agent must be known: there is no other sign of a misprint."""
    known = (SYSTEM, USER, ASSISTANT, *cards.by_id)
    if agent not in known and cards.by_id:
        raise DataError(f"{agent!r}; expected one of {', '.join(known)}", field=f"{where}.agent")
    if not isinstance(agent, str) or not agent:
        raise DataError("expected the name of an agent", field=f"{where}.agent")
    return _FileStep(step_id, agent, content, workflow, where)


def _integer(value: Any, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError("expected the number of the step", field=field)
    return value


def _refuse_unknown(entry: Mapping[Any, Any], known: frozenset[str], where: str) -> None:
    unknown = [str(key) for key in entry if key not in known]
    if unknown:
        raise DataError(
            f"unknown key {unknown[0]!r}; expected {', '.join(sorted(known))}", field=where
        )


def _text(step: _FileStep, cards: Cards) -> str:
    """The content of a step as text; raises DataError if text and meaning disagree."""
    field = f"{step.where}.content"
    try:
        if isinstance(step.content, str):
            _refuse_ambiguous(step.agent, step.content)
            return step.content
        if step.agent == ASSISTANT:
            return _plan_text(step.content, cards)
        if step.agent in (USER, SYSTEM):
            raise DataError("expected text")
        return _decision_text(step.content)
    except DataError as error:
        raise DataError(f"step {step.step_id}: {error.problem}", field=field) from None


def _refuse_ambiguous(agent: str, content: str) -> None:
    """Refuse a plan that would be taken for chat, and a call or rejection for the other."""
    if agent in (USER, SYSTEM):
        return
    if agent == ASSISTANT:
        if not PLAN_START.match(content) and _has_plan(content):
            raise DataError(
                "the text contains a plan, but does not begin with it, so that it counts as chat; "
                "expected the plan alone, as text or as an object, or text without a plan"
            )
        return
    due = read_annotation(content).due
    if isinstance(due, CallsDue) and due.readable and _states_rejection(content):
        raise DataError(
            "the text is a call and states the status of a rejection; expected one of both"
        )
    if due == RejectionDue(GENERAL) and _has_call(content):
        raise DataError(
            "the text contains a call, but counts as a rejection; expected the call as YAML whose "
            "lines begin with tool: and arguments:, or as an object"
        )


def _has_plan(content: str) -> bool:
    if _WORKFLOW.search(content):
        return True
    plan = read_plan(content)
    return not isinstance(plan, Malformed) and any(flow.steps for flow in plan.workflows)


def _states_rejection(content: str) -> bool:
    """Whether a line of the call itself, not of its result, states a status of a rejection."""
    before = content.partition("\ntool_call_result:")[0]
    return any(
        line.strip().removeprefix("status:").strip().strip("\"'") in REJECTIONS
        for line in before.splitlines()
        if line.startswith("status:")
    )


def _has_call(content: str) -> bool:
    """Whether the text is JSON or YAML with the keys of a call."""
    body = content.strip().removeprefix("```json").removeprefix("```yaml").strip("` \n")
    try:
        value = read_strict(body)
    except YamlFault:
        return False
    listed = value if isinstance(value, list) else [value]
    return any(
        isinstance(one, Mapping) and {"tool", "tool_call", "arguments", "tool_calls"} & one.keys()
        for one in listed
    )


def _plan_text(content: Any, cards: Cards) -> str:
    """A plan as text: one line per workflow, its value as JSON."""
    plan = plan_of(content) if isinstance(content, Mapping) else None
    if plan is None or isinstance(plan, Malformed):
        why = f" ({plan.cause}: {plan.detail})" if isinstance(plan, Malformed) else ""
        raise DataError(f"is not a plan{why}; expected text, or workflows by name")
    unknown = [str(key) for key in content if not PLAN_START.match(str(key))]
    if unknown or not plan.workflows:
        found = f"the key {unknown[0]!r}" if unknown else "no workflow"
        raise DataError(f"{found}; expected workflows by name: workflow_1, workflow_2")
    agents = [step.agent for flow in plan.workflows for step in flow.steps]
    strange = [agent for agent in agents if agent not in cards.by_id]
    if strange and cards.by_id:
        known = ", ".join(cards.by_id)
        raise DataError(f"plans the agent {strange[0]!r}, which has no card; expected {known}")
    return "\n".join(f"{name}: {_json(flow)}" for name, flow in content.items())


def _decision_text(content: Any) -> str:
    """Calls or a rejection as the text of the public form."""
    if isinstance(content, list):
        return _calls_text([_call(one) for one in content], [_result(one) for one in content])
    if not isinstance(content, Mapping):
        raise DataError(_CONTENT)
    if "status" in content:
        return _rejection_text(content)
    if "tool_call" in content:
        _refuse_unknown(content, _CALLS_KEYS, "content")
        listed = content["tool_call"]
        if not isinstance(listed, list):
            raise DataError("tool_call: expected a list of calls")
        results = [content["tool_call_result"]] if "tool_call_result" in content else []
        return _calls_text([_call(one) for one in listed], results)
    return _calls_text([_call(content)], [_result(content)])


def _call(value: Any) -> dict[str, Any]:
    """A call without its result."""
    if not isinstance(value, Mapping) or "tool" not in value:
        raise DataError(_CONTENT)
    _refuse_unknown(value, _CALL_KEYS, "content")
    tool, arguments = value["tool"], value.get("arguments", {})
    if not isinstance(tool, str) or not tool.strip():
        raise DataError("tool: expected the name of a tool")
    if not isinstance(arguments, Mapping):
        raise DataError(f"arguments of {tool}: expected an object")
    return {"tool": tool.strip(), "arguments": arguments}


_NO_RESULT = object()


def _result(value: Mapping[str, Any]) -> Any:
    return value.get("tool_call_result", _NO_RESULT)


def _calls_text(calls: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> str:
    if not calls:
        raise DataError("a list without a call; expected at least one")
    given = [result for result in results if result is not _NO_RESULT]
    return "\n".join(_call_lines(calls, given))


def _call_lines(calls: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> Iterator[str]:
    if len(calls) == 1:
        yield f"tool: {_json(calls[0]['tool'])}"
        yield f"arguments: {_json(calls[0]['arguments'])}"
    else:
        yield "tool_call:"
        yield from (f"- {_json(call)}" for call in calls)
    if results:
        yield f"tool_call_result: {_json(results[0] if len(results) == 1 else results)}"


def _rejection_text(content: Mapping[str, Any]) -> str:
    _refuse_unknown(content, _REJECTION_KEYS, "content")
    status = content["status"]
    if status not in REJECTIONS:
        raise DataError(f"status {status!r}; expected {' or '.join(REJECTIONS)}")
    said = {key: text for key, text in content.items() if key != "status"}
    for key, text in said.items():
        if not isinstance(text, str):
            raise DataError(f"{key}: expected text")
    return "\n".join([f"status: {status}", *(f"{key}: {_json(said[key])}" for key in said)])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
