"""Our recordings in the public form, so that `compat` can read them: ORCHESTRATIONBENCH.md §2, §3.

The label is made as the public runner makes it, mistakes included (Q19): a call written as a
list or as broken YAML becomes plain text, one written with `name:` is called `tool_name`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from callscore.suites.orchestration.scenario.recording import Answer, Recording, Run
from callscore.suites.orchestration.scenario.values import RawStep
from callscore.suites.orchestration.yaml_text import YamlFault, read_public

NAMELESS = "tool_name"


def public_form(recording: Recording) -> dict[str, Any]:
    """`history` with one entry a run."""
    return {
        "history": {
            f"run #{number}": _public_run(run, steps)
            for number, (run, steps) in enumerate(
                zip(recording.runs, recording.raw_steps, strict=True), 1
            )
        }
    }


def _public_run(run: Run, steps: Sequence[RawStep]) -> dict[str, Any]:
    return {
        "main_agent_history": [
            {"step_id": step, "content": answer.content, "tool_calls": []}
            for step, answer in run.plans.items()
            if not answer.error
        ],
        "sub_agent_history": [
            {"step_id": str(step), "content": answer.content, "tool_calls": _wrapped(answer)}
            for step, answer in run.steps.items()
            if not answer.error
        ],
        "label": label_of(steps),
    }


def _wrapped(answer: Answer) -> Any:
    if not isinstance(answer.tool_calls, list):
        return answer.tool_calls
    return [
        call if not isinstance(call, Mapping) or "function" in call else {"function": call}
        for call in answer.tool_calls
    ]


def label_of(steps: Sequence[RawStep]) -> dict[str, Any]:
    """The public label: every step, and beside a sub-agent's step the calls read from it."""
    label: dict[str, Any] = {}
    for step in steps:
        key = str(step.step_id)
        role = step.agent if step.agent in ("system", "user") else "assistant"
        label[key] = {"role": role, "content": step.content}
        if step.by_sub_agent:
            label[key]["agent_id"] = step.agent
            if "tool" in step.content:
                label[f"{key}-1"] = {"role": "assistant", "agent_id": step.agent} | _called(step)
    return label


def _called(step: RawStep) -> dict[str, Any]:
    try:
        value = read_public(step.content.strip())
        calls = value.get("tool_call", []) or [value]
        functions = [
            {
                "name": call.get("tool", NAMELESS),
                "arguments": json.dumps(_arguments(call), ensure_ascii=False, default=str),
            }
            for call in calls
        ]
    except (YamlFault, ValueError, AttributeError, TypeError):
        return {"content": step.content}
    return {"content": "", "tool_calls": [{"function": function} for function in functions]}


def _arguments(call: Mapping[str, Any]) -> Any:
    return call.get("arguments") if "arguments" in call else call.get("parameters", {})
