"""The data model of a plan: workflows with dependencies, each a sequence of agent steps."""

from __future__ import annotations

import msgspec


class PlannedStep(msgspec.Struct, frozen=True, gc=False):
    """One agent step of a workflow."""

    agent: str
    status: str
    query: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The node of the component graph."""
        return self.agent, self.status


class Workflow(msgspec.Struct, frozen=True):
    """A named sequence of agent steps, and the workflows that must come before it."""

    name: str
    steps: tuple[PlannedStep, ...] = ()
    depends_on: tuple[str, ...] = ()
    status: str = ""


class WorkflowPlan(msgspec.Struct, frozen=True):
    """The workflows of one plan, in the order written."""

    workflows: tuple[Workflow, ...]
    repairs: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of agent steps in all workflows."""
        return sum(len(workflow.steps) for workflow in self.workflows)
