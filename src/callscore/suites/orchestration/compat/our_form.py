"""Our recordings in the public form, so that `compat` can read them: ORCHESTRATIONBENCH.md §2, §3.

The label is made as the public runner makes it, mistakes included (Q19).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.suites.orchestration.scenario.public_label import label_of
from callscore.suites.orchestration.scenario.recording import Answer, Recording, Run
from callscore.suites.orchestration.scenario.values import RawStep


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
