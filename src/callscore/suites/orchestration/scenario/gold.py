"""The gold reply to a step of a scenario."""

from __future__ import annotations

from typing import Any

import msgspec

from callscore.suites.orchestration.plan.model import WorkflowPlan
from callscore.suites.orchestration.scenario.model import AgentStep, CallsDue, PlanStep


def gold_reply(due: PlanStep | AgentStep | None) -> dict[str, Any]:
    """A plan, calls, or the text of a rejection; empty if the expected step is unknown."""
    if due is None:
        return {}
    if isinstance(due, PlanStep):
        return {"plan": plan_object(due.gold)}
    if isinstance(due.due, CallsDue):
        calls = [msgspec.structs.asdict(call) for call in due.due.calls]
        return {"calls": calls or [{"name": due.due.tool, "arguments": {}}]}
    return {"text": f"<response><status>{due.due.type}</status></response>"}


def plan_object(plan: WorkflowPlan) -> dict[str, Any]:
    """A plan as JSON, in the form that models write: workflows by name."""
    return {
        workflow.name: {
            "status": workflow.status,
            "steps": [
                {"status": step.status, "agent_id": step.agent, "refined_query": step.query}
                for step in workflow.steps
            ],
            **({"depends_on": list(workflow.depends_on)} if workflow.depends_on else {}),
        }
        for workflow in plan.workflows
    }
