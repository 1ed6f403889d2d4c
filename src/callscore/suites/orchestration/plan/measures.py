"""Similarity of two plans: 1 - cost / (|V1|+|E1|+|V2|+|E2|) on two graphs        001, C-117

With F1 of the steps and of their order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple, cast

import msgspec

from callscore.metrics.classification import f1_or_one, multiset_counts
from callscore.metrics.graphs import Graph, Substitution, edit_distance, has_cycle, similarity
from callscore.suites.orchestration.plan.model import (
    WorkflowPlan,
    component_graph,
    consecutive_steps,
    dangling_dependencies,
    structural_graph,
)
from callscore.suites.orchestration.spec import spec


class PlanSimilarity(NamedTuple):
    """A similarity; if the search ran out of budget, the exact one is in [low, high]."""

    similarity: float
    low: float
    high: float
    exact: bool


IDENTICAL = PlanSimilarity(1.0, 1.0, 1.0, exact=True)


def structural_similarity(first: Graph, second: Graph) -> PlanSimilarity:
    """Workflows and dependencies without labels: substitution is free        C-117"""
    bare = [Graph((0,) * len(graph.labels), graph.edges) for graph in (first, second)]
    return _similarity_of(bare[0], bare[1], free_cost)


def component_similarity(first: Graph, second: Graph) -> PlanSimilarity:
    """(agent, status) pairs; 0.8 if only the agent differs, 0.2 if only the status   C-117"""
    return _similarity_of(first, second, component_cost)


def free_cost(_first: Hashable, _second: Hashable) -> float:
    """0: workflows differ only by their edges        C-117"""
    return 0.0


def component_cost(first: Hashable, second: Hashable) -> float:
    """0 if equal, 1 if both differ, else the weight of what differs        C-117"""
    if first == second:
        return 0.0
    weights = spec().plan
    agent, status = cast(tuple[Hashable, Hashable], first)
    other_agent, other_status = cast(tuple[Hashable, Hashable], second)
    if agent == other_agent:
        return weights.status_changed
    return weights.agent_changed if status == other_status else weights.both_changed


def _similarity_of(first: Graph, second: Graph, substitution: Substitution) -> PlanSimilarity:
    if first == second:
        return IDENTICAL
    found = edit_distance(first, second, substitution, budget=spec().plan.budget)
    return PlanSimilarity(
        similarity(found.cost, first, second),
        similarity(found.high, first, second),
        similarity(found.low, first, second),
        found.exact,
    )


def step_score(structural: float, component: float) -> float:
    """0.5 · structural + 0.5 · component        C-118"""
    weights = spec().plan
    return weights.structural_weight * structural + weights.component_weight * component


class PlanScore(msgspec.Struct, frozen=True):
    """All measures of one plan step."""

    structural: PlanSimilarity
    component: PlanSimilarity
    node_f1: float
    edge_f1: float
    flags: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Mean of both similarities        C-118"""
        return step_score(self.structural.similarity, self.component.similarity)

    @property
    def is_right(self) -> bool:
        """Whether both similarities are 1: the order of independent workflows is free    C-141"""
        return self.structural.similarity == self.component.similarity == 1.0

    @property
    def exact_plan(self) -> bool:
        """Whether nothing differs, including repeated steps        extension of C-117"""
        return self.is_right and self.node_f1 == self.edge_f1 == 1.0

    @property
    def approximate(self) -> bool:
        """Whether a search ran out of budget        C-117"""
        return not (self.structural.exact and self.component.exact)


def measure_plan(predicted: WorkflowPlan, gold: WorkflowPlan) -> PlanScore:
    """Structural and component similarity        C-117; node F1, edge F1, flags (extensions)"""
    graph = structural_graph(predicted)
    flags = []
    if has_cycle(graph):
        flags.append("cycle")
    if dangling_dependencies(predicted):
        flags.append("dangling_dependency")
    return PlanScore(
        structural=structural_similarity(graph, structural_graph(gold)),
        component=component_similarity(component_graph(predicted), component_graph(gold)),
        node_f1=f1_or_one(multiset_counts(_nodes(gold), _nodes(predicted))),
        edge_f1=f1_or_one(multiset_counts(_edges(gold), _edges(predicted))),
        flags=tuple(flags),
    )


def _nodes(plan: WorkflowPlan) -> Iterator[Hashable]:
    """Agent steps by (agent, status), repeated ones counted (Q8)"""
    return (step.pair for workflow in plan.workflows for step in workflow.steps)


def _edges(plan: WorkflowPlan) -> Iterator[Hashable]:
    return ((a.pair, b.pair) for a, b in consecutive_steps(plan, keep_equal=True))
