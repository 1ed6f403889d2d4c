"""The data model of a scenario: raw steps, expected steps, and findings about the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from callscore.core.scenarios import DataFinding
from callscore.suites.orchestration.plan.model import WorkflowPlan, plan_object
from callscore.suites.orchestration.scenario.end_state import NO_ENDING, Ending

RejectionType = Literal["AWAITING_USER_INPUT", "TOOL_CONSTRAINT_VIOLATION", "GENERAL_REJECTION"]
AWAITING: RejectionType = "AWAITING_USER_INPUT"
VIOLATION: RejectionType = "TOOL_CONSTRAINT_VIOLATION"
GENERAL: RejectionType = "GENERAL_REJECTION"


class DecodedCall(msgspec.Struct, frozen=True):
    """A tool call with decoded arguments."""

    name: str
    arguments: Mapping[str, Any]


class CallsDue(msgspec.Struct, frozen=True):
    """The calls that are due; `calls` is empty if the annotation names only the tool."""

    calls: tuple[DecodedCall, ...] = ()
    tool: str = ""

    @property
    def readable(self) -> bool:
        """Whether the calls are known, not only the tool."""
        return bool(self.calls)


class RejectionDue(msgspec.Struct, frozen=True):
    """A rejection of this type is due."""

    type: RejectionType


class RawStep(msgspec.Struct, frozen=True):
    """One step as in the file. `agent` is `system`, `user`, `main`, or the id of a sub-agent.

    `workflow` is the annotated workflow of the step, if any.
    """

    step_id: int
    agent: str
    content: str
    workflow: str = ""

    @property
    def by_sub_agent(self) -> bool:
        """Whether it is the step of a sub-agent."""
        return self.agent not in ("system", "user", "main")


class PlanStep(msgspec.Struct, frozen=True):
    """A step where a plan is due."""

    step_id: int
    gold: WorkflowPlan


class AgentStep(msgspec.Struct, frozen=True):
    """A step where a sub-agent must call a tool or reject; an unknown agent has no card."""

    step_id: int
    agent: str
    due: CallsDue | RejectionDue
    has_card: bool = True


class Scenario(msgspec.Struct, frozen=True):
    """One parsed scenario."""

    id: str
    lang: str
    raw: tuple[RawStep, ...]
    plans: tuple[PlanStep, ...]
    agent_steps: tuple[AgentStep, ...]
    findings: tuple[DataFinding, ...] = ()
    ending: Ending = NO_ENDING
    twin: str = ""
    """The id of the same scenario in another language, or `LANG/ID`."""
    call: str = ""
    """What is drawn and resampled with its twins: `ID` or `LANG/ID`; if empty, it has none."""

    @property
    def call_id(self) -> str:
        """The call of its steps: the scenario, or that of its twin in the first language."""
        return self.call or self.id

    def text_of(self, step_id: int) -> str:
        """The text of a step, as annotated; of several steps of one number, the last."""
        return next(raw.content for raw in reversed(self.raw) if raw.step_id == step_id)


def case_id(lang: str, scenario: str, step_id: int | str) -> str:
    """`<lang>/<scenario>#<step>`, the id of a step's case."""
    return f"{lang}/{scenario}#{step_id}"


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
