"""The data model of a plan, and its two graphs (C-117): workflows, and (agent, status) pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from callscore.metrics.graphs import Graph


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


def build_graph(nodes: list[Hashable], edges: Iterator[tuple[Hashable, Hashable]]) -> Graph:
    """A graph of named nodes; equal names are one node, and an edge may add a node."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(nodes))}
    numbered = {
        (numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers))) for a, b in edges
    }
    return Graph(tuple(numbers), frozenset(numbered))


def structural_graph(plan: WorkflowPlan) -> Graph:
    """Workflows, with edges dependency → workflow; a dangling dependency is a node        C-117"""
    return build_graph([workflow.name for workflow in plan.workflows], _dependencies(plan))


def _dependencies(plan: WorkflowPlan) -> Iterator[tuple[Hashable, Hashable]]:
    for workflow in plan.workflows:
        for dependency in workflow.depends_on:
            yield dependency, workflow.name


def component_graph(plan: WorkflowPlan) -> Graph:
    """Distinct (agent, status) pairs; edges between consecutive steps and over dependencies

    §4.3, C-117: equal pairs are one node. Two equal steps in sequence have no edge, while a
    dependency between equal pairs is a loop.
    """
    pairs: list[Hashable] = [step.pair for flow in plan.workflows for step in flow.steps]
    return build_graph(
        pairs, ((a.pair, b.pair) for a, b in consecutive_steps(plan, keep_equal=False))
    )


def consecutive_steps(
    plan: WorkflowPlan, *, keep_equal: bool
) -> Iterator[tuple[PlannedStep, PlannedStep]]:
    """Every step with the next one, in a workflow and from a dependency to its workflow."""
    by_name = {workflow.name: workflow for workflow in plan.workflows}
    for workflow in plan.workflows:
        for before, after in zip(workflow.steps, workflow.steps[1:], strict=False):
            if keep_equal or before.pair != after.pair:
                yield before, after
    for workflow in plan.workflows:
        for name in workflow.depends_on:
            source = by_name.get(name)
            if source is not None and source.steps and workflow.steps:
                yield source.steps[-1], workflow.steps[0]


def dangling_dependencies(plan: WorkflowPlan) -> tuple[str, ...]:
    """Dependencies on workflows that the plan does not have        C-117 (flag)"""
    names = {workflow.name for workflow in plan.workflows}
    return tuple(
        dependency
        for workflow in plan.workflows
        for dependency in workflow.depends_on
        if dependency not in names
    )


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
