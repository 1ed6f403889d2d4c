"""Recordings in the public form, which `compat` reads        C-128

The label is built like that of the public runner, mistakes included (Q19).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.suites.orchestration.replies import ScenarioReplies
from callscore.suites.orchestration.scenario.model import RawStep
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    RecordedRun,
    ScenarioRecording,
)
from callscore.suites.orchestration.scenario.public_label import label_of

ROLE = "assistant"


def public_form(recording: ScenarioRecording) -> dict[str, Any]:
    """`history` with one entry per run."""
    return {
        "history": {
            f"run #{number}": _public_run(run, steps)
            for number, (run, steps) in enumerate(
                zip(recording.runs, recording.raw_steps, strict=True), 1
            )
        }
    }


def _public_run(run: RecordedRun, steps: Sequence[RawStep]) -> dict[str, Any]:
    agents = {step.step_id: step.agent for step in steps}
    return {
        "main_agent_history": [
            {"step_id": step, "role": ROLE, "content": reply.content, "tool_calls": []}
            for step, reply in run.plans.items()
            if not reply.error
        ],
        "sub_agent_history": [
            {
                "step_id": str(step),
                "agent_id": agents.get(step, ""),
                "role": ROLE,
                "content": "" if reply.content is None else reply.content,
                "tool_calls": _wrap_calls(step, reply),
            }
            for step, reply in run.steps.items()
            if not reply.error
        ],
        "label": label_of(steps),
    }


def _wrap_calls(step: int, reply: RecordedReply) -> Any:
    """The calls in the public form; none in ours is an empty list, which the public form needs."""
    if reply.tool_calls is None:
        return []
    if not isinstance(reply.tool_calls, list):
        return reply.tool_calls
    return [
        call
        if not isinstance(call, Mapping) or "function" in call
        else {"id": f"call_{step}_{number}", "type": "function", "function": call}
        for number, call in enumerate(reply.tool_calls, 1)
    ]


def public_output(replies: ScenarioReplies) -> dict[str, Any]:
    """One output file; `usage` is that of this scenario, `generated_at` is empty        §3"""
    used = replies.usage()
    return {
        "scenario_id": replies.scenario.id,
        "generated_at": "",
        **public_form(replies.to_recording()),
        "usage": {
            "total_calls": used.answers,
            "total_input_tokens": used.known_input,
            "total_output_tokens": used.known_output,
            "total_tokens": used.known_input + used.known_output,
            "total_cost": used.known_usd,
        },
    }
