"""The two graphs of a plan (C-117): workflows with dependencies, and (agent, status) pairs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from callscore.metrics.graphs import Graph
from callscore.suites.orchestration.plan.model import PlannedStep, WorkflowPlan


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
